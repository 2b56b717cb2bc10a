"""The readers of a replay, which read from history if possible, and otherwise from the source."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import pyarrow as pa

from tailrace.engine.stream_reader import StreamReader
from tailrace.ground.arrow.times import TIME
from tailrace.ground.errors import Problem, Refused
from tailrace.query.query import Query
from tailrace.storage.journal import BatchRecord
from tailrace.storage.layout import Layout
from tailrace.storage.stored_segments import StoredSegments
from tailrace.storage.tables import Tables


def with_stored_segments(
    readers: Sequence[StreamReader], layout: Layout, columns: Mapping[str, Mapping[str, str]], count: int
) -> tuple[StreamReader, ...]:
    """Return readers that read from history if it has the columns that they need.

    Parameters
    ----------
    columns : mapping
        The source's column for each part of the tuples in history, by stream.
    count : int
        The number of the log's segments that the tables have completely.
    """
    tables, histories = Tables(layout), layout.histories(reader.name for reader in readers)
    replayed = []
    for reader in readers:
        parts = _stored_columns(reader, columns.get(reader.name, {}))
        history = histories[reader.name].name
        if count and parts is not None and tables.has(history):
            stored = StoredSegments.open(tables, history, count, parts, reader.format)
            replayed.append(replace(reader, format=stored))
        else:
            replayed.append(reader)
    return tuple(replayed)


def stored_rows(readers: Iterable[StreamReader], entries: Iterable[BatchRecord]) -> int:
    """Return the number of rows that are read from history."""
    counts = {reader.name: reader.format.count for reader in readers if isinstance(reader.format, StoredSegments)}
    segments = (segment for entry in entries for segment in entry.segments)
    return sum(segment.rows for segment in segments if segment.ordinal < counts.get(segment.stream, 0))


def require_readable(query: Query, readers: Iterable[StreamReader], entries: Iterable[BatchRecord]) -> None:
    """Refuse a replay with a segment that is neither in history nor in the source.

    A topic is asked when it is read.

    Raises
    ------
    Refused
    """
    counts = {each.name: each.format.count if isinstance(each.format, StoredSegments) else 0 for each in readers}
    known: set[str] = set()
    for segment in (segment for entry in entries for segment in entry.segments):
        if segment.ordinal < counts[segment.stream] or segment.path in known:
            continue
        known.add(segment.path)
        if not query.streams[segment.stream].source.has(segment):
            stored = "history has only the columns of the query before, " if not counts[segment.stream] else ""
            fault = f"the stream has read it; {stored}and it was removed or changed since"
            remedy = "to put it back as it was; or the old query; or another name for the query, to begin again"
            raise Refused([Problem(segment.path, fault, remedy)])


def _stored_columns(reader: StreamReader, before: Mapping[str, str]) -> dict[str, tuple[str, pa.DataType]] | None:
    """Return the part of history's tuples, with its type, for each of the source's columns; None if it lacks one.

    A column may be in several parts; the most complete one counts, and a carried one is complete. History lacks the
    records that a `where` left out, though these move the clock. It also lacks columns that only expressions or lookups
    read.
    """
    if reader.columns.projection is not None or reader.columns.lookups:
        return None
    parts = reader.columns.named()
    if any(before.get(part) != name for part, name in parts.items()):
        return None
    times = dict.fromkeys(("event_time", "arrival_time"), TIME)
    kinds = reader.value_types | times | {"id": reader.column_types.id, "key": reader.column_types.key}
    if isinstance(reader.columns.key, tuple):
        kinds |= {part: reader.column_types.keys[name] for part, name in reader.columns.key_parts.items()}
    order = [part for part in parts if part not in reader.columns.carried] + list(reader.columns.carried)
    order.sort(key=lambda part: reader.columns.is_name(part) or 2 * (part in reader.columns.carried))  # stable
    return {parts[part]: (part, kinds[part]) for part in order}
