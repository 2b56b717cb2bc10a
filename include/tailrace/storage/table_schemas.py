"""The schemas of the Delta tables of a query, given its kind."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

import pyarrow as pa

from tailrace.engine.stream_reader import StreamReader
from tailrace.ground.arrow.times import TIME
from tailrace.kind.inputs import common_id_type
from tailrace.kind.protocol import Kind
from tailrace.sources import history
from tailrace.tables.answers import RESULTS
from tailrace.tables.correction import CORRECTION_RUNS, CORRECTIONS, QUALITY
from tailrace.tables.every import times_of
from tailrace.tables.stream import FACTS, LATE, METRICS, QUARANTINE, SEGMENTS, STREAM_TABLES, is_history

LATE_TIMES = ("pane_start", "event_time")
"""The columns of the table `late` with a tuple's event time, or its pane's start; each kind has one of them."""


def schemas(kind: Kind) -> dict[str, pa.Schema]:
    """Return the schema of each table by its name, except history."""
    answers, late = _with_times(kind.answer, "results"), _with_times(kind.late, "late")
    id_type = common_id_type(kind.inputs)
    results, marks = pa.schema([*answers, *RESULTS.schema()]), CORRECTIONS.schema()
    return {
        "results": results,
        "late": pa.schema([*LATE.schema(), *late]),
        "segments": SEGMENTS.schema(min_id=id_type, max_id=id_type),
        "corrections": pa.schema([*(field for field in results if field.name not in marks.names), *marks]),
    } | {table.name: table.schema() for table in (QUARANTINE, FACTS, METRICS, CORRECTION_RUNS, QUALITY)}


def history_schemas(streams: Iterable[StreamReader]) -> dict[str, pa.Schema]:
    """Return the schema of each stored stream's history, by the name of its table."""
    return {
        stream.history.name: history.schema(*_types_of_history(stream))
        for stream in streams
        if stream.history is not None
    }


def _types_of_history(stream: StreamReader) -> tuple[pa.DataType, pa.DataType, Mapping[str, pa.DataType]]:
    """Return the types of id, key and values in history; stored records have no key yet."""
    if stream.records is not None:
        return stream.records.id_type, pa.string(), stream.records.value_types
    return stream.column_types.id, stream.column_types.key, stream.value_types


def _with_times(columns: pa.Schema, table: str) -> list[pa.Field]:
    """Return columns of a table, with its times in the tables' type."""
    times = times_of(table)
    return [pa.field(field.name, TIME if field.name in times else field.type) for field in columns]


def stream_tables(histories: Iterable[str]) -> tuple[str, ...]:
    """Return the stream's tables in the order in which a batch is written.

    So a batch in `metrics` is in all of them. `histories` are the names of the tables with the streams' histories.
    """
    return (*histories, *(name for name in STREAM_TABLES if not is_history(name)))
