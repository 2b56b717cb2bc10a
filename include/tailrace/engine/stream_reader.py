"""Reads a stream: segments of its log become checked tuples with their ticks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from tailrace.disorder import ticks
from tailrace.engine.derived_columns import bound, with_derived
from tailrace.engine.lookup_types import with_lookup_types
from tailrace.engine.stream_records import StreamRecords, types_seen
from tailrace.expressions.projection import Projection
from tailrace.ground.answer_columns import RETRACTED
from tailrace.ground.object_path import Location
from tailrace.ground.sortable import to_sortable_text
from tailrace.ground.time_limits import EARLIEST_MS, LATEST_MS
from tailrace.kind.column_use import IDENTITY, ColumnUse
from tailrace.kind.inputs import ColumnTypes
from tailrace.kind.protocol import Enrichment, windowed
from tailrace.kinds import build
from tailrace.query.query import Query
from tailrace.sources.answers_source import AnswersSource
from tailrace.sources.carried_columns import carried_type, score_type
from tailrace.sources.check import Checked, check
from tailrace.sources.columns import SourceMapping
from tailrace.sources.file_format import SegmentReader
from tailrace.sources.ids_and_keys import id_type, key_type
from tailrace.sources.kafka_topic import ID
from tailrace.sources.lookups import NO_VERSIONS, Versions
from tailrace.sources.segments import RawSegment, Segment, Types
from tailrace.sources.time_zones import WITH_ZONE, WITHOUT_ZONE


@dataclass(frozen=True)
class SegmentContent:
    """A segment after reading: its tuples, with ticks computed from the segment alone, and its rejects.

    `tuples` has, beside what `check` gives, `position` (in the log), `tick` and `end` (of the tick); `ticks` is the
    statistics of these ticks, of filtered records too: what a filter leaves out holds no tick and no window open.
    `filtered` is the number of these records, `unmatched` of those among them that meet no row of a lookup; those whose
    times are not sound move nothing. `records` are as in `stream_records`, with the columns that follow from arrival;
    None where no correction repeats a lookup. `floored` are the columns of times that are finer than microseconds.
    """

    tuples: pa.RecordBatch
    ticks: ticks.Ticks
    quarantine: pa.RecordBatch
    filtered: int = 0
    unmatched: int = 0
    records: pa.RecordBatch | None = None
    floored: frozenset[str] = frozenset()

    @property
    def stored(self) -> pa.RecordBatch:
        """The rows to store in history: records if corrections repeat the lookups, else tuples."""
        return self.tuples if self.records is None else self.records

    def ranges(self, as_text: bool = False) -> dict[str, Any]:
        """Return the least and greatest event time and id, by which a correction decides on reading the segment.

        The values are None without a tuple. `as_text`: ids are strings, and integers become sortable text.
        """
        ranges: dict[str, Any] = {}
        for name, column in (("event", "event_time"), ("id", "id")):
            ends = pc.min_max(self.stored.column(column)).as_py()
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
    records : StreamRecords or None
        What is stored instead of tuples, where corrections repeat the stream's lookups.
    """

    name: str
    format: SegmentReader
    columns: SourceMapping
    types: Types
    column_types: ColumnTypes
    tick_ms: int
    history: Location | None = None
    records: StreamRecords | None = None

    @property
    def value_types(self) -> dict[str, pa.DataType]:
        """The types of the tuples' columns beside times, id and key, values and carried ones, by name in the tuple."""
        return self.columns.value_types | self.column_types.of_carried(self.columns.carried)

    @property
    def has_generated_ids(self) -> bool:
        """Whether the position in the source identifies a tuple, so that no id comes twice."""
        return self.columns.id == ID

    @property
    def takes_newest(self) -> bool:
        """Whether the newest tuple of an id counts, unless it is a retraction; otherwise the first one counts."""
        return RETRACTED in self.columns.carried

    def read(self, segment: Segment, coded_keys: bool = False, versions: Versions = NO_VERSIONS) -> SegmentContent:
        """Read and check a segment; `coded_keys` and `versions` as in `check`."""
        raw = self.format.read(segment, self.types)
        records = None
        if self.records is None:
            parts = self.column_types, segment.ingested_ms, coded_keys, versions
            checked = check(raw.table, self.columns, raw.row, *parts)
        else:
            own = self.column_types, segment.ingested_ms, versions
            checked, records = self.records.check(raw.table, raw.row, *own)
        (event, arrival, row), is_tuple = checked.sound, checked.is_tuple
        position = segment.position + row
        tick, end = ticks.number(arrival, position, self.tick_ms)
        tuples = checked.tuples
        for name, column in (("position", position), ("tick", tick), ("end", end)):
            of_all = pa.array(column)
            tuples = tuples.append_column(name, of_all if is_tuple is None else of_all.filter(is_tuple))
            records = None if records is None else records.append_column(name, of_all)
        is_stamped = self.columns.arrival_time is None
        quarantine = _quarantined_rows(self.name, self.format, segment, raw, checked, is_stamped)
        counted = self.columns.counted_events(event, arrival)
        of_ticks = ticks.summarise(tick, end, event, counted)
        counts = checked.filtered, checked.unmatched
        return SegmentContent(tuples, of_ticks, quarantine, *counts, records, checked.floored)

    def tuples_of(self, records: pa.RecordBatch) -> pa.RecordBatch:
        """Return the tuples of stored records, by the newest versions of the lookups' tables."""
        assert self.records is not None
        return self.records.tuples_of(records, self.column_types)

    def without_values(self) -> StreamReader:
        """Return the reader of event time, arrival time, id and key alone; it leaves out the same records."""
        columns = replace(self.columns, uses=(), row_check=None).pruned()
        names = set(columns.named().values())
        types = {name: dtype for name, dtype in self.types.items() if name in names}
        return replace(self, columns=columns, types=types)


