"""Sets of sessions that a correction recomputes, given by runs of tuples."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tailrace.answers.model import Content
from tailrace.ground.arrow.columns import Ints, unify
from tailrace.ground.arrow.matching import Rows
from tailrace.ground.arrow.ranges import Ranges, merge_ranges
from tailrace.ground.time_limits import BEFORE_ALL, EARLIEST_MS, LATEST_MS
from tailrace.windows.sessions import Sessions, runs_of, touching


@dataclass(frozen=True)
class AffectedSessions:
    """All sessions of a key in some runs of its tuples, or of all keys in a range of event time.

    A run is a maximal set of the key's tuples without a gap, including repeats of ids. So all versions of an answer lie
    in one run, with the right sessions. Until the runs are found in history, `is_whole` is false, and rows are parts of
    runs.

    Attributes
    ----------
    rows : Table or None
        `key`, `first` and `last`, the first and last event time of each run in ms; None for all keys.
    event_times : pair of int
        The event times [low, high) in ms of the answers of all keys.
    frontier : int
        F, as far as known: sessions that end at or before it have closed.
    """

    sessions: Sessions
    rows: pa.Table | None
    event_times: tuple[int, int] = (BEFORE_ALL, BEFORE_ALL)
    frontier: int = BEFORE_ALL
    is_whole: bool = False

    @staticmethod
    def of_times(
        sessions: Sessions, key: pa.Array | pa.ChunkedArray, first: Ints, last: Ints | None = None
    ) -> AffectedSessions:
        """Return the sessions of keys with tuples at some times, or from a first to a last time."""
        last = first if last is None else last
        return AffectedSessions(sessions, pa.table({"key": key, "first": first, "last": last}))._joined()

    @staticmethod
    def within(sessions: Sessions, event_times: tuple[int, int], frontier: int) -> AffectedSessions:
        """Return the sessions of all keys that overlap the event times [low, high)."""
        low, high = max(event_times[0], EARLIEST_MS), min(event_times[1], LATEST_MS)
        is_whole = (low, high) == (EARLIEST_MS, LATEST_MS)
        return AffectedSessions(sessions, None, (low, high), frontier, is_whole)

    def __len__(self) -> int:
        return int(self.table.num_rows)

    def __or__(self, other: AffectedSessions) -> AffectedSessions:
        return replace(self, rows=pa.concat_tables([self.table, other.table]))._joined()

    def ranges(self) -> Ranges:
        if self.rows is None:
            low, high = self.event_times
            some = slice(0, int(low < high))
            return np.array([low])[some], np.array([high])[some]
        first, last = self.times
        order = np.argsort(first, kind="stable")
        return merge_ranges(first[order], np.maximum.accumulate(last[order]) + self.sessions.gap_ms + 1)

    @property
    def table(self) -> pa.Table:
        """The runs of some keys; there must be rows."""
        assert self.rows is not None
        return self.rows

    @property
    def keys(self) -> pa.ChunkedArray:
        """The key of each run."""
        return self.table.column("key")

    @property
    def times(self) -> tuple[Ints, Ints]:
        """The first and the last event time of each run."""
        return self.table.column("first").to_numpy(), self.table.column("last").to_numpy()

    def contains(self, answers: Rows) -> NDArray[np.bool_]:
        """Test which answers begin in one of the runs."""
        return self.hold(answers, "window_start")

    def hold(self, rows: Rows, time: str) -> NDArray[np.bool_]:
        """Test which rows with `key` and a column of event times (ms) lie in one of the runs."""
        if self.rows is None:
            return np.ones(rows.num_rows, bool)
        inside = np.zeros(rows.num_rows, bool)
        inside[self.touched_by(rows, np.asarray(rows.column(time)))[1]] = True
        return inside

    def run_of(self, rows: Rows, time: str) -> Ints:
        """Return the run of each row with `key` and a column of event times (ms); each row must be in a run."""
        run, row = self.touched_by(rows, np.asarray(rows.column(time)))
        return run[np.argsort(row)]

    def touched_by(self, rows: Rows, time: Ints, reach_ms: int = 0) -> tuple[Ints, Ints]:
        """Return the pairs of a run and a row whose time is at most `reach_ms` away from it."""
        key, of_row = unify([self.keys, rows.column("key")])[1]
        return touching(key, *self.times, of_row, time, reach_ms)

    def parts(self, content: Content) -> list[Content]:
        if self.rows is None:
            return [content]
        return [tuple(each.filter(pa.array(self.hold(each, "event_time"))) for each in content)]

    def where(self, mask: NDArray[np.bool_]) -> AffectedSessions:
        """Select some runs."""
        return replace(self, rows=self.table.filter(pa.array(mask)))

    def _joined(self) -> AffectedSessions:
        """Join parts of the same run, and remove repeated ones."""
        keys, (key,) = unify([self.keys])
        runs = runs_of(key, *self.times, self.sessions.reach_ms)
        columns = {"key": keys.take(pa.array(runs.key)), "first": runs.first, "last": runs.last}
        return replace(self, rows=pa.table(columns))
