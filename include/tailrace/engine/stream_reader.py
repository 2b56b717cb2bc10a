"""Reads a stream: segments of its log become checked tuples with their ticks."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from tailrace.disorder import ticks
from tailrace.engine.stream_records import StreamRecords
from tailrace.ground.arrow.answer_columns import RETRACTED
from tailrace.ground.arrow.sortable import to_sortable_text
from tailrace.ground.files.object_path import Location
from tailrace.kind.inputs import ColumnTypes
from tailrace.sources.check import Checked, check
from tailrace.sources.columns import SourceMapping
from tailrace.sources.formats.file_format import SegmentReader
from tailrace.sources.kafka.kafka_topic import ID
from tailrace.sources.lookup.lookups import NO_VERSIONS, Versions
from tailrace.sources.segments import RawSegment, Segment, Types


@dataclass(frozen=True)
class SegmentContent:
    """A segment that was read: its tuples, with ticks computed from the segment alone, and its rejects.

    `tuples` has the columns of `check`, `position` (in the log), `tick` and `end` (of the tick). `ticks` is the
    statistics of these ticks. It counts filtered records too, so that they hold no tick and no window open.
    `filtered` is the number of these records; `unmatched` of them meet no row of a lookup. Records with invalid times
    move no tick. `records` are as in `stream_records`, with the columns that follow from arrival;
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
        """Whether a tuple's id is its position in the source, so that no id comes twice."""
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
        """Return a reader for the same records that reads only event time, arrival time, id and key."""
        columns = replace(self.columns, uses=(), row_check=None).pruned()
        names = set(columns.named().values())
        types = {name: dtype for name, dtype in self.types.items() if name in names}
        return replace(self, columns=columns, types=types)


def _quarantined_rows(
    stream: str, reader: SegmentReader, segment: Segment, raw: RawSegment, checked: Checked, is_stamped: bool
) -> pa.RecordBatch:
    """Return the rejects, each with its place, arrival time, reason and original record.

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