def columns_of(query: Query) -> dict[str, SourceMapping]:
    """Return the columns that each of the query's streams must have, by the stream's name."""
    kind = build(query)
    first, last = EARLIEST_MS, LATEST_MS
    if not isinstance(kind, Enrichment):
        first, last = windowed(kind).windows.within(first, last)
    columns: dict[str, SourceMapping] = {}
    for (name, stream), needed in zip(query.streams.items(), kind.inputs, strict=True):
        given = stream.source.own_columns
        arrival_time, id_ = stream.arrival_time or given.get("arrival_time"), stream.id or given.get("id")
        assert id_ is not None  # other streams without an id are refused
        derived = {**stream.columns, **needed.derives}
        projection = Projection.parse(derived, stream.where) if derived or stream.where else None
        uses = needed.uses
        if isinstance(stream.source, AnswersSource):
            uses += (ColumnUse(RETRACTED, IDENTITY, part=RETRACTED),)
        parts = {"event_time": stream.event_time, "arrival_time": arrival_time, "id": id_, "key": stream.key}
        bounds = {"earliest_ms": max(stream.bounds.earliest_ms, first), "ahead_ms": query.ahead_ms(stream)}
        bounds |= {"latest_ms": last, "skew_ms": stream.bounds.skew_ms}
        own: dict[str, Any] = {**parts, **bounds, "timezone": stream.timezone, "groups_nulls": stream.groups_nulls}
        own |= {"stream": name, "projection": projection, "lookups": query.lookups[name]}
        columns[name] = SourceMapping(uses, needed.row_check, needed.file_check, **own)
    return columns


def column_types_of(columns: SourceMapping, types: Types) -> ColumnTypes:
    """Return the types of a stream's tuples.

    The key is a string without a column, and of a list of columns.
    """
    names = {name: key_type(types[name]) for name in columns.key_parts.values()}
    is_list = isinstance(columns.key, tuple)
    key, keys = (pa.string(), names) if is_list else (next(iter(names.values()), pa.string()), {})
    carried = {
        part: score_type(types[name]) if part in columns.required else carried_type(types[name])
        for part, name in columns.carried.items()
    }
    return ColumnTypes(key, id_type(types[columns.id]), carried, keys)


