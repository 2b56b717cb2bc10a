"""Names of a user's data come back as they were, from YAML and from expressions."""

from __future__ import annotations

import yaml
from hypothesis import given
from hypothesis import strategies as st

from tailrace.advice.quoting import quoted, scalar, shown
from tailrace.expressions.expression import Expression

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20) | st.sampled_from(
    ["null", "~", "yes", "a: b", "a #b", "- a", "1e3", "'", '"', "\x85", "\u2028", "😀", "when", "select", "a`b"]
)


@given(texts)
def test_a_scalar_is_read_back(text):
    node = yaml.compose(f"key: {scalar(text)}  # a comment", yaml.SafeLoader).value[0][1]
    assert node.value == text
    assert text not in ("null", "~", "") or node.style is not None


@given(texts.filter(lambda text: text.strip() and text.isprintable()))
def test_a_quoted_name_is_a_column(text):
    assert [*Expression(quoted(text)).columns] == [text]


@given(texts, st.integers(2, 30))
def test_what_is_shown_stays_on_its_line(text, most):
    line = shown(text, most)
    assert len(line) <= most
    assert len(line.splitlines()) <= 1
