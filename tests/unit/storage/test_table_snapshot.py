"""The snapshot of a table of answers: it changes when answers come, and not with the stream or a compaction."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tailrace.ground.arrow.times import TIME
from tailrace.ground.files.written_files import FILES
from tailrace.storage import table_snapshot
from tailrace.storage.layout import Layout
from tailrace.storage.table_snapshot import TableSnapshot
from tailrace.storage.tables import Tables, within
from tailrace.tables.every import in_ms

SCHEMA = pa.schema({"id": pa.string(), "as_of": TIME})


@pytest.fixture
def tables(tmp_path: Path) -> Tables:
    tables = Tables(Layout(tmp_path))
    tables.create({"results": SCHEMA})
    return tables


def write_file(tables: Tables, batch: int, *as_of_s: int) -> None:
    """Commit a file of answers as tasks write it, with a row group per answer."""
    path = tables.layout.table("results") / f"part-{batch}.parquet"
    times = pa.array([time * 1_000_000 for time in as_of_s], pa.int64()).cast(TIME)
    pq.write_table(pa.table({"id": ["a"] * len(as_of_s), "as_of": times}, SCHEMA), path, row_group_size=1)
    record = {"path": path.name, "size": path.stat().st_size, "rows": len(as_of_s)}
    tables.append("results", pa.Table.from_pylist([record], FILES), "app", batch)


def test_answers_in_written_files_are_told_by_their_own_as_of(tables, monkeypatch):
    monkeypatch.setattr(table_snapshot, "committed_until", lambda _: 3_600_000, raising=False)
    write_file(tables, 0, 210, 30)
    first = TableSnapshot(2, "1970-01-01T00:03:30.000Z")
    assert TableSnapshot.read(tables.layout, "results") == first
    write_file(tables, 1, 205)
    assert TableSnapshot.read(tables.layout, "results") == TableSnapshot(3, first.as_of)
    tables.compact(["results"])
    assert TableSnapshot.read(tables.layout, "results") == TableSnapshot(3, first.as_of)


def test_answers_in_written_files_are_found_by_their_as_of(tables):
    write_file(tables, 0, 210, 30)
    write_file(tables, 1, 300)
    found = tables.read("results", where=within("as_of", 29_999, 210_000))
    assert sorted(in_ms(found, "results")["as_of"].to_pylist()) == [30_000, 210_000]
