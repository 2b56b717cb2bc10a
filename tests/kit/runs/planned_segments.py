"""Segments in a journal without a planner, and in the table `segments` without a batch: what feeds go on from."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from types import MappingProxyType

import pyarrow as pa

from kit.oracles.oracle import Settings
from kit.runs.warehouse import make_query
from tailrace.engine.batch_header import BatchHeader
from tailrace.ground.arrow.times import with_times
from tailrace.kinds import build
from tailrace.sources.segments import Segment
from tailrace.storage.journal import BatchRecord, Journal, LogPosition, StreamPosition
from tailrace.storage.layout import Layout
from tailrace.storage.table_schemas import schemas
from tailrace.storage.tables import Tables

SCHEMA = schemas(build(make_query(Path("in"), Settings(100, 100, 10))))["segments"]
_STATISTICS = {
    **dict.fromkeys(("accepted", "quarantined", "filtered", "unmatched", "before_tick", "before_end"), 0),
    **dict.fromkeys(("min_event", "max_event", "min_id", "max_id", "distinct_ids", "floored")),
}


def plan(layout: Layout, versions: Mapping[str, int] = MappingProxyType({}), **segments: Sequence[Segment]) -> None:
    """Append an entry with these segments of each stream to the journal; `versions`: those that were read in whole."""
    journal = Journal(layout.journal)
    last = journal.last()
    batch, position = (last.header.batch + 1, last.position) if last else (0, LogPosition())
    named, streams = [], {}
    for name, parts in segments.items():
        before = position.streams.get(name, StreamPosition())
        rows = before.rows + sum(part.rows for part in parts)
        streams[name] = replace(before, rows=rows, version=versions.get(name, -1))
        if parts:
            streams[name] = replace(streams[name], path=parts[-1].path, row=parts[-1].first_row + parts[-1].rows)
        named += [replace(part, stream=name) for part in parts]
    journal.append(BatchRecord(BatchHeader(batch, ()), tuple(named), LogPosition(streams)))


def write(layout: Layout, batch: int) -> None:
    """Write the segments of an entry to the table, as its batch does."""
    tables = Tables(layout)
    tables.create({"segments": SCHEMA})
    rows = [segment.to_json() | _STATISTICS | {"batch": batch} for segment in Journal(layout.journal)[batch].segments]
    if rows:
        table = pa.Table.from_pylist([{name: row[name] for name in SCHEMA.names} for row in rows])
        tables.append("segments", with_times(table, SCHEMA), "app", batch)
