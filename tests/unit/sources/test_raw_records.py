"""Rows as texts for the quarantine: no value stands in the way, and each can be read."""

from __future__ import annotations

import json
from decimal import Decimal

import pyarrow as pa
import pytest

from tailrace.sources.formats.raw_records import raw_records

BYTES = pa.array([b"ok", b"caf\xe9", None])
LATIN = BYTES.view(pa.string())
ODD = "caf\\xe9"
FAR = pa.array([1, 1 << 62, None], pa.timestamp("us", "UTC"))

COLUMNS = {
    "string": (LATIN, ["ok", ODD, None]),
    "large_string": (BYTES.cast(pa.large_binary()).view(pa.large_string()), ["ok", ODD, None]),
    "string_view": (BYTES.cast(pa.binary_view()).view(pa.string_view()), ["ok", ODD, None]),
    "string_view of good": (pa.array(["a", "b", None], pa.string_view()), ["a", "b", None]),
    "dictionary": (
        pa.DictionaryArray.from_arrays(pa.array([0, 1, None], pa.int32()), LATIN.slice(0, 2), safe=False),
        ["ok", ODD, None],
    ),
    "list": (pa.ListArray.from_arrays([0, 2, 2, 3], LATIN), [["ok", ODD], [], [None]]),
    "large_list": (pa.LargeListArray.from_arrays(pa.array([0, 2, 3, 3]), FAR), [[1, 1 << 62], [None], []]),
    "fixed_size_list": (
        pa.FixedSizeListArray.from_arrays(pa.concat_arrays([FAR, FAR]), 2),
        [[1, 1 << 62], [None, 1], [1 << 62, None]],
    ),
    "struct": (
        pa.StructArray.from_arrays([LATIN, FAR], names=["a", "b"]),
        [{"a": "ok", "b": 1}, {"a": ODD, "b": 1 << 62}, {"a": None, "b": None}],
    ),
    "struct with a name twice": (
        pa.StructArray.from_arrays([BYTES.slice(0, 1), FAR.slice(0, 1)], names=["a", "a"]).take([0, 0, 0]),
        [{"a": "b'ok'", "a (2)": 1}] * 3,
    ),
    "map": (
        pa.MapArray.from_arrays([0, 1, 2, 3], pa.array([b"k", b"\xff", b"x"]).view(pa.string()), FAR),
        [[["k", 1]], [["\\xff", 1 << 62]], [["x", None]]],
    ),
    "date": (pa.array([1, 2**31 - 1, None], pa.int32()).view(pa.date32()), [1, 2**31 - 1, None]),
    "date64": (pa.array([0, 1 << 62, None], pa.int64()).view(pa.date64()), [0, 1 << 62, None]),
    "timestamp": (FAR, [1, 1 << 62, None]),
    "timestamp in no zone": (pa.array([1, 2, None], pa.timestamp("us", "No/Where")), [1, 2, None]),
    "duration": (pa.array([1, 1 << 62, None], pa.duration("s")), [1, 1 << 62, None]),
    "decimal": (pa.array([Decimal("1.10"), Decimal(10) ** 30, None]), ["1.10", "1" + "0" * 30 + ".00", None]),
    "binary": (BYTES, ["b'ok'", "b'caf\\xe9'", None]),
    "uint64": (pa.array([1, 2**64 - 1, None], pa.uint64()), [1, 2**64 - 1, None]),
    "infinity": (pa.array([0.1, float("inf"), None]), [0.1, float("inf"), None]),
}


@pytest.mark.parametrize("name", COLUMNS)
def test_each_value_is_in_the_text_of_its_record(name: str) -> None:
    column, values = COLUMNS[name]
    texts = raw_records(pa.table({"id": ["a", "b", "c"], "odd": column}), [2, 0, 1])
    assert all(text.isascii() for text in texts)
    assert [json.loads(text) for text in texts] == [{"id": "abc"[row], "odd": values[row]} for row in (2, 0, 1)]


def test_values_in_several_chunks_and_rows_that_come_twice() -> None:
    table = pa.concat_tables([pa.table({"t": LATIN}), pa.table({"t": LATIN})])
    assert [json.loads(text)["t"] for text in raw_records(table, [4, 4, 0])] == [ODD, ODD, "ok"]


def test_columns_of_one_name_are_told_apart_and_there_may_be_none() -> None:
    (text,) = raw_records(pa.table([[1], [2], [3]], names=["a", "a", "b"]), [0])
    assert json.loads(text) == {"a": 1, "a (2)": 2, "b": 3}
    assert raw_records(pa.table({"a": [1]}).select([]), [0]) == ["{}"]
