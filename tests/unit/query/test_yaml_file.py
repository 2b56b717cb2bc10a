"""YAML files: libyaml and PyYAML's own parser, which takes its place where it is missing, read the same."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from kit.suite.examples import drawn
from tailrace.ground.errors import Refused
from tailrace.query import yaml_file
from tailrace.query.yaml_file import YamlFile

PIECES = (
    *("a", "b", ": ", ":", "\n", "\n  ", "\n- ", "- ", "{", "}", "[", "]", ", ", "'", '"', "#", " #x", "12:30", "on"),
    *(
        "~",
        "null",
        "|",
        "|\n  x\n",
        ">-",
        "%",
        "@",
        "&x ",
        "*x",
        "!t ",
        "---",
        "\t",
        "\\n",
        "é",
        "\x85",
        "? ",
        "=",
        " ",
    ),
    *("'it''s'", "a: 1\n", "b: [1, 2]\n", "c:\n  d: x\n", "k: 'v'\n"),
)


def read_by(loader: Any, text: str) -> tuple[Any, Any] | None:
    """Return the data and the lines that a loader reads; None where the text is refused, or has a problem."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(yaml_file, "LOADER", loader)
        try:
            read = YamlFile(Path("query.yaml"), text)
        except Refused:
            return None
    return None if read.problems else (read.data, read.lines)


def test_libyaml_is_there() -> None:
    assert yaml_file.LOADER is yaml.CSafeLoader


@drawn(2_000)
@given(st.booleans(), st.lists(st.sampled_from(PIECES), min_size=1, max_size=14).map("".join))
def test_what_both_parsers_accept_says_the_same(has_name: bool, text: str) -> None:
    """libyaml also accepts tabs within words; no text means two things, and none is refused for libyaml's sake."""
    text = f"name: x\n{text}" if has_name else text
    slow, fast = (read_by(loader, text) for loader in (yaml.SafeLoader, yaml.CSafeLoader))
    if slow is not None:
        assert fast == slow


def test_an_empty_value_at_a_bracket_is_read_though_libyaml_refuses_it() -> None:
    assert read_by(yaml.CSafeLoader, "a: {b:}\n") == ({"a": {"b": None}}, {(): 1, ("a",): 1, ("a", "b"): 1})
