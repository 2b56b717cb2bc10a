"""The newest windows of a query's past, as far as they are whole: what a calibration measures."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tailrace.calibration.measure import Accuracies, EventTimeCourse, measure, settling_ms
from tailrace.ground.duration import format_duration
from tailrace.ground.errors import Problem, Refused
from tailrace.kinds import Kind
from tailrace.partition.by_key import task_of

_ROWS_AT_ONCE = 250_000


class NotReady(Refused):
    """There is too little of the past yet: the same may be right later."""


@dataclass(frozen=True)
class RecentTuples:
    """What came from some point on.

    Attributes
    ----------
    low : int
        That point of event time, in ms.
    tuples : RecordBatch
        All tuples with an event time of `low` or later, without repeats of each other, as a kind's `combine` takes
        them.
    course : Course
        Of t_max, from `low` on: what is older does not move it.
    delays : ndarray, shape (n,)
        Of all tuples that came in the course, however old; in ms.
    """

    low: int
    tuples: pa.RecordBatch
    course: EventTimeCourse
    delays: NDArray[np.int64]


class History(Protocol):
    """All that has come, which holds a tuple at least."""

    def span(self) -> tuple[int, int]:
        """The earliest and the newest event time, in ms."""

    def since(self, low: int) -> RecentTuples: ...


@dataclass(frozen=True)
class Measurement:
    """What was measured, and the longest delay (ms) of the tuples that were read for it."""

    measured: Accuracies
    longest_ms: int


class RecentWindows:
    """The newest n windows, whatever is measured over them.

    Parameters
    ----------
    accuracy : float
        That is to be kept: which windows count as whole depends on it.
    """

    def __init__(self, kind: Kind, past: History, n: int, accuracy: float) -> None:
        self.kind, self.past, self.n, self.accuracy = kind, past, n, accuracy
        self._part: RecentTuples | None = None

    def measure(self, durations: NDArray[np.int64]) -> Measurement:
        """The accuracy of each of the durations (ms, in ascending order).

        Raises
        ------
        NotReady
            When there are fewer than n whole windows.
        Refused
            When the past refuses to be read.
        """
        kind, longest_wait = self.kind, int(durations[-1])
        wait, many = longest_wait, self.n
        while True:
            low, is_all = self._from(wait, many)
            part = self._since(low)
            settled = settling_ms(part.delays, longest_wait, self.accuracy) if len(part.delays) else longest_wait
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
        return Measurement(measured, int(part.delays.max()))

    def _from(self, wait: int, many: int) -> tuple[int, bool]:
        """Where the first of so many windows starts that end so long before the newest tuple; whether that is all."""
        windows, (earliest, newest) = self.kind.windows, self.past.span()
        last = (newest - wait - windows.size_ms) // windows.slide_ms
        low = (last - many + 1) * windows.slide_ms
        return low, low <= earliest

    def _since(self, low: int) -> RecentTuples:
        if self._part is None or self._part.low > low:
            self._part = self.past.since(low)
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
