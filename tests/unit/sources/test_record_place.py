"""The place of a record: its file, and its line as an editor numbers it."""

from __future__ import annotations

import csv
import io
from unittest.mock import patch

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tailrace.sources import record_place
from tailrace.sources.record_place import place_of, places_of

fields = st.sampled_from(["a", "", "two\nlines", 'say "x"', "three\n\nlines", "x" * 40])


@given(st.lists(st.lists(fields, min_size=2, max_size=2), min_size=1, max_size=30), st.booleans(), st.data())
def test_the_line_of_a_record_of_csv(tmp_path_factory, rows, bom, data):
    out, starts = io.StringIO(), []
    writer = csv.writer(out, lineterminator="\n")
    writer.writerow(["first\nname", "second"])
    for row in rows:
        starts.append(out.getvalue().count("\n") + 1)
        writer.writerow(row)
    file = tmp_path_factory.getbasetemp() / "lines.csv"
    file.write_bytes((b"\xef\xbb\xbf" if bom else b"") + out.getvalue().encode())
    chosen = data.draw(st.lists(st.integers(0, len(rows) - 1), min_size=1))
    record_place._csv_lines_of.cache_clear()  # the file is another one in each example
    with patch.object(record_place, "_BLOCK_BYTES", data.draw(st.integers(8, 200))):
        assert places_of([f"{file}#{row}" for row in chosen]) == [f"lines.csv, line {starts[row]}" for row in chosen]
    assert place_of(f"{file}#{len(rows)}") == f"lines.csv, record {len(rows) + 1}"


@pytest.mark.parametrize(
    ("position", "place"),
    [
        ("in/a.jsonl#0", "a.jsonl, line 1"),
        ("s3://bucket/in/a.json#4", "a.json, line 5"),
        ("in/a.parquet#0", "a.parquet, row 1"),
        ("in/absent.csv#4", "absent.csv, record 5"),
        ("s3://bucket/in/a.csv#4", "a.csv, record 5"),
        ("/wh/_memory/q/readings/000001-ab.parquet#0", "rows of readings, index 0"),
        ("kafka:readings?0=1-3#1", "kafka:readings?0=1-3#1"),
        ("no number#x", "no number#x"),
    ],
)
def test_the_place_of_a_record(position, place):
    assert place_of(position) == place


def test_a_file_that_was_replaced_since_is_named_by_the_number_of_the_record(tmp_path):
    (tmp_path / "a.csv").write_bytes(b"\xff\xfe,b\n1,2\n")
    assert place_of(f"{tmp_path}/a.csv#0") == "a.csv, record 1"


def test_a_record_of_csv_that_is_far_in_its_file_is_named_by_its_number(tmp_path, monkeypatch):
    monkeypatch.setattr(record_place, "FAR_RECORD", 1)
    file = tmp_path / "far.txt"
    file.write_text("a\n1\n2\n")
    assert [place_of(f"{file}#{row}", "csv") for row in (0, 1)] == ["far.txt, line 2", "far.txt, record 2"]
