"""What the stream has read, and which of it has to be read again to know the content of some windows.

The content stands in segments whose event times reach into the windows; another tuple with the id of one of them, in
segments whose ids reach as far.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import unquote

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from deltalake import DeltaTable
from numpy.typing import NDArray

from tailrace.engine.stage import Stage
from tailrace.ground.ranges import Ranges, in_ranges, overlap
from tailrace.sources.history import PARTITIONS
from tailrace.sources.segments import Segment
from tailrace.storage.tables import Tables, in_ms

ORDER = ["id", "tick", "arrival_time", "position"]
"""What tells which of the tuples with the same id arrived first."""

_SEGMENTS = ["ordinal", "position", "path", "first_row", "rows", "ingested_ms", "before_tick", "before_end"]
_SEGMENTS += ["size", "mtime_ns", "accepted", "quarantined", "min_event", "max_event", "min_id", "max_id"]
_WRITTEN = re.compile(r"part-(\d{8,})\.parquet\Z")  # by the stream, for one segment; others are compacted
_HOUR_MS = 3_600_000


class File(NamedTuple):
    """A file of history."""

    path: str
    rows: int


Piece = Segment | File
"""What is read at once."""


@dataclass(frozen=True)
class Reader:
    """Reads the tuples of some segments, of n, that arrived before a point of arrival time.

    Attributes
    ----------
    position, end, before_tick : ndarray, shape (n,)
        Of each segment its place in the log, where the next one begins, and the tick that it found when it came: that
        one had come in time, too.
    whole : frozenset of int
        The ordinals of those in which nothing was rejected: there no value decides what is a tuple.
    """

    stage: Stage
    before: int
    position: NDArray[np.int64]
    end: NDArray[np.int64]
    before_tick: NDArray[np.int64]
    whole: frozenset[int]

    def read(self, piece: Piece, columns: Sequence[str]) -> pa.RecordBatch:
        """These columns of the tuples in a piece."""
        if isinstance(piece, Segment):
            bare = piece.ordinal in self.whole and not self.stage.columns.values.keys() & set(columns)
            stage = _without_values(self.stage) if bare else self.stage
            return self.arrived(stage.content(piece).tuples).select(columns)
        wanted = list(dict.fromkeys([*columns, "position", "tick", "end"]))
        return self.arrived(single_batch(in_ms(pq.read_table(piece.path, columns=wanted, partitioning=None)))).select(
            columns
        )

    def split(self, piece: Piece, ranges: Ranges, columns: Sequence[str]) -> tuple[pa.RecordBatch, pa.RecordBatch]:
        """The tuples with an event time in one of the ranges, with these columns; and the others, with `ORDER`."""
        tuples = self.read(piece, list(dict.fromkeys(["event_time", *columns, *ORDER])))
        mine = pa.array(in_ranges(ranges, np.asarray(tuples.column("event_time"))))
        return tuples.filter(mine).select(columns), tuples.select(ORDER).filter(pc.invert(mine))

    def arrived(self, tuples: pa.RecordBatch) -> pa.RecordBatch:
        """The tuples that arrived in time, with their ticks as the query saw them.

        Those of no segment that is known here are left out: history may be a batch ahead of what is known of it.
        """
        position, tick, end = (np.asarray(tuples.column(name)) for name in ("position", "tick", "end"))
        at = np.searchsorted(self.position, position, side="right") - 1
        known = (at >= 0) & (position < np.append(self.end, 0)[at])
        tuples, at, tick, end = tuples.filter(pa.array(known)), at[known], tick[known], end[known]
        tick = pa.array(np.maximum(tick, self.before_tick[at]))
        tuples = tuples.set_column(tuples.schema.get_field_index("tick"), "tick", tick)
        return tuples.filter(pa.array(end <= self.before))


@dataclass(frozen=True)
class Log:
    """Segments of the stream's log with tuples that may have arrived before a point of arrival time, in order.

    Attributes
    ----------
    segments : DataFrame
        Of the table of that name.
    files : DataFrame or None
        History's, where the stream writes one: `path`, `rows`, the positions `first` to `last` in the log that its
        tuples lie between, and the event time `hour` (ms) from which on they all lie in one hour.
    """

    stage: Stage
    before: int
    segments: pd.DataFrame
    files: pd.DataFrame | None = None

    @staticmethod
    def read(stage: Stage, tables: Tables, before: int) -> Log:
        """As the tables tell it."""
        return Log.of(stage, before, tables.read("segments", _SEGMENTS).to_pandas())

    @staticmethod
    def of(stage: Stage, before: int, segments: pd.DataFrame) -> Log:
        """Those of the table's rows; tuples that found the end of a later tick arrived no earlier."""
        some = segments[(segments["before_end"] <= before) & (segments["accepted"] > 0)].sort_values("position")
        return Log(stage, before, some, None if stage.history is None else _files(stage.history, some))

    def of_events(self, ranges: Ranges) -> Log:
        """Those that may hold tuples with such event times."""
        return self._those(overlap(*self._ends("event"), ranges[0], ranges[1] - 1))

    def of_ids(self, low: NDArray[Any], high: NDArray[Any]) -> Log:
        """Those that may hold an id in one of the ranges [low, high]."""
        return self._those(overlap(*self._ends("id"), low, high))

    def of_ids_in(self, other: Log) -> Log:
        """Those that may hold an id that another part of the log holds."""
        return self.of_ids(*other._ends("id"))

    def pieces(self, ranges: Ranges | None = None) -> list[Piece]:
        """What there is to be read, for tuples with such event times or for all."""
        if self.files is None:
            return [_segment(row) for row in self.segments.itertuples()]
        position = self.segments["position"].to_numpy()
        last = position + self.segments["rows"].to_numpy() - 1
        mine = overlap(self.files["first"].to_numpy(), self.files["last"].to_numpy(), position, last)
        if ranges is not None:
            hour = self.files["hour"].to_numpy()
            mine &= overlap(hour, hour + _HOUR_MS - 1, ranges[0], ranges[1] - 1)
        return [File(row.path, row.rows) for row in self.files[mine].itertuples()]

    def reader(self) -> Reader:
        """What reads its pieces."""
        position, rows, found = (self.segments[name].to_numpy(np.int64) for name in ("position", "rows", "before_tick"))
        whole = frozenset(self.segments["ordinal"][self.segments["quarantined"] == 0].tolist())
        return Reader(self.stage, self.before, position, position + rows, found, whole)

    def _ends(self, of: str) -> tuple[NDArray[Any], NDArray[Any]]:
        return self.segments[f"min_{of}"].to_numpy(), self.segments[f"max_{of}"].to_numpy()

    def _those(self, mask: NDArray[np.bool_]) -> Log:
        return Log(self.stage, self.before, self.segments[mask], self.files)


