"""Answers may have columns with the names that other tables have for their times."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa

import tailrace
from tailrace import testing
from tailrace.tables.every import ANSWERED, TABLES, times_of
from tailrace.terminal.answers import write_answers

FREE = sorted(set().union(*(times_of(table.name) for table in TABLES)) - ANSWERED - {"arrival_time"})
START = datetime(2024, 5, 1, tzinfo=UTC)
WINDOW = timedelta(seconds=5)
ROWS = [
    {"at": START + timedelta(seconds=n), "id": n, "shop": f"s{n % 2}", "value": n, "seen": START + timedelta(days=n)}
    for n in range(40)
]


def stream(columns: dict[str, str]) -> tailrace.Stream:
    """Return the rows, a third of them late, with further columns of the named ones' values."""
    rows = [row | {name: row[column] for name, column in columns.items()} for row in ROWS]
    return tailrace.Stream(
        testing.late(rows, event_time="at", share=0.3, delay="20 s", seed=3),
        event_time="at",
        arrival_time="arrival_time",
        id="id",
    )


def windows() -> list[tuple[datetime, list[dict[str, object]]]]:
    ends = [START + n * WINDOW for n in range(1, 9)]
    return [(end, [row for row in ROWS if end - WINDOW <= row["at"] < end]) for end in ends]


def test_names_of_times_elsewhere_are_free() -> None:
    assert {"until", "started_at", "event_time", "arrived", "committed"} <= {*FREE}


def test_aggregates_keep_their_values_under_names_of_times(tmp_path: Path) -> None:
    """Numbers stay numbers and timestamps stay timestamps: streamed, corrected, in a file, and in `current`."""
    numbers, times = FREE[::2], FREE[1::2]
    sums = {name: {"function": "sum", "column": "value"} for name in numbers}
    greatest = {name: {"function": "max", "column": "seen"} for name in times}
    query = tailrace.query(
        "aggregate", streams={"rows": stream({})}, window="5 s", aggregate=sums | greatest, warehouse=tmp_path
    )
    run = query.run(batch_rows=9)
    assert run.correct().answers
    right = [
        dict.fromkeys(numbers, sum(row["value"] for row in rows)) | dict.fromkeys(times, max(r["seen"] for r in rows))
        for _, rows in windows()
    ]
    answers = query.results()
    assert answers.arrow().select(numbers + times).to_pylist() == right
    (form,) = {answers.arrow().schema.field(name).type for name in times}
    assert form == pa.timestamp("us", "UTC")
    write_answers(answers.raw, answers.columns, "parquet", tmp_path / "answers.parquet", 0)
    assert pa.parquet.read_table(tmp_path / "answers.parquet").select(numbers + times).to_pylist() == right


def test_keys_and_selected_columns_may_have_names_of_times(tmp_path: Path) -> None:
    selected = {name: ("value", "seen", "shop")[index % 3] for index, name in enumerate(FREE)}
    query = tailrace.query(
        "topk",
        streams={"rows": stream(selected)},
        window="5 s",
        topk={"k": 1, "score": "value", "select": FREE},
        warehouse=tmp_path,
    )
    query.run(batch_rows=9).correct()
    best = [max(rows, key=lambda row: row["value"]) for _, rows in windows()]
    assert query.results().arrow().select(FREE).to_pylist() == [
        {name: row[column] for name, column in selected.items()} for row in best
    ]
