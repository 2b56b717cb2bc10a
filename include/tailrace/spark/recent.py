"""The newest windows of a query's past, as far as they are whole, read for a calibration. No Spark."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tailrace.calibration.measure import Course, Measured, measure, settling
from tailrace.duration import format_duration
from tailrace.errors import Problem, Refused, refuse
from tailrace.partition.by_key import task_of
from tailrace.spark import repeats
from tailrace.spark.log import ORDER, Log
from tailrace.stage import Stage

MOST_ROWS = 5_000_000
"""So many rows fit into this process, with room to spare."""

_ROWS_AT_ONCE = 250_000
_FAR = 1 << 60


class NotReady(Refused):
    """There is too little of the past yet: the same may be right later."""


@dataclass(frozen=True)
class Found:
    """What was measured, and the longest delay (ms) of the tuples that were read for it."""

    measured: Measured
    longest_ms: int


@dataclass(frozen=True)
class _Part:
    """What came from some point on.

    Attributes
    ----------
    tuples : RecordBatch
        All tuples with an event time of `low` or later, without repeats of each other.
    course : Course
        Of t_max, from `low` on: what is older does not move it.
    delays : ndarray, shape (n,)
        Of all tuples that came in the course, however old.
    """

    low: int
    tuples: pa.RecordBatch
    course: Course
    delays: NDArray[np.int64]


class Recent:
    """The newest n windows of a log, whatever is measured over them.

    Parameters
    ----------
    accuracy : float
        That is to be kept: which windows count as whole depends on it.
    most_rows : int
        More are refused.
    """

    def __init__(self, stage: Stage, log: Log, n: int, accuracy: float, most_rows: int = MOST_ROWS) -> None:
        self.stage, self.log, self.n, self.accuracy, self.most_rows = stage, log, n, accuracy, most_rows
        self._part: _Part | None = None

    def measure(self, durations: NDArray[np.int64]) -> Found:
        """The accuracy of each of the durations (ms, in ascending order).

        Raises
        ------
        Refused
            When there are fewer than n whole windows (`NotReady`), or they hold too many rows.
        """
        kind, longest_wait = self.stage.kind, int(durations[-1])
        wait, many = longest_wait, self.n
        while True:
            low, is_all = self._from(wait, many)
            part = self._read(low)
            settled = settling(part.delays, longest_wait, self.accuracy) if len(part.delays) else longest_wait
            exact = pa.Table.from_batches([kind.evaluate(part.tuples)])
            end, until = exact.column("window_end").to_numpy(), part.course.last - settled
            exact = exact.filter(pa.array((end >= part.low + kind.windows.size_ms) & (end <= until)))
            there = len(np.unique(exact.column("window_end").to_numpy()))
            if there >= self.n:
                break
            if is_all:
                raise self._too_few(there, settled)
            wait, many = settled, many * 2 if wait == settled else many
        measured = measure(kind, _by_key(part.tuples), part.course, durations, exact, self.n)
        return Found(measured, int(part.delays.max()))

    def _from(self, wait: int, many: int) -> tuple[int, bool]:
        """Where the first of so many windows starts that end so long before the newest tuple; whether that is all."""
        segments, windows = self.log.segments, self.stage.kind.windows
        newest = int(segments["max_event"].max())
        last = (newest - wait - windows.size_ms) // windows.slide_ms
        low = (last - many + 1) * windows.slide_ms
        return low, low <= int(segments["min_event"].min())

    def _read(self, low: int) -> _Part:
        if self._part is not None and self._part.low <= low:
            return self._part
        log = self.log.of_events((np.array([low]), np.array([_FAR])))
        pieces, reader = log.pieces(), log.reader()
        rows = sum(piece.rows for piece in pieces)
        if rows > self.most_rows:
            wrong = f"the newest {self.n} windows lie within {rows:,} rows, more than the {self.most_rows:,} it reads"
            raise refuse("calibration", wrong, "fewer windows, by a smaller `queries` beside disorder.policy")
        columns = list(dict.fromkeys(["event_time", "key", *self.stage.columns.values, *ORDER]))
        came = pa.concat_batches([reader.read(piece, columns) for piece in pieces])
        tick, event = (np.asarray(came.column(name)) for name in ("tick", "event_time"))
        newer = event >= low
        course, tuples = Course.of(tick[newer], event[newer]), came.filter(pa.array(newer))
        since = tick >= course.tick[0] if newer.any() else newer
        firsts = repeats.firsts(tuples, came.filter(pa.array(~newer)).select(ORDER))
        delays = course.delays(tick[since], event[since])
        self._part = _Part(low, tuples.filter(pa.array(firsts)), course, delays)
        return self._part

    def _too_few(self, there: int, settled: int) -> NotReady:
        waits = format_duration(settled)
        wrong = f"it takes {self.n} windows that are {waits} old by the newest event time, and there are {there}"
        right = "to calibrate when the stream has come further; or fewer windows, by `queries` beside disorder.policy"
        return NotReady([Problem("calibration", wrong, right)])


def _by_key(tuples: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """The tuples in parts, those of a key in one of them: the operator takes more room than they do."""
    parts = -(-tuples.num_rows // _ROWS_AT_ONCE)
    part = task_of(tuples.column("key"), parts)
    return (tuples.filter(pa.array(part == number)) for number in range(parts))
