"""Patterns that Java and RE2 take alike are translated, and the others refused."""

from __future__ import annotations

import pytest

from tailrace.expressions.java_regex import translate
from tailrace.expressions.literals import TypeFault


@pytest.mark.parametrize(
    "pattern",
    [
        *("(?i)a", "(?=a)", "(?<n>a)", "(?<!a)b", r"\1", r"\b", r"\p{L}", r"\Qa\E", r"\u0041"),
        *("a++", "a*+", "a**", "*a", "a{", "a{2,1}"),
        *("a{1001}", "[a", "[a&&b]", "[a[b]]", "[]", "(a", "a)", "a$b", "(a*)*", "(|a)+", "^*", r"[\D]", r"\x41", "\\"),
    ],
)  # fmt: skip
def test_what_re2_takes_otherwise_is_refused(pattern):
    with pytest.raises(TypeFault, match="the pattern"):
        translate(pattern)


def test_an_end_of_line_is_refused_where_it_would_be_taken_along():
    assert translate("a$").text.endswith(r"\z")
    with pytest.raises(TypeFault, match="takes a line's end along"):
        translate("a$", has_end=False)


def test_groups_are_counted_and_emptiness_is_known():
    assert [translate(pattern).groups for pattern in ("a", "(a)(?:b)((c))", r"\(a\)")] == [0, 3, 0]
    assert [translate(pattern).matches_empty for pattern in ("a*", "a|", "a+", "(a?)b", "^$", "")] == [
        True,
        True,
        False,
        False,
        True,
        True,
    ]
