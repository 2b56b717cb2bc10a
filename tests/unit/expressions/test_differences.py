"""Each row of the table of what differs from Spark has examples that hold; the page of patterns has each letter."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from kit.draws.spark_differences import REFUSED, examples, value_here
from tailrace.expressions import time_formats

PAGES = Path(__file__).parents[3] / "docs"
EXAMPLES = [*examples()]


def test_each_row_has_an_example_and_each_example_a_row():
    table = (
        (PAGES / "expressions.md")
        .read_text()
        .partition("## What differs from Spark")[2]
        .partition("| --- | --- |\n")[2]
    )
    rows = [line.removeprefix("| ").replace("\\|", "¦").partition(" | ")[0] for line in table.splitlines()]
    assert rows
    assert [row.replace("¦", "\\|") for row in rows] == [*dict.fromkeys(each.row for each in EXAMPLES)]


@pytest.mark.parametrize("example", EXAMPLES, ids=lambda example: example.text[:40])
def test_an_example_gives_what_it_says_here_and_something_else_in_spark(example):
    assert value_here(example.text) == example.here
    assert example.spark != example.here or example.spark == REFUSED


def test_the_page_of_patterns_lists_each_letter():
    lines = (PAGES / "time-patterns.md").read_text().splitlines()
    rows = [line.split("|")[2:4] for line in lines if line.startswith("| ")]
    written, read = ({each for row in rows for each in re.findall(r"`([A-Za-z]+)`", row[n])} for n in (0, 1))
    fractions = {"S" * digits for digits in range(1, 10)}
    assert (written - {"T", "AM", "PM"}) | fractions == set(time_formats._WRITTEN)
    assert read | fractions == set(time_formats._READ)
