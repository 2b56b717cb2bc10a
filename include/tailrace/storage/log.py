"""The log of a stream: the segments that it has read, and which of them to read again for some windows.

The content of windows lies in the segments whose range of event times overlaps theirs. Other tuples with the id of one
of its tuples lie in the segments whose range of ids holds that id.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple
from urllib.parse import unquote

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq
from numpy.typing import NDArray

from tailrace.engine.stream_reader import StreamReader
from tailrace.ground.columns import single_batch
from tailrace.ground.object_path import Location
from tailrace.ground.ranges import Ranges, in_ranges, overlap, overlap_another
from tailrace.ground.sortable import from_sortable_text
from tailrace.ground.times import in_ms
from tailrace.sources.history import PARTITIONS
from tailrace.sources.object_files import open_location
from tailrace.sources.segments import Segment
from tailrace.storage.layout import Layout
from tailrace.storage.lost_files import lost, require_files
from tailrace.storage.tables import Tables

ORDER = ["id", "tick", "arrival_time", "position"]
"""The columns that decide which of the tuples with the same id arrived first."""

_SEGMENT_COLUMNS = ["ordinal", "position", "path", "first_row", "rows", "ingested_ms", "before_tick", "before_end"]
_SEGMENT_COLUMNS += ["size", "mtime_ns", "accepted", "quarantined", "min_event", "max_event", "min_id", "max_id"]
_OPTIONAL_COLUMNS = ["distinct_ids"]  # a table that an earlier release created lacks it until its stream starts again
_SEGMENT_FILE = re.compile(r"part-(\d{8,})\.parquet\Z")  # the stream's name for a segment's file; others are compacted
_HOUR_MS = 3_600_000


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
        Of each segment: its position in the log, the position after its last record, and the newest tick when it came.
        That tick ended by the cut-off, too.
    whole : frozenset of int
        The ordinals of the segments without a rejected record: there no value decides which records are tuples.
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
        names = list(dict.fromkeys([*columns, "position", "tick", "end"]))
        try:
            table = in_ms(pq.read_table(open_location(piece.path), columns=names, partitioning=None))
        except FileNotFoundError:
            raise lost(str(piece.path), "this file of history is lost") from None
        for name, kind in self.stream.value_types.items():  # a compacted file may name a list's elements otherwise
            if name in names and table.schema.field(name).type != kind:
                table = table.set_column(table.schema.get_field_index(name), name, table.column(name).cast(kind))
        return self.arrived(single_batch(table)).select(columns)

    def split(self, piece: Piece, ranges: Ranges, columns: Sequence[str]) -> tuple[pa.RecordBatch, pa.RecordBatch]:
        """Read the tuples with an event time in one of the ranges, with these columns; and the others, with `ORDER`."""
        tuples = self.read(piece, list(dict.fromkeys(["event_time", *columns, *ORDER])))
        in_range = pa.array(in_ranges(ranges, np.asarray(tuples.column("event_time"))))
        return tuples.filter(in_range).select(columns), tuples.select(ORDER).filter(pc.invert(in_range))

    def arrived(self, tuples: pa.RecordBatch) -> pa.RecordBatch:
        """Select the tuples that arrived before the cut-off, and give them the ticks in which the query took them in.

        Tuples of none of these segments are left out: history may be a batch ahead of the table of segments.
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
    segments : DataFrame
        Their rows in the table `segments`.
    files : DataFrame or None
        The files of history, where the stream writes one: `path`, `rows`, the positions `first` to `last` in the log
        between which its tuples lie, and the start (ms) of the `hour` that holds their event times.
    """

    stream: StreamReader
    before: int
    segments: pd.DataFrame
    files: pd.DataFrame | None = None

    @staticmethod
    def read(stream: StreamReader, tables: Tables, before: int) -> Log:
        """Read the log from the query's tables."""
        mine = (ds.field("stream") == stream.name) & (ds.field("accepted") > 0)  # pandas rounds integers beside nulls
        there = tables.schema("segments").names
        columns = [*_SEGMENT_COLUMNS, *(name for name in _OPTIONAL_COLUMNS if name in there)]
        return Log.of(stream, before, tables.read("segments", columns, mine).to_pandas())

    @staticmethod
    def of(stream: StreamReader, before: int, segments: pd.DataFrame) -> Log:
        """Make the log from rows of the table `segments`.

        Segments without a tuple are left out, and those whose `before_end`, the end of the newest tick when they came,
        is after the cut-off: their tuples arrived no earlier.
        """
        selection = segments[(segments["before_end"] <= before) & (segments["accepted"] > 0)].sort_values("position")
        if pa.types.is_integer(stream.column_types.id):  # of streams whose types of ids differ, both are stored as text
            for name in ("min_id", "max_id"):
                if selection[name].dtype == object:
                    selection[name] = selection[name].map(from_sortable_text).astype(np.int64)
        return Log(stream, before, selection, None if stream.history is None else _files(stream.history, selection))

    def of_events(self, ranges: Ranges) -> Log:
        """Return the segments that may hold tuples with event times in one of the ranges."""
        return self._selection(overlap(*self._ends("event"), ranges[0], ranges[1] - 1))

    def of_ids(self, low: NDArray[Any], high: NDArray[Any]) -> Log:
        """Return the segments that may hold a tuple with an id in one of the ranges [low, high]."""
        return self._selection(overlap(*self._ends("id"), low, high))

    def of_ids_in(self, other: Log) -> Log:
        """Return the segments that may hold a tuple with an id of another part of the log."""
        return self.of_ids(*other._ends("id"))

    def with_repeats(self) -> Log:
        """Select the segments that may hold a tuple whose id arrived more than once.

        It is not known to have distinct ids, or its range of ids meets another one's. Where ids ascend there is none.
        """
        mask = np.full(len(self.segments), not self.stream.has_generated_ids)
        if mask.any() and "distinct_ids" in self.segments:
            is_distinct = self.segments["distinct_ids"].to_numpy() == True  # noqa: E712 (null in rows of earlier releases)
            mask = ~is_distinct | overlap_another(*self._ends("id"))
        return self._selection(mask)

    def pieces(self, ranges: Ranges | None = None) -> list[Piece]:
        """Return the pieces to be read for tuples with event times in one of the ranges, or for all tuples.

        Ranges narrow the files of history only; of segments all are given.
        """
        if self.files is None:
            return [_segment(row) for row in self.segments.itertuples()]
        position = self.segments["position"].to_numpy()
        last = position + self.segments["rows"].to_numpy() - 1
        mask = overlap(self.files["first"].to_numpy(), self.files["last"].to_numpy(), position, last)
        if ranges is not None:
            hour = self.files["hour"].to_numpy()
            mask &= overlap(hour, hour + _HOUR_MS - 1, ranges[0], ranges[1] - 1)
        return [File(row.path, row.rows) for row in self.files[mask].itertuples()]

    def reader(self) -> Reader:
        """Return the reader of its pieces."""
        position, rows, tick = (self.segments[name].to_numpy(np.int64) for name in ("position", "rows", "before_tick"))
        without_rejects = frozenset(self.segments["ordinal"][self.segments["quarantined"] == 0].tolist())
        return Reader(self.stream, self.before, position, position + rows, tick, without_rejects)

    def _ends(self, column: str) -> tuple[NDArray[Any], NDArray[Any]]:
        return self.segments[f"min_{column}"].to_numpy(), self.segments[f"max_{column}"].to_numpy()

    def _selection(self, mask: NDArray[np.bool_]) -> Log:
        return Log(self.stream, self.before, self.segments[mask], self.files)


