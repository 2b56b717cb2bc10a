"""How answers are written: what is absent or no number, keys as they are, times as people read them."""

from __future__ import annotations

import json
import math
from decimal import Decimal

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tailrace.terminal import tables
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


def test_csv_has_lists_as_json(tmp_path) -> None:
    lists = [["a,b", None], [], None]
    exact = pa.array([[Decimal("0.10")], None, []], pa.list_(pa.decimal128(38, 2)))
    write_answers(
        pa.table({"key": ["x", "y", "z"], "tags": lists, "exact": exact}),
        ["key", "tags", "exact"],
        "csv",
        tmp_path / "out",
        0,
    )
    _, *lines = (tmp_path / "out").read_text().splitlines()
    assert lines == ['"x","[""a,b"",null]","[""0.10""]"', '"y","[]",', '"z",,"[]"']


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


def test_a_table_has_lists_as_json(tmp_path) -> None:
    write_answers(pa.table({"tags": [["a,b", None], None]}), ["tags"], "table", tmp_path / "out", 0)
    first, second = (line for line in (tmp_path / "out").read_text().splitlines() if line.startswith("│"))
    assert first.strip("│ ") == '["a,b",null]'
    assert second.strip("│ ") == "–"


CARRIED = pa.table(
    {
        "left_at": pa.array([-1, None, 253_402_300_799_999_999], pa.timestamp("us", "UTC")),
        "left_day": pa.array([-719_162, None, 0], pa.date32()),
        "left_fare": pa.array([Decimal("0.10"), None, Decimal(10**16)], pa.decimal128(38, 2)),
        **{f"left_{kind}": pa.array([1, None, -1], kind) for kind in (pa.int8(), pa.int16(), pa.int32())},
        "left_real": pa.array([0.5, None, math.nan], pa.float32()),
        "left_free": [True, None, False],
    }
)
TEXTS = {
    "left_at": ["1969-12-31T23:59:59.999999Z", None, "9999-12-31T23:59:59.999999Z"],
    "left_day": ["0001-01-01", None, "1970-01-01"],
    "left_fare": ["0.10", None, "10000000000000000.00"],
}


@pytest.mark.parametrize("rows", [3, 0])
def test_columns_of_the_source_are_written_as_they_are_and_times_as_text(tmp_path, rows) -> None:
    table = CARRIED.slice(0, rows)
    for form in ("jsonl", "csv", "table", "parquet"):
        write_answers(table, table.column_names, form, tmp_path / form, 5)
    found = [json.loads(line) for line in (tmp_path / "jsonl").read_text().splitlines()]
    expected = CARRIED.to_pydict() | TEXTS | {"left_real": [0.5, None, None]}
    assert found == [{name: values[row] for name, values in expected.items()} for row in range(rows)]
    assert not any(isinstance(row["left_int8"], float) for row in found), "an integer beside null is no double"
    for line, row in zip((tmp_path / "csv").read_text().splitlines()[1:], found, strict=True):
        assert line.split(",")[:3] == [f'"{row[name]}"' if row[name] else "" for name in TEXTS]
    assert pq.read_table(tmp_path / "parquet").schema == table.schema


NUMBERS = [1.23456789e-12, 5.678e-15, 6.328123456789e-07, 1 / 3, 1.2345678901234568e17, 1.7976931348623157e308]


def test_rows_of_json_have_the_numbers_that_the_answers_have(tmp_path) -> None:
    integers = [2**53 + 1, 2**63 - 1, -(2**53) - 1, None, 0, 2**62 + 1]
    answers = pa.table({"value": NUMBERS, "left_id": integers, "left_fare": pa.array([Decimal(10) ** 20] * 6)})
    write_answers(answers, answers.column_names, "jsonl", tmp_path / "out", 0)
    found = [json.loads(line) for line in (tmp_path / "out").read_text().splitlines()]
    assert [row["value"].hex() for row in found] == [value.hex() for value in NUMBERS]
    assert [row["left_id"] for row in found] == integers
    assert found[0]["left_fare"] == "1" + "0" * 20


def test_the_answers_columns_are_shown_before_the_windows_end_and_what_is_about_the_answer(capsys, monkeypatch):
    monkeypatch.setattr(tables.out, "width", 80)
    row = {"key": "Graz", "window_start": 0, "window_end": 300_000, "records": 55, "customers": 34, "coverage": 1.0}
    shown = write_answers(pa.Table.from_pylist([row]), [*row], "table", None, 5)
    assert shown == ["key", "window_start", "records", "customers", "coverage"]
    assert capsys.readouterr().out.splitlines()[-1] == "--wide shows also window_end"


def test_a_long_id_is_left_out_before_what_the_answer_says(capsys):
    row = {
        "key": "–",
        "window_start": 0,
        "window_end": 3_600_000,
        "rank": 1,
        "id": "x" * 60,
        "score": 12,
        "product": "ink",
    }
    table = pa.table({name: [value] for name, value in row.items()})
    assert write_answers(table, [*row], "table", None, 50) == ["key", "window_start", "rank", "score", "product"]
    assert capsys.readouterr().out.splitlines()[-1] == "--wide shows also window_end, id"
