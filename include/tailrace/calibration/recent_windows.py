"""Measures accuracies over the newest complete windows of a query's history."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tailrace.calibration.measure import Accuracies, EventTimeCourse, measure, settling_ms
from tailrace.ground.duration import format_duration
from tailrace.ground.errors import Problem, Refused
from tailrace.kind.protocol import WindowedKind
from tailrace.partition.by_key import task_of

ROWS_AT_ONCE = 250_000


class NotReady(Refused):
    """Raised when there is too little history for a calibration yet.

    The stream has to run on: the same calibration may succeed later.
    """


@dataclass(frozen=True)
class RecentTuples:
    """The tuples from an event time on.

    Attributes
    ----------
    low : int
        That event time, in ms.
    tuples : RecordBatch
        All tuples with an event time of `low` or later, without repeats among them, for `combined`.
    course : EventTimeCourse
        The course of t_max from `low` on, ignoring older tuples.
    delays : ndarray, shape (n,)
        The delays of all tuples that came within the course, even those with older event times; in ms.
    """

    low: int
    tuples: pa.RecordBatch
    course: EventTimeCourse
    delays: NDArray[np.int64]


class History(Protocol):
    """All tuples of a query so far, at least one."""

    def span(self) -> tuple[int, int]:
        """Return the earliest and the newest event time, in ms."""

    def is_readable(self, low: int) -> bool:
        """Test whether the tuples from an event time on (ms) are few enough to be read at once."""

    def since(self, low: int) -> RecentTuples: ...


@dataclass(frozen=True)
class Measurement:
    """The accuracies measured, and the longest delay (ms) of the tuples that were read for them."""

    measured: Accuracies
    longest_ms: int


class RecentWindows:
    """Measures the accuracy of durations over the newest n complete windows.

    Parameters
    ----------
    accuracy : float
        The accuracy to keep, which also determines when a window counts as complete.
    of : sequence of str, optional
        The columns of answers that must be accurate, see `promised_columns`.
    """

    def __init__(
        self, kind: WindowedKind, history: History, n: int, accuracy: float, of: Sequence[str] | None = None
    ) -> None:
        self.kind, self.history, self.n, self.accuracy, self.of = kind, history, n, accuracy, of
        self._recent: RecentTuples | None = None

    def measure(self, durations: NDArray[np.int64]) -> Measurement:
        """Measure the accuracy of each of the durations (ms, in ascending order).

        Raises
        ------
        NotReady
            When there are fewer than n complete windows.
        Refused
            When history is refused, such as for too many rows.
        """
        kind, longest_wait = self.kind, int(durations[-1])
        wait, count = longest_wait, self.n
        while True:
            low, is_all = self.start(wait, count)
            recent = self._tuples_since(low)
            settling = settling_ms(recent.delays, longest_wait, self.accuracy) if len(recent.delays) else longest_wait
            exact = pa.Table.from_batches([kind.evaluate(recent.tuples)])
            end, until = kind.answers.horizon(exact), recent.course.last - settling
            exact = exact.filter(pa.array((kind.windows.start(end) >= recent.low) & (end <= until)))
            complete = len(np.unique(kind.answers.horizon(exact)))
            if complete >= self.n:
                break
            if is_all:
                raise not_ready("windows", self.n, complete, settling)
            wait, count = settling, count * 2 if wait == settling else count
        parts = _parts_by_key(recent.tuples)
        measured = measure(kind, parts, recent.course, durations, exact, self.n, recent.delays, self.of)
        return Measurement(measured, int(recent.delays.max()))

    def start(self, wait: int, count: int) -> tuple[int, bool]:
        """Return the start of the newest `count` windows that end at least `wait` ms before the newest event time.

        Also return whether history has no older tuple.
        """
        windows, (earliest, newest) = self.kind.windows, self.history.span()
        last = windows.number(windows.end_until(newest - wait))
        low = windows.start(windows.end_of(last - count + 1))
        return low, low <= earliest

    def _tuples_since(self, low: int) -> RecentTuples:
        if self._recent is None or self._recent.low > low:
            self._recent = self.history.since(low)
        return self._recent


def not_ready(what: str, needed: int, complete: int, settling_ms: int) -> NotReady:
    """Build the refusal of a calibration with too few complete windows, or other measured units."""
    age = format_duration(settling_ms)
    fault = f"it takes {needed} {what} that are {age} old by the newest event time, and there are {complete}"
    remedy = f"to calibrate when the stream has come further; or fewer {what}, by `queries` beside disorder.policy"
    return NotReady([Problem("calibration", fault, remedy)])


def _parts_by_key(tuples: pa.RecordBatch) -> Iterator[pa.RecordBatch]:
    """Split tuples by key into parts, as the operator takes more memory than the tuples do."""
    parts = -(-tuples.num_rows // ROWS_AT_ONCE)
    part = task_of(tuples.column("key"), parts)
    return (tuples.filter(pa.array(part == number)) for number in range(parts))
