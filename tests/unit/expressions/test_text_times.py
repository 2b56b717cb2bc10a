"""A time that an expression compares as text is told of: T and a blank make two texts of one time."""

from __future__ import annotations

import pyarrow as pa
import pytest

from tailrace.expressions.text_times import times_as_texts

TYPES = {"ts": pa.string(), "at": pa.timestamp("us", "UTC"), "name": pa.string(), "n": pa.int32()}


@pytest.mark.parametrize(
    ("text", "columns"),
    [
        ("ts between '2024-03-30 19:00:00' and '2024-03-30 20:00:00'", ["ts"]),
        ("n > 1 and (ts >= '2024-03-30 19:00' or ts < '2024-03-30T18:00Z')", ["ts"]),
        ("'2024-03-30 19:00:00' = ts and name <> '2024-03-30T19:00:00Z'", ["ts", "name"]),
        ("ts in ('x', '2024-03-30 19:00:00')", ["ts"]),
        ("at > '2024-03-30 19:00:00'", []),
        ("cast(ts as timestamp) > '2024-03-30 19:00:00'", []),
        ("ts > timestamp '2024-03-30 19:00:00'", []),
        ("ts > '2024-03-30'", []),
        ("name = 'noon' and ts is null and ts > name", []),
        ("unknown > '2024-03-30 19:00:00'", []),
    ],
)
def test_a_column_of_texts_beside_a_time_is_found(text, columns):
    found = [*times_as_texts(text, TYPES)]
    assert [each.column for each in found] == columns
    assert all(f"cast({each.column} as timestamp)" in each.words for each in found)
