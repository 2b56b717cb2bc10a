"""How accurate the answers would have been under each of some cache durations, measured over the past.

With K = d a window holds what had arrived when t_max ≥ end + d: the very operator of the stream gives that, stepped
once over the past with a frontier of constant K. `evaluate` gives the exact answers, `quality` compares the two.
Repeats are removed beforehand, from both: however long one waits, that takes none of them back.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tailrace.disorder.clock import Frontier
from tailrace.ground.time_limits import BEFORE_ALL
from tailrace.kinds import Kind
from tailrace.windows.sliding import Sliding

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]


@dataclass(frozen=True)
class EventTimeCourse:
    """How the largest event time went over n ticks.

    Attributes
    ----------
    tick, t_max : ndarray, shape (n,)
        Strictly increasing; never falling, in ms, as each tick leaves it.
    """

    tick: Ints
    t_max: Ints

    @staticmethod
    def of(tick: Ints, event_ms: Ints) -> EventTimeCourse:
        """That of tuples, in any order."""
        order = np.argsort(tick, kind="stable")
        tick, event_ms = tick[order], event_ms[order]
        first = np.flatnonzero(np.diff(tick, prepend=tick[:1] - 1))
        largest = np.maximum.reduceat(event_ms, first) if len(first) else event_ms
        return EventTimeCourse(tick[first], np.maximum.accumulate(largest))

    @property
    def last(self) -> int:
        """t_max in the end; `BEFORE_ALL` without a tuple."""
        return int(self.t_max[-1]) if len(self.t_max) else BEFORE_ALL

    def delays(self, tick: Ints, event_ms: Ints) -> Ints:
        """The delay of tuples, none of which came before the first tick: t_max − event_time."""
        return np.asarray(self.t_max[np.searchsorted(self.tick, tick, side="right") - 1] - event_ms)

    def under(self, k_ms: int) -> Frontier:
        """The frontier with a constant K."""
        constant = np.full(len(self.tick), k_ms, np.int64)
        return Frontier(
            BEFORE_ALL, self.tick, self.tick, self.t_max, constant, self.t_max - k_ms, np.ones_like(constant)
        )


@dataclass(frozen=True)
class Accuracies:
    """The accuracy of m durations over n windows.

    Attributes
    ----------
    durations : ndarray, shape (m,)
    ends : ndarray, shape (n,)
        The windows, by their ends, in order.
    quality : ndarray, shape (m, n)
        How near the answers of each window came to the exact ones, in [0, 1].
    """

    windows: Sliding
    durations: Ints
    ends: Ints
    quality: Floats

    @property
    def accuracy(self) -> Floats:
        """The mean over the windows, shape (m,)."""
        return np.asarray(self.quality.mean(axis=1))

    @property
    def error(self) -> Floats:
        """The standard error of `accuracy`, shape (m,).

        Windows that overlap hold the same tuples: they count as so many as fit side by side into what they cover.
        """
        size = self.windows.size_ms
        covered = np.minimum(np.diff(self.ends), size).sum() + size
        return np.asarray(self.quality.std(axis=1, ddof=1) / np.sqrt(covered / size))


def settling_ms(delays: Ints, longest_wait_ms: int, accuracy: float) -> int:
    """How long after its end a window counts as whole, in ms.

    What is still to come for it is missing from its exact answer, and it seems more accurate than it is. So it is left
    alone for the longest wait that is measured, and until all tuples were there but for a tenth of the share that the
    accuracy leaves: by the delays of those that arrived, shape (n,), n ≥ 1, in ms.
    """
    return max(longest_wait_ms, int(np.quantile(delays, 1 - (1 - accuracy) / 10, method="higher")))


def measure(
    kind: Kind, parts: Iterable[pa.RecordBatch], course: EventTimeCourse, durations: Ints, exact: pa.Table, n: int
) -> Accuracies:
    """The accuracies over the last n windows among the exact answers.

    Parameters
    ----------
    parts : record batches
        What the windows hold, in the end, in any order: as `Kind.combine` takes it, with a tick of `course` each. The
        tuples of a key are in one part.
    durations : ndarray, shape (m,)
    exact : Table
        The exact answers of at least n windows, all of which t_max has passed by the longest duration.
    """
    ends = np.unique(exact.column("window_end").to_numpy())[-n:]
    near: list[list[pa.RecordBatch]] = [[] for _ in durations]
    for part in parts:
        partials = pa.Table.from_batches([kind.combine(part)])
        for duration, found in zip(durations.tolist(), near, strict=True):
            found.append(_among(kind.step(kind.start(), partials, course.under(duration))[1], ends))
    true = _among(exact, ends)
    found_by = (pa.Table.from_batches(found, kind.answer) for found in near)
    quality = np.array([_by_window(kind.errors(found, true), ends) for found in found_by])
    return Accuracies(kind.windows, durations, ends, quality)


def _among(answers: Any, ends: Ints) -> Any:
    """Those of some windows."""
    return answers.filter(pc.is_in(answers.column("window_end"), pa.array(ends)))


def _by_window(errors: pa.RecordBatch, ends: Ints) -> Floats:
    """The quality of each of the windows, shape (n,): 1 − the mean error of its keys, as `Kind.quality` has it."""
    place = np.searchsorted(ends, np.asarray(errors.column("window_end")))
    error = np.minimum(np.asarray(errors.column("error")), 1.0)
    return np.asarray(1 - np.bincount(place, error) / np.bincount(place))
