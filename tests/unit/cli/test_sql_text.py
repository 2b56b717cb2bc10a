"""The commands with a query of SQL text."""

from __future__ import annotations

import csv
import io

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

STREAMS = """\
streams:
  trades:
    source: {format: parquet, path: trades}
    event_time: at
    arrival_time: at
    id: id
"""
SQL = """\
SELECT venue, window_start, window_end, sum(price) AS total, count(*) AS number, sum(price) / number AS mean
FROM TUMBLE(TABLE trades, DESCRIPTOR(at), INTERVAL '1' MINUTE)
GROUP BY window_start, window_end, venue
"""
SECTIONS = """\
    key: [venue]
kind: aggregate
window: 1 min
aggregate: {total: {function: sum, column: price}, number: {function: count}, mean: {expression: total / number}}
"""


@pytest.fixture
def files(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "trades").mkdir()
    rows = [
        {"at": 1_711_670_400_000 + 5_000 * n, "id": f"t{n}", "venue": "AB"[n % 2], "price": float(n)} for n in range(50)
    ]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "trades" / "part-0.parquet")
    (tmp_path / "streams.yaml").write_text(STREAMS)
    (tmp_path / "volume.sql").write_text(SQL)
    (tmp_path / "volume.yaml").write_text(f"name: volume\n{STREAMS}{SECTIONS}")
    return "volume.sql", "--streams", "streams.yaml"


def test_a_query_of_sql_text_is_run_corrected_and_read_as_its_sections_are(tailrace, files):
    how = "--bounded", "--correct", "--engine", "local"
    tailrace("run", *files, "--warehouse", "one", *how)
    tailrace("run", "volume.yaml", "--warehouse", "two", *how)
    by_sql = tailrace("results", *files, "--warehouse", "one", "--format", "csv").stdout
    assert by_sql == tailrace("results", "volume.yaml", "--warehouse", "two", "--format", "csv").stdout
    rows = list(csv.DictReader(io.StringIO(by_sql)))
    assert len(rows) == 10
    assert sum(float(row["total"]) for row in rows) == sum(range(50))
    assert sum(float(row["mean"]) * int(row["number"]) for row in rows) == sum(range(50))
    again = tailrace("correct", *files, "--warehouse", "one", "--engine", "local").stderr
    assert "corrected" in again


def test_validate_and_explain_take_sql_text(tailrace, files):
    assert "volume.sql: no fault found" in tailrace("validate", *files).stdout
    by_sql, by_sections = tailrace("explain", *files).stdout, tailrace("explain", "volume.yaml").stdout
    assert by_sql == by_sections
    assert "mean: {expression: total / number}" in by_sql
    assert "FROM TUMBLE(TABLE trades, DESCRIPTOR(at), INTERVAL '1' MINUTE)" in by_sql


def test_what_sql_text_cannot_say_is_refused_with_exit_code_2_and_nothing_is_written(tailrace, files, tmp_path):
    (tmp_path / "volume.sql").write_text(f"{SQL}ORDER BY total\n")
    output = tailrace("run", *files, "--warehouse", "one", "--bounded", "--engine", "local", code=2)
    assert "volume.sql:4:1: ORDER BY" in output.stderr
    assert "right would be" in output.stderr
    assert not (tmp_path / "one").exists()
    assert "--streams" in tailrace("run", "volume.sql", "--warehouse", "one", code=2).stderr


@pytest.mark.parametrize(
    ("old", "new", "place", "fault"),
    [
        ("\nGROUP", "\nWHERE price\nGROUP", "3:7", "where"),
        ("count(*)", "sum(abs(venue))", "1:66", "abs_venue"),
    ],
)
def test_an_expression_that_does_not_fit_the_source_is_refused_at_its_place(
    tailrace, files, tmp_path, old, new, place, fault
):
    (tmp_path / "volume.sql").write_text(SQL.replace(old, new, 1))
    output = tailrace("run", *files, "--warehouse", "one", "--bounded", "--engine", "local", code=2)
    assert f"volume.sql:{place}: streams.trades." in output.stderr
    assert fault in output.stderr


def test_a_selected_column_that_the_source_lacks_is_refused_at_its_own_place(tailrace, files, tmp_path):
    number = "row_number() OVER (PARTITION BY window_start, window_end ORDER BY price DESC) AS rank"
    source = "FROM TUMBLE(TABLE trades, DESCRIPTOR(at), INTERVAL '1' MINUTE)"
    (tmp_path / "volume.sql").write_text(f"SELECT * FROM (\nSELECT venue, maker, {number} {source}) WHERE rank <= 2\n")
    output = tailrace("run", *files, "--warehouse", "one", "--bounded", "--engine", "local", code=2)
    assert "volume.sql:2:15: topk.select.1:" in output.stderr
    assert "no column 'maker'" in output.stderr


def test_a_sample_of_the_source_shows_what_sql_text_keeps(tailrace, files, tmp_path):
    (tmp_path / "volume.sql").write_text(SQL.replace("\nGROUP", "\nWHERE price >= 40\nGROUP"))
    assert "40" in tailrace("explain", *files, "--sample").stdout
