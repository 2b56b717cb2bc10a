"""A stream of readings for tests of object stores: its tuples, its query and its answers."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq

from kit.runs.local_driver import Driver
from tailrace.query.declared import declared_query

START = 1_700_000_000_000


def readings(first: int, count: int) -> pa.Table:
    """Tuples in order of arrival, of two keys; every seventh is late by some windows, one record is malformed."""
    numbers = range(first, first + count)
    events = [START + 10 * n - (2500 if n % 7 == 3 else 0) for n in numbers]
    values = [float(n % 13) for n in numbers]
    return pa.table(
        {
            "event_time": pa.array(events, pa.int64()),
            "arrival_time": pa.array([START + 10 * n for n in numbers], pa.int64()),
            "id": [f"t{n}" for n in numbers],
            "k": [None if n == first + 5 else f"key {n % 2}" for n in numbers],
            "v": pa.array(values, pa.float64()),
        }
    )


def write(table: pa.Table, file: Path) -> None:
    if file.suffix == ".parquet":
        pq.write_table(table, file, row_group_size=100)
    elif file.suffix == ".csv":
        pa.csv.write_csv(table, file)
    else:
        file.write_text(table.to_pandas().to_json(orient="records", lines=True))


def declaration(path: str, format_name: str, connection: str | None) -> dict:
    source = {"format": format_name, "path": path} | ({"connection": connection} if connection else {})
    columns = {"source": source, "event_time": "event_time", "arrival_time": "arrival_time", "id": "id", "key": "k"}
    columns |= {"null_key": "quarantine"}  # so that two records are no tuples, and not read again
    declared = {"name": "load", "kind": "aggregate", "streams": {"readings": columns}, "parallelism": 1}
    declared |= {"window": {"size": "1 s", "slide": "500 ms"}, "aggregate": {"function": "sum", "column": "v"}}
    return declared | {"disorder": {"policy": "k_slack", "k": "200 ms"}}


def query_on(path: str, format_name: str, connection: str | None):
    return declared_query(declaration(path, format_name, connection))


def answers(app: Driver) -> list[tuple]:
    names = ("key", "window_start", "window_end", "tuples", "value", "as_of")
    return sorted(tuple(row[name] for name in names) for row in app.tables.read("results").to_pylist())