def with_ids(tuples: pa.RecordBatch, ids: pa.Array) -> pa.RecordBatch:
    """Return the tuples with one of these ids."""
    return tuples.filter(pc.is_in(tuples.column("id"), ids))


def _segment(row: Any) -> Segment:
    ingested = None if pd.isna(row.ingested_ms) else int(row.ingested_ms)
    mtime_ns = None if pd.isna(row.mtime_ns) else int(row.mtime_ns)
    location = row.path, row.first_row, row.rows, row.ordinal, row.position, ingested
    return Segment(*location, size=row.size, mtime_ns=mtime_ns)


def ordinals_of(paths: Sequence[str]) -> list[int | None]:
    """Return the ordinals of the segments in files of history, by the files' names; None for compacted files."""
    names = [_SEGMENT_FILE.search(path) for path in paths]
    return [None if name is None else int(name[1]) for name in names]


def _files(history: Location, segments: pd.DataFrame) -> pd.DataFrame:
    """Return the files of history that may hold tuples of these segments.

    The name of a file that the stream wrote gives its segment; a compacted file's statistics give its positions.
    """
    layout = Layout(history.parent)
    table = Tables(layout).open(history.name)
    require_files(layout, history.name, table)  # before other processes read them, whose errors are long
    actions = pa.table(table.get_add_actions(flatten=True)).to_pandas()
    if actions.empty:
        return pd.DataFrame(columns=["path", "rows", "first", "last", "hour"])
    date, hour = (actions[f"partition.{name}"] for name in PARTITIONS)
    ordinal = pd.to_numeric(actions["path"].str.extract(_SEGMENT_FILE, expand=False))
    segment = segments.set_index("ordinal")[["position", "rows"]].reindex(ordinal)
    first = segment["position"].to_numpy(np.float64)
    last = first + segment["rows"].to_numpy() - 1
    compacted = ordinal.isna().to_numpy()
    files = pd.DataFrame(
        {
            "path": [history / unquote(path) for path in actions["path"]],
            "rows": actions["num_records"].astype(np.int64),
            "first": np.where(compacted, actions["min.position"].fillna(0), first),
            "last": np.where(compacted, actions["max.position"].fillna(np.inf), last),
            "hour": date.to_numpy().astype("datetime64[ms]").astype(np.int64) + hour.astype(np.int64) * _HOUR_MS,
        }
    )
    return files.dropna()  # a file of no segment here holds nothing that arrived before the cut-off
