"""Each row of the table of what differs from Spark has examples that hold, and each example a row."""

from __future__ import annotations

from pathlib import Path

import pytest

from spark_differences import REFUSED, examples, value_here

DOCS = Path(__file__).parents[3] / "docs/expressions.md"
EXAMPLES = [*examples()]


def test_each_row_has_an_example_and_each_example_a_row():
    table = DOCS.read_text().partition("## What differs from Spark")[2].partition("| --- | --- |\n")[2]
    rows = [line.removeprefix("| ").replace("\\|", "¦").partition(" | ")[0] for line in table.splitlines()]
    assert rows
    assert [row.replace("¦", "\\|") for row in rows] == [*dict.fromkeys(each.row for each in EXAMPLES)]


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.text[:40])
def test_an_example_gives_what_it_says_here_and_something_else_in_spark(example):
    assert value_here(example.text) == example.here
    assert example.spark != example.here or example.spark == REFUSED
