"""Rows as JSON: each value is read back as it was."""

from __future__ import annotations

import json
from datetime import UTC, date, datetime
from decimal import Decimal

import pyarrow as pa
import pytest

from tailrace.ground.arrow.json_rows import json_rows


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


AWKWARD = [1.23456789e-12, 5.678e-15, 1 / 3, 1.2345678901234568e17, 1.7976931348623157e308, 5e-324, -0.0, 1e22]


def test_doubles_come_back_bit_for_bit_and_stay_doubles_where_they_are_whole():
    rows = rows_of(v=AWKWARD, whole=[float(n) for n in range(len(AWKWARD))])
    assert [row["v"].hex() for row in rows] == [value.hex() for value in AWKWARD]
    assert all(isinstance(row["whole"], float) for row in rows)


@pytest.mark.parametrize("kind", [pa.float32(), pa.float16()], ids=str)
def test_narrow_floats_come_back_as_the_doubles_that_they_are(kind):
    column = pa.array([0.1, 16777216.0], pa.float64()).cast(kind, safe=False) if kind == pa.float32() else None
    column = pa.array([0.5, 2.0], pa.float64()).cast(kind, safe=False) if column is None else column
    assert [row["v"] for row in rows_of(v=column)] == column.cast(pa.float64()).to_pylist()


def test_integers_and_decimals_have_all_their_digits():
    big = [2**63 - 1, -(2**63), 2**53 + 1, None]
    assert [row["v"] for row in rows_of(v=pa.array(big, pa.int64()))] == big
    assert rows_of(v=pa.array([2**64 - 1], pa.uint64())) == [{"v": 2**64 - 1}]
    (row,) = json_rows(pa.table({"v": pa.array([Decimal("12345678901234567890.12")], pa.decimal128(38, 2))}))
    assert row == b'{"v":12345678901234567890.12}'


def test_texts_and_names_are_escaped():
    texts = ["", 'a"b', "a\\b", "a\0b", "\x1f\x7f\u2028", "😀", None]
    assert [row['n"ä'] for row in rows_of(**{'n"ä': texts})] == texts
    assert [row["k"] for row in rows_of(k=pa.array(texts).dictionary_encode())] == texts


def test_a_table_of_many_chunks_and_one_without_columns():
    chunked = pa.concat_tables([pa.table({"a": [n], "b": [f"{n}"]}) for n in range(3)])
    assert [json.loads(row) for row in json_rows(chunked)] == [{"a": n, "b": f"{n}"} for n in range(3)]
    assert list(json_rows(chunked.select([]))) == [b"{}"] * 3
    assert list(json_rows(chunked.slice(0, 0))) == []


def test_a_text_that_is_no_utf_8_is_refused_before_the_first_row():
    latin = pa.array([b"caf\xe9"]).view(pa.string())
    with pytest.raises(ValueError, match=r"column b holds what JSON has not: .*UTF8"):
        next(json_rows(pa.table({"a": [1], "b": latin})))