def with_ids(tuples: pa.RecordBatch, ids: pa.Array) -> pa.RecordBatch:
    """The tuples with one of these ids."""
    return tuples.filter(pc.is_in(tuples.column("id"), ids))


def single_batch(table: pa.Table) -> pa.RecordBatch:
    """A table's rows as one batch."""
    batches = table.combine_chunks().to_batches()
    return batches[0] if batches else pa.RecordBatch.from_pylist([], table.schema)


def _without_values(stage: Stage) -> Stage:
    """A stage that reads what tells when a tuple happened, when it came and which it is."""
    columns = replace(stage.columns, values={})
    read = set(columns.named().values())
    return replace(stage, columns=columns, types={name: kind for name, kind in stage.types.items() if name in read})


def _segment(row: Any) -> Segment:
    ingested = None if pd.isna(row.ingested_ms) else int(row.ingested_ms)
    mtime_ns = None if pd.isna(row.mtime_ns) else int(row.mtime_ns)
    place = row.path, row.first_row, row.rows, row.ordinal, row.position, ingested
    return Segment(*place, size=row.size, mtime_ns=mtime_ns)


def _files(history: Path, segments: pd.DataFrame) -> pd.DataFrame:
    """History's files. Of one that the stream wrote the name tells the segment, of others statistics the positions."""
    actions = pa.table(DeltaTable(history).get_add_actions(flatten=True)).to_pandas()
    if actions.empty:
        return pd.DataFrame(columns=["path", "rows", "first", "last", "hour"])
    date, hour = (actions[f"partition.{name}"] for name in PARTITIONS)
    ordinal = pd.to_numeric(actions["path"].str.extract(_WRITTEN, expand=False))
    place = segments.set_index("ordinal")[["position", "rows"]].reindex(ordinal)
    first = place["position"].to_numpy(np.float64)
    last = first + place["rows"].to_numpy() - 1
    compacted = ordinal.isna().to_numpy()
    found = pd.DataFrame(
        {
            "path": [str(history / unquote(path)) for path in actions["path"]],
            "rows": actions["num_records"].astype(np.int64),
            "first": np.where(compacted, actions["min.position"].fillna(0), first),
            "last": np.where(compacted, actions["max.position"].fillna(np.inf), last),
            "hour": date.to_numpy().astype("datetime64[ms]").astype(np.int64) + hour.astype(np.int64) * _HOUR_MS,
        }
    )
    return found.dropna()  # what is of no segment here has not arrived
