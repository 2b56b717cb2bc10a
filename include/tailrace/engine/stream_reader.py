"""Reads a stream: segments of its log become checked tuples with their ticks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tailrace.disorder import ticks
from tailrace.engine.column_fields import column_fields
from tailrace.engine.derived_columns import bound, with_derived
from tailrace.expressions.projection import Projection
from tailrace.ground.object_path import Location
from tailrace.ground.sortable import to_sortable_text
from tailrace.ground.time_limits import EARLIEST_MS, LATEST_MS
from tailrace.kind.inputs import ColumnTypes
from tailrace.kind.protocol import Enrichment, windowed
from tailrace.kinds import build
from tailrace.query.query import Query
from tailrace.sources.carried_columns import carried_type
from tailrace.sources.check import Checked, check
from tailrace.sources.columns import Columns
from tailrace.sources.file_format import SegmentReader
from tailrace.sources.kafka_topic import ID
from tailrace.sources.segments import MalformedRecord, Segment, Types, is_integer
from tailrace.sources.time_zones import WITH_ZONE, WITHOUT_ZONE


@dataclass(frozen=True)
class SegmentContent:
    """A segment as it was read: its tuples with the ticks that follow from the segment alone, and its rejects.

    `tuples` has, beside what `check` gives, `position` (in the log), `tick` and `end` (of the tick); `ticks` is the
    statistics of these ticks, of filtered records too: what a filter leaves out holds no tick and no window open.
    `filtered` is the number of these records; those whose times are not sound move nothing.
    """

    tuples: pa.RecordBatch
    ticks: ticks.Ticks
    quarantine: pa.RecordBatch
    filtered: int = 0

    def ranges(self, as_text: bool = False) -> dict[str, Any]:
        """The least and the greatest event time and id; by these a correction decides whether to read it again.

        None where there is no tuple. `as_text`: ids are strings, integers among them sortable text.
        """
        ranges: dict[str, Any] = {}
        for name, column in (("event", "event_time"), ("id", "id")):
            ends = pc.min_max(self.tuples.column(column)).as_py()
            if as_text and name == "id":
                ends = {end: to_sortable_text(id_) if isinstance(id_, int) else id_ for end, id_ in ends.items()}
            ranges |= {f"min_{name}": ends["min"], f"max_{name}": ends["max"]}
        return ranges


@dataclass(frozen=True)
class StreamReader:
    """Reads one of a query's streams: a frozen value, sent to every worker.

    Attributes
    ----------
    types : dict
        The types of the source's columns.
    column_types : ColumnTypes
        The types of the tuples' key, id and carried columns.
    history : Path or ObjectPath or None
        Where accepted tuples are stored; None where the source is itself a durable log with arrival times.
    """

    name: str
    format: SegmentReader
    columns: Columns
    types: Types
    column_types: ColumnTypes
    tick_ms: int
    history: Location | None = None

    @property
    def value_types(self) -> dict[str, pa.DataType]:
        """The types of the tuples' columns beside times, id and key: values and carried ones, by name in the tuple."""
        return self.columns.value_types() | self.column_types.of_carried(self.columns.carried)

    @property
    def has_generated_ids(self) -> bool:
        """True if the position in the source names a tuple: then no id comes twice."""
        return self.columns.id == ID

    def read(self, segment: Segment, coded_keys: bool = False) -> SegmentContent:
        """Read and check a segment; `coded_keys` as in `check`."""
        raw = self.format.read(segment, self.types)
        checked = check(raw.table, self.columns, raw.row, self.column_types, segment.ingested_ms, coded_keys)
        (event, arrival, row), is_tuple = checked.sound, checked.is_tuple
        position = segment.position + row
        tick, end = ticks.number(arrival, position, self.tick_ms)
        tuples = checked.tuples
        for name, column in (("position", position), ("tick", tick), ("end", end)):
            tuples = tuples.append_column(
                name, pa.array(column) if is_tuple is None else pa.array(column).filter(is_tuple)
            )
        quarantine = self._quarantine(segment, checked, raw.row, raw.malformed)
        counted = self.columns.counted_events(event, arrival)
        return SegmentContent(tuples, ticks.summarise(tick, end, event, counted), quarantine, checked.filtered)

    def without_values(self) -> StreamReader:
        """The reader of event time, arrival time, id and key alone; it leaves out the same records."""
        columns = replace(self.columns, values={}, types={}, row_check=None, carried={}).pruned()
        names = set(columns.named().values())
        types = {name: dtype for name, dtype in self.types.items() if name in names}
        return replace(self, columns=columns, types=types)

    def _quarantine(
        self, segment: Segment, checked: Checked, row: np.ndarray, broken: list[MalformedRecord]
    ) -> pa.RecordBatch:
        """The rejects: where each stands, when it came, why it was rejected, and the record as it came."""
        rejected = row[checked.rejected].tolist()
        texts = self.format.records(segment, rejected) if rejected else []
        rejects = [*zip(rejected, checked.arrivals, checked.reasons, texts, strict=True)]
        for fault in broken:
            stamp_ms = segment.ingested_ms if self.columns.arrival_time is None else None
            arrival_ms = stamp_ms if fault.arrival_ms is None else fault.arrival_ms
            rejects.append((fault.row, arrival_ms, fault.reason, fault.record))
        rejects.sort(key=lambda reject: reject[0])
        return pa.RecordBatch.from_pydict(
            {
                "stream": pa.array([self.name] * len(rejects), pa.string()),
                "position": pa.array([f"{segment.path}#{segment.first_row + r[0]}" for r in rejects], pa.string()),
                "arrival_time": pa.array([r[1] for r in rejects], pa.int64()),
                "reason": pa.array([r[2] for r in rejects], pa.string()),
                "record": pa.array([r[3] for r in rejects], pa.string()),
            }
        )


