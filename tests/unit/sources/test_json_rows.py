"""Rows as JSON: each value is read back as it was."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime
from decimal import Decimal

import pyarrow as pa
import pytest

from tailrace.sources.json_rows import json_rows


def rows_of(**columns: object) -> list[dict]:
    return [json.loads(row) for row in json_rows(pa.table(columns))]


@pytest.mark.parametrize(
    ("unit", "zone", "text"),
    [
        ("s", None, "2023-11-14T22:13:20Z"),
        ("ms", "UTC", "2023-11-14T22:13:20.000Z"),
        ("us", "Europe/Paris", "2023-11-14T22:13:20.000000Z"),
    ],
)
def test_timestamps_are_in_utc(unit, zone, text):
    at = datetime(2023, 11, 14, 22, 13, 20, tzinfo=UTC)
    column = pa.array([at, None], pa.timestamp(unit, "UTC")).cast(pa.timestamp(unit, zone))
    assert rows_of(t=column) == [{"t": text}, {"t": None}]


def test_numbers_keep_every_bit_and_those_that_json_has_not_are_null():
    values = [0.1 + 0.2, 1e-300, float("nan"), float("inf"), None]
    assert [row["v"] for row in rows_of(v=values)] == [0.1 + 0.2, 1e-300, None, None, None]
    assert rows_of(v=[[1.5, float("nan")]]) == [{"v": [1.5, None]}]
    assert rows_of(v=[2**53 + 1]) == [{"v": 2**53 + 1}]


def test_dates_decimals_and_texts():
    assert rows_of(d=[date(2020, 1, 2)], c=[Decimal("1.25")], s=["ä\n"]) == [{"d": "2020-01-02", "c": 1.25, "s": "ä\n"}]


@pytest.mark.parametrize("kind", [pa.binary(), pa.list_(pa.binary()), pa.struct({"a": pa.duration("s")})])
def test_types_that_json_has_not_are_refused_before_the_first_row(kind):
    with pytest.raises(ValueError, match=r"column b is of type .*, which JSON has not"):
        next(json_rows(pa.table({"n": [1], "b": pa.nulls(1, kind)})))
