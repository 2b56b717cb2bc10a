"""Examples of what differs from Spark, by the rows of the table in docs/expressions.md; and values of times."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import UTC, date, datetime
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa

from kit.draws import expression_values
from kit.draws.expression_values import value_over
from tailrace.expressions.errors import ExpressionError

_DATA = Path(__file__).parents[2] / "data/expressions"
ROW = pa.table(
    {
        "o": pa.array([1], pa.int32()),
        "x": pa.array([1.5]),
        "s": pa.array(["abc"]),
        "b": pa.array([True]),
        "dt": pa.array([date(2024, 2, 29)]),
        "ts": pa.array([datetime(2024, 2, 29, 10, 20, 30, tzinfo=UTC)], pa.timestamp("us", "UTC")),
        "arr": pa.array([[1, 3]], pa.list_(pa.int32())),
    }
)
"""The record of which the examples are."""

FAILS, REFUSED, ANY = "fails", "refused", "?"


class Difference(NamedTuple):
    """An expression, and what Spark and tailrace give: a value as text, FAILS, or REFUSED; ANY is not compared."""

    row: str
    text: str
    spark: str
    here: str


def examples() -> Iterator[Difference]:
    row = ""
    for line in (_DATA / "differences.txt").read_text().splitlines():
        if line.startswith("# "):
            row = line.removeprefix("# ")
        else:
            yield Difference(row, *line.split(" => "))


def golden_times() -> dict[str, str | None]:
    """What Spark 4.2 gives for calls of functions of times, as text; None: null."""
    lines = (_DATA / "golden_times.txt").read_text().splitlines()
    return {text: None if value == "null" else value for text, _, value in (line.partition(" => ") for line in lines)}


def value_here(text: str) -> str:
    """What tailrace gives for an expression over the record, as text."""
    try:
        value = value_over(ROW, text)
    except ExpressionError:
        return REFUSED
    if value is expression_values.FAILS:
        return FAILS
    return str(value).lower() if isinstance(value, bool) else str(value)