def columns_of(query: Query) -> dict[str, Columns]:
    """The columns that each of the query's streams must have, by the stream's name."""
    kind = build(query)
    first, last = EARLIEST_MS, LATEST_MS
    if not isinstance(kind, Enrichment):
        first, last = windowed(kind).windows.within(first, last)
    columns: dict[str, Columns] = {}
    for (name, stream), needed in zip(query.streams.items(), kind.inputs, strict=True):
        own = stream.source.own_columns
        arrival_time, id_ = stream.arrival_time or own.get("arrival_time"), stream.id or own.get("id")
        assert id_ is not None  # other streams are refused without
        parts = stream.event_time, arrival_time, id_, stream.key, needed.columns
        bounds = max(stream.bounds.earliest_ms, first), query.ahead_ms(stream), last, stream.bounds.skew_ms
        read = Columns(*parts, *bounds, types=needed.types, row_check=needed.row_check, carried=needed.carried)
        read = replace(read, stream=name, column_fields=column_fields(query, name))
        projection = stream.projection
        if needed.derived:
            projection = Projection.of({**stream.columns, **needed.derived}, stream.where)
        inputs = () if projection is None else projection.inputs
        read = replace(read, nullable=needed.nullable, finite=needed.finite)
        read = replace(read, fields=frozenset(needed.derived), readers=needed.readers)
        columns[name] = replace(read, timezone=stream.timezone, projection=projection, inputs=inputs)
    return columns


def column_types_of(columns: Columns, types: Types) -> ColumnTypes:
    """The types of a stream's tuples.

    Key and id are int64 for integers of any width, and string for all else, also for no key and for a list of keys.
    """
    names = {name: pa.int64() if is_integer(types[name]) else pa.string() for name in columns.key_parts.values()}
    is_list = isinstance(columns.key, tuple)
    key, keys = (pa.string(), names) if is_list else (next(iter(names.values()), pa.string()), {})
    id_ = pa.int64() if is_integer(types[columns.id]) else pa.string()
    carried = {part: carried_type(types[name]) for part, name in columns.carried.items()}
    return ColumnTypes(key, id_, carried, keys)


TABLE = "table"
"""The name under which the types of a dimension table's columns stand beside those of the streams."""


def table_types(types: Types) -> ColumnTypes:
    """The types of a dimension table's columns; the inverse of `named_types`."""
    carried = {name: carried_type(type_name) for name, type_name in types.items() if name != "id"}
    return ColumnTypes(id=pa.int64() if is_integer(types["id"]) else pa.string(), carried=carried)


def named_types(types: ColumnTypes) -> Types:
    """The names of the types of a dimension table's columns, for the manifest of a checkpoint."""
    return {"id": str(types.id)} | {name: str(dtype) for name, dtype in types.carried.items()}


def readers_of(query: Query, types: Mapping[str, Types], histories: Mapping[str, Location]) -> tuple[StreamReader, ...]:
    """The readers of the query's streams.

    Parameters
    ----------
    types : dict
        The types of the source's columns, by stream.
    histories : dict
        The directory for history, by stream; taken where the source is no history itself.
    """
    readers = []
    for name, declared in columns_of(query).items():
        columns = replace(declared, zones=_zones(declared, types[name]))
        source = query.streams[name].source
        history = None if source.is_history(columns) else histories[name]
        tuple_types = column_types_of(columns, with_derived(name, columns, types[name]))
        read = types[name]
        if columns.projection is not None:
            columns = replace(columns, projection=bound(columns.projection, read)).pruned()
            names = set(columns.named().values())
            read = {column: dtype for column, dtype in read.items() if column in names}
        format_ = source.reader(columns)
        readers.append(StreamReader(name, format_, columns, read, tuple_types, query.tick_ms, history))
    return tuple(readers)


def _zones(columns: Columns, types: Types) -> dict[str, bool]:
    """Return whether the texts of each column of times state their zone, as far as the first record has shown it."""
    names = [name for name in (columns.event_time, columns.arrival_time) if name is not None]
    return {name: types[name] == WITH_ZONE for name in names if types.get(name) in (WITH_ZONE, WITHOUT_ZONE)}
