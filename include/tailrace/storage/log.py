"""The log of a stream: the segments that it has read, and a selection of them to read again for some windows.

Tuples of windows lie in segments whose range of event times overlaps the windows. Other tuples with the same ids lie in
segments whose range of ids contains these ids.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import starmap
from typing import Any, NamedTuple
from urllib.parse import unquote

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq
from numpy.typing import NDArray

from tailrace.engine.stream_reader import StreamReader
from tailrace.ground.arrow.columns import single_batch
from tailrace.ground.arrow.matching import select
from tailrace.ground.arrow.ranges import Ranges, in_ranges, overlap, overlap_another
from tailrace.ground.arrow.sortable import from_sortable_text
from tailrace.ground.arrow.times import ARRIVAL_US, split_times, stored_column
from tailrace.ground.files.object_path import Location
from tailrace.sources.column_rules import is_text
from tailrace.sources.discovery.object_files import open_location
from tailrace.sources.segments import Segment
from tailrace.storage.history_files import HOUR_MS, files_of
from tailrace.storage.lookup_versions import with_known_versions
from tailrace.storage.lost_files import lost
from tailrace.storage.tables import Tables

ORDER = ["id", "tick", "arrival_time", ARRIVAL_US, "position"]
"""The columns that determine which tuple with an id arrived first."""

_SEGMENT_COLUMNS = ["ordinal", "position", "path", "first_row", "rows", "ingested_ms", "before_tick", "before_end"]
_SEGMENT_COLUMNS += ["size", "mtime_ns", "accepted", "quarantined", "min_event", "max_event", "min_id", "max_id"]
_SEGMENT_COLUMNS += ["distinct_ids"]

_LOCATION = ["path", "first_row", "rows", "ordinal", "position", "ingested_ms", "size", "mtime_ns"]


class File(NamedTuple):
    """A file of history."""

    path: Location
    rows: int


Piece = Segment | File
"""The unit of reading: a segment of the source, or a file of history."""


@dataclass(frozen=True)
class Reader:
    """Reads the tuples of n segments that arrived before a point of arrival time, the cut-off.

    Attributes
    ----------
    before : int
        The cut-off, in ms.
    position, end, before_tick : ndarray, shape (n,)
        For each segment: its position in the log, the position after its last record, and the newest tick before it,
        which ended by the cut-off.
    whole : frozenset of int
        The ordinals of the segments without rejected records: their tuples are found without reading values.
    """

    stream: StreamReader
    before: int
    position: NDArray[np.int64]
    end: NDArray[np.int64]
    before_tick: NDArray[np.int64]
    whole: frozenset[int]

    def read(self, piece: Piece, columns: Sequence[str]) -> pa.RecordBatch:
        """Read these columns of the tuples in a piece that arrived before the cut-off."""
        if isinstance(piece, Segment):
            skips_values = piece.ordinal in self.whole and not self.stream.value_types.keys() & set(columns)
            stream = self.stream.without_values() if skips_values else self.stream
            return self.arrived(stream.read(piece).tuples).select(columns)
        records = self.stream.records
        stored = columns if records is None else records.stored_columns
        dtypes = self.stream.value_types if records is None else records.value_types
        names = list(dict.fromkeys([*map(stored_column, stored), "position", "tick", "end"]))
        try:
            table = split_times(pq.read_table(open_location(piece.path), columns=names, partitioning=None))
        except FileNotFoundError:
            raise lost(str(piece.path), "this file of history is lost") from None
        for name, dtype in dtypes.items():  # a compacted file may name a list's elements differently
            if name in names and table.schema.field(name).type != dtype:
                table = table.set_column(table.schema.get_field_index(name), name, table.column(name).cast(dtype))
        tuples = self.arrived(single_batch(table))
        return (tuples if records is None else self.stream.tuples_of(tuples)).select(columns)

    def split(self, piece: Piece, ranges: Ranges, columns: Sequence[str]) -> tuple[pa.RecordBatch, pa.RecordBatch]:
        """Read the tuples with an event time in one of the ranges, with these columns, and the others with `ORDER`."""
        tuples = self.read(piece, list(dict.fromkeys(["event_time", *columns, *ORDER])))
        in_range = pa.array(in_ranges(ranges, np.asarray(tuples.column("event_time"))))
        return tuples.filter(in_range).select(columns), tuples.select(ORDER).filter(pc.invert(in_range))

    def arrived(self, tuples: pa.RecordBatch) -> pa.RecordBatch:
        """Select the tuples that arrived before the cut-off, and set the ticks in which the query processed them.

        Tuples of other segments are left out, as history may be a batch ahead of the table `segments`.
        """
        position, tick, end = (np.asarray(tuples.column(name)) for name in ("position", "tick", "end"))
        segment = np.searchsorted(self.position, position, side="right") - 1
        inside = (segment >= 0) & (position < np.append(self.end, 0)[segment])
        tuples, segment, tick, end = tuples.filter(pa.array(inside)), segment[inside], tick[inside], end[inside]
        tick = pa.array(np.maximum(tick, self.before_tick[segment]))
        tuples = tuples.set_column(tuples.schema.get_field_index("tick"), "tick", tick)
        return tuples.filter(pa.array(end <= self.before))


@dataclass(frozen=True)
class Log:
    """Segments of a stream's log, in order, with the tuples that arrived before a cut-off (arrival time, ms).

    Attributes
    ----------
    segments : Table
        The rows of the table `segments`.
    files : Table or None
        The files of history, if the stream writes one: `path` in the table's log, `rows`, the positions `first` to
        `last` of its tuples in the log, and the start (ms) of the `hour` that contains their event times.
    """

    stream: StreamReader
    before: int
    segments: pa.Table
    files: pa.Table | None = None

    @staticmethod
    def read(stream: StreamReader, tables: Tables, before: int) -> Log:
        """Read the log from the query's tables."""
        mine = (ds.field("stream") == stream.name) & _has_some(stream)
        stream = with_known_versions(stream, tables, before)
        return Log.from_segments(stream, before, tables.read("segments", _SEGMENT_COLUMNS, mine))

    @staticmethod
    def from_segments(stream: StreamReader, before: int, segments: pa.Table) -> Log:
        """Build the log from rows of the table `segments`.

        Segments without tuples in history are left out. So are segments that came when the newest tick already ended
        after the cut-off (`before_end`): their tuples arrived no earlier.
        """
        selection = (
            segments.filter((ds.field("before_end") <= before) & _has_some(stream)).sort_by("position").combine_chunks()
        )
        if pa.types.is_integer(stream.column_types.id):  # if the streams' types of ids differ, all are stored as text
            for name in ("min_id", "max_id"):
                if is_text(selection[name].type):
                    ids = pa.array(map(from_sortable_text, selection[name].to_pylist()), pa.int64())
                    selection = selection.set_column(selection.schema.get_field_index(name), name, ids)
        return Log(stream, before, selection, None if stream.history is None else files_of(stream.history, selection))

    def of_events(self, ranges: Ranges) -> Log:
        """Return the segments that may contain tuples with event times in one of the ranges."""
        return self._selection(overlap(*self._ends("event"), ranges[0], ranges[1] - 1))

    def of_ids(self, low: NDArray[Any], high: NDArray[Any]) -> Log:
        """Return the segments that may contain a tuple with an id in one of the ranges [low, high]."""
        return self._selection(overlap(*self._id_ends, low, high))

    def of_ids_in(self, other: Log) -> Log:
        """Return the segments that may contain a tuple whose id also occurs in another part of the log."""
        return self.of_ids(*other._id_ends)

    def with_repeats(self) -> Log:
        """Select the segments that may contain a tuple whose id arrived more than once.

        These may have repeated ids within, or their range of ids overlaps another segment's. With ascending ids there
        are none.
        """
        mask = np.full(self.segments.num_rows, not self.stream.has_generated_ids)
        if mask.any():
            mask = ~self.segments["distinct_ids"].to_numpy() | overlap_another(*self._id_ends)
        return self._selection(mask)

    def pieces(self, ranges: Ranges | None = None) -> list[Piece]:
        """Return the pieces to read for tuples with event times in one of the ranges, or for all tuples.

        The ranges only select files of history; all segments are returned.
        """
        history = self.stream.history
        if self.files is None or history is None:
            return [*starmap(_segment, zip(*(self.segments[name].to_pylist() for name in _LOCATION), strict=True))]
        position = self.segments["position"].to_numpy()
        last = position + self.segments["rows"].to_numpy() - 1
        mask = overlap(self.files["first"].to_numpy(), self.files["last"].to_numpy(), position, last)
        if ranges is not None:
            hour = self.files["hour"].to_numpy()
            mask &= overlap(hour, hour + HOUR_MS - 1, ranges[0], ranges[1] - 1)
        files = select(self.files, mask)
        paths, rows = (files[name].to_pylist() for name in ("path", "rows"))
        return [File(history / unquote(path), size) for path, size in zip(paths, rows, strict=True)]

    def reader(self) -> Reader:
        """Return the reader of the pieces."""
        position, rows, tick = (self.segments[name].to_numpy() for name in ("position", "rows", "before_tick"))
        ordinal, quarantined = (self.segments[name].to_numpy() for name in ("ordinal", "quarantined"))
        without_rejects = frozenset(ordinal[quarantined == 0].tolist())
        return Reader(self.stream, self.before, position, position + rows, tick, without_rejects)

    @cached_property
    def _id_ends(self) -> tuple[NDArray[Any], NDArray[Any]]:
        return self._ends("id")

    def _ends(self, column: str) -> tuple[NDArray[Any], NDArray[Any]]:
        return self.segments[f"min_{column}"].to_numpy(), self.segments[f"max_{column}"].to_numpy()

    def _selection(self, mask: NDArray[np.bool_]) -> Log:
        return Log(self.stream, self.before, select(self.segments, mask), self.files)


def with_ids(tuples: pa.RecordBatch, ids: pa.Array) -> pa.RecordBatch:
    """Return the tuples with one of these ids."""
    return tuples.filter(pc.is_in(tuples.column("id"), ids))


def _has_some(stream: StreamReader) -> ds.Expression:
    """Return the condition that history has tuples, or records, of a segment."""
    return ds.field("accepted") > 0 if stream.records is None else ds.field("min_event").is_valid()


def _segment(*row: Any) -> Segment:
    return Segment(**dict(zip(_LOCATION, row, strict=True)))