def table_types(types: Types) -> ColumnTypes:
    """Return the types of a table's columns; the inverse of `named_types`."""
    carried = {name: carried_type(type_name) for name, type_name in types.items() if name != "id"}
    return ColumnTypes(id=id_type(types["id"]), carried=carried)


def named_types(types: ColumnTypes) -> Types:
    """Name the types of a table's columns, for a checkpoint's manifest."""
    return {"id": str(types.id)} | {name: str(dtype) for name, dtype in types.carried.items()}


def readers_of(query: Query, types: Mapping[str, Types], histories: Mapping[str, Location]) -> tuple[StreamReader, ...]:
    """Build the readers of the query's streams.

    Parameters
    ----------
    types : dict
        The types of the source's columns, by stream, and of lookups' tables, by the subject of their versions.
    histories : dict
        The directory for history, by stream; used where the source is not itself a history.
    """
    readers = []
    tables = {subject: table_types(types[subject]) for subject in query.tables if subject in types}
    for name, declared in columns_of(query).items():
        seen = types_seen(declared, types[name])
        columns = with_lookup_types(declared, seen, tables)
        columns = replace(columns, zones=_zones(declared, types[name]))
        source = query.streams[name].source
        # Looked-up values are stored in history, so a correction computes with the same values as the stream.
        history = None if source.is_history(columns) and not columns.lookups else histories[name]
        tuple_types = column_types_of(columns, with_derived(name, columns, seen))
        read = types[name]
        if columns.projection is not None:
            looked_up = {each: str(dtype) for lookup in columns.lookups for each, dtype in lookup.types}
            columns = replace(columns, projection=bound(columns.projection, seen | looked_up)).pruned()
            names = set(columns.named().values())
            read = {column: dtype for column, dtype in read.items() if column in names}
        format_ = source.reader(columns)
        records = StreamRecords.from_columns(columns, types[name]) if columns.repeats_lookups else None
        readers.append(StreamReader(name, format_, columns, read, tuple_types, query.tick_ms, history, records))
    return tuple(readers)


def _zones(columns: SourceMapping, types: Types) -> dict[str, bool]:
    """Return whether the texts of each time column state their zone, as far as the first record has shown it."""
    names = [name for name in (columns.event_time, columns.arrival_time) if name is not None]
    return {name: types[name] == WITH_ZONE for name in names if types.get(name) in (WITH_ZONE, WITHOUT_ZONE)}


def _quarantined_rows(
    stream: str, reader: SegmentReader, segment: Segment, raw: RawSegment, checked: Checked, is_stamped: bool
) -> pa.RecordBatch:
    """Return the rejects: the place of each, when it came, why it was rejected, and the record as it came.

    `is_stamped`: records bring no arrival time, and get the one of their planning.
    """
    rejected = raw.row[checked.rejected].tolist()
    texts = reader.records(segment, rejected) if rejected else []
    rejects = [*zip(rejected, checked.arrivals, checked.reasons, texts, strict=True)]
    for fault in raw.malformed:
        stamp_ms = segment.ingested_ms if is_stamped else None
        arrival_ms = stamp_ms if fault.arrival_ms is None else fault.arrival_ms
        rejects.append((fault.row, arrival_ms, fault.reason, fault.record))
    rejects.sort(key=lambda reject: reject[0])
    return pa.RecordBatch.from_pydict(
        {
            "stream": pa.array([stream] * len(rejects), pa.string()),
            "position": pa.array([f"{segment.path}#{segment.first_row + r[0]}" for r in rejects], pa.string()),
            "arrival_time": pa.array([r[1] for r in rejects], pa.int64()),
            "reason": pa.array([r[2] for r in rejects], pa.string()),
            "record": pa.array([r[3] for r in rejects], pa.string()),
        }
    )
