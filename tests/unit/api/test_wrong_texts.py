"""A frame with a wrong text in a column of times or numbers: the record is rejected by its index, the rest answered."""

from __future__ import annotations

from datetime import UTC, datetime

import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import tailrace
from tailrace import testing

TIMES = ["2024-05-01T00:00:01Z", "2024-05-01T00:00:02Z", "2024-05-01T00:00:03Z", "2024-05-01T00:00:09Z"]
TEXTS = {"at": [TIMES[0], "soon", *TIMES[2:]], "id": [1, 2, 3, 4], "v": ["1", "2", "n/a", "4.5"]}
MIXED = TEXTS | {"at": [datetime(2024, 5, 1, 0, 0, 1, tzinfo=UTC), "soon", *TIMES[2:]], "v": [1, 2, "n/a", 4.5]}
FORMS = {
    "arrow": pa.table(TEXTS),
    "pandas": pd.DataFrame(TEXTS),
    "polars": pl.DataFrame(TEXTS),
    "mixed columns": MIXED,
    "mixed pandas": pd.DataFrame(MIXED),
    "mixed dicts": pd.DataFrame(MIXED).to_dict("records"),
}


def query(rows: object, **fields: object) -> tailrace.Query:
    stream = tailrace.Stream(rows, event_time="at", id="id", **fields)
    total = {"function": "sum", "column": "v"}
    return tailrace.query("aggregate", streams={"readings": stream}, window="5 s", aggregate=total)


@pytest.mark.parametrize("form", FORMS)
def test_a_wrong_text_costs_its_record_alone(form):
    run = query(FORMS[form]).run(correct=True)
    assert run.summary.accepted == 2
    assert run.results().arrow()["value"].to_pylist() == [1.0, 4.5]
    reasons = {row["reason"]: row["record"] for row in run.quarantine()}
    assert '"soon"' in reasons["at is no time that could be read: ISO 8601, from 1678 to 2261"]
    assert '"n/a"' in reasons["v is no number: 'n/a'"]
    lines = run.lines()
    assert any("as rows of readings, index 1: {" in line for line in lines)
    assert any("as rows of readings, index 2: {" in line for line in lines)


def test_the_oracle_leaves_them_out_too():
    testing.assert_right(query(TEXTS))


def test_a_wrong_text_of_later_rows_is_rejected_where_the_first_ones_had_numbers(tmp_path):
    numbers = TEXTS | {"at": TIMES, "v": [1.0, 2.0, 3.0, 4.0]}
    query(numbers).run(tmp_path, keep_open=True)
    later = TEXTS | {"id": [5, 6, 7, 8]}
    run = query(later).run(tmp_path, correct=True)
    assert run.summary.accepted == 2
    assert run.results().arrow()["value"].to_pylist() == [7.0, 8.5]


def test_a_column_without_any_time_or_number_is_refused():
    with pytest.raises(tailrace.Refused, match="a text is no time"):
        query(TEXTS | {"at": ["soon"] * 4})
    with pytest.raises(tailrace.Refused, match="column v: its type is string"):
        query(TEXTS | {"v": ["n/a"] * 4}).run()


@pytest.mark.parametrize(
    ("fields", "refusal"),
    [
        ({"key": "w"}, r"\Astreams\.readings\.key: rows of readings: it has no column 'w'"),
        ({"where": "w > 1"}, r"\Astreams\.readings\.where: 1:1: rows of readings: it has no column 'w'"),
        ({"key": "v"}, r"\Astreams\.readings\.key: rows of readings: column v: its type is double"),
    ],
)
def test_a_refusal_names_the_stream_and_no_file_of_its_stored_rows(tmp_path, fields, refusal):
    with pytest.raises(tailrace.Refused, match=refusal):
        query({"at": TIMES, "id": [1, 2, 3, 4], "v": [1.0, 2.0, 3.0, 4.5]}, **fields).run(tmp_path / "a b" / "wh")


def test_a_file_of_parquet_states_its_types(tmp_path):
    (tmp_path / "in").mkdir()
    pq.write_table(pa.table(TEXTS), tmp_path / "in" / "a.parquet")
    stream = {"source": {"format": "parquet", "path": str(tmp_path / "in")}, "event_time": "at", "id": "id"}
    total = {"function": "sum", "column": "v"}
    of_files = tailrace.query("aggregate", streams={"readings": stream}, window="5 s", aggregate=total)
    with pytest.raises(tailrace.Refused, match="its type is string"):
        of_files.run(tmp_path / "wh")
