"""How answers are written: what is absent or no number, keys as they are, times as people read them."""

from __future__ import annotations

import json
import math

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tailrace.terminal.answers import write_answers

ANSWERS = pa.table(
    {
        "key": pa.array(["a\0b", None]),
        "window_end": [500, 1_577_836_800_000],
        "value": [math.nan, 2.5],
        "k_ms": pa.array([None, 1 << 60]),
        "other": [1, 2],
    }
)
COLUMNS = ["key", "window_end", "value", "k_ms"]
ROWS = [("a\0b", "1970-01-01T00:00:00.500Z", None, None), (None, "2020-01-01T00:00:00.000Z", 2.5, 1 << 60)]


@pytest.mark.parametrize("rows", [2, 0])
def test_rows_of_json(tmp_path, rows) -> None:
    write_answers(ANSWERS.slice(0, rows), COLUMNS, "jsonl", tmp_path / "out", 0)
    found = [json.loads(line) for line in (tmp_path / "out").read_text().splitlines()]
    assert found == [dict(zip(COLUMNS, row, strict=True)) for row in ROWS[:rows]]


def test_csv_leaves_out_what_is_no_number(tmp_path) -> None:
    write_answers(ANSWERS, COLUMNS, "csv", tmp_path / "out", 0)
    head, *lines = (tmp_path / "out").read_text().splitlines()
    assert head == '"key","window_end","value","k_ms"'
    assert lines == ['"a\0b","1970-01-01T00:00:00.500Z",,', f',"2020-01-01T00:00:00.000Z",2.5,{1 << 60}']


def test_parquet_keeps_types(tmp_path) -> None:
    write_answers(ANSWERS, COLUMNS, "parquet", tmp_path / "out", 0)
    found = pq.read_table(tmp_path / "out")
    assert found.schema.types == [pa.string(), pa.timestamp("ms", "UTC"), pa.float64(), pa.int64()]
    assert found["value"].to_pylist() == [None, 2.5]
    assert found["k_ms"].to_pylist() == [None, 1 << 60]


def test_a_table_shows_dashes_for_what_is_absent(tmp_path) -> None:
    write_answers(ANSWERS, COLUMNS, "table", tmp_path / "out", 0)
    first, second = (line for line in (tmp_path / "out").read_text().splitlines() if line.startswith("│"))
    assert first.count("–") == 2
    assert second.count("–") == 1
