"""Measures over history the accuracy that answers would have had with each of several cache durations.

With K = d a window holds the tuples that had arrived when t_max ≥ end + d. The stream's own operator computes these
answers: it is stepped once over history, with a frontier (the watermark) of constant slack K (allowed lateness).
`Kind.evaluate` computes the exact answers, and `column_errors` compares the two. Repeats are removed from both before,
as no wait would remove them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa

from tailrace.calibration.standard_error import LossOverlap, standard_errors
from tailrace.disorder.clock import Frontier
from tailrace.ground.arrow.columns import Floats, Ints
from tailrace.ground.arrow.matching import Rows
from tailrace.ground.time_limits import BEFORE_ALL
from tailrace.kind.capabilities import combined
from tailrace.kind.column_errors import column_errors, promised_columns
from tailrace.kind.protocol import WindowedKind
from tailrace.windows.windows import Windows

Horizon = Callable[[Rows], Ints]


@dataclass(frozen=True)
class EventTimeCourse:
    """The course of t_max, the largest event time so far, over n ticks.

    Attributes
    ----------
    tick, t_max : ndarray, shape (n,)
        The ticks, strictly increasing, and t_max at the end of each, in ms, never decreasing.
    """

    tick: Ints
    t_max: Ints

    @staticmethod
    def from_tuples(tick: Ints, event_ms: Ints) -> EventTimeCourse:
        """Build the course over tuples in any order, given their ticks and event times, shape (m,).

        The caller has limited event times that are too far ahead of their arrival, as for `Clock`.
        """
        order = np.argsort(tick, kind="stable")
        tick, event_ms = tick[order], event_ms[order]
        first = np.flatnonzero(np.diff(tick, prepend=tick[:1] - 1))
        largest = np.maximum.reduceat(event_ms, first) if len(first) else event_ms
        return EventTimeCourse(tick[first], np.maximum.accumulate(largest))

    @property
    def last(self) -> int:
        """t_max after the last tick; `BEFORE_ALL` without a tuple."""
        return int(self.t_max[-1]) if len(self.t_max) else BEFORE_ALL

    def delays(self, tick: Ints, event_ms: Ints) -> Ints:
        """Return the delays t_max − event_time of tuples, shape (m,), which must not have come before the first tick.

        The delay of a tuple ahead of t_max is 0.
        """
        return np.asarray(np.maximum(self.t_max[np.searchsorted(self.tick, tick, side="right") - 1] - event_ms, 0))

    def before(self, tick: Ints) -> Ints:
        """Return t_max before each tick, in ms; `BEFORE_ALL` before the first one."""
        t_max = np.append(BEFORE_ALL, self.t_max)
        return np.asarray(t_max[np.searchsorted(self.tick, tick, side="left")])

    def under(self, k_ms: int) -> Frontier:
        """Return the frontier for a constant K over the same ticks."""
        constant = np.full(len(self.tick), k_ms, np.int64)
        return Frontier(
            BEFORE_ALL, self.tick, self.tick, self.t_max, constant, self.t_max - k_ms, np.ones_like(constant)
        )


@dataclass(frozen=True, eq=False)
class Accuracies:
    """The accuracy of m durations over n windows.

    Attributes
    ----------
    durations : ndarray, shape (m,)
        In ms.
    ends : ndarray, shape (n,)
        The ends of the windows, in ms, in order.
    quality : ndarray, shape (m, n)
        The quality of each window's answers, in [0, 1]; 1 where they are exact.
    columns : tuple of str
        If several columns of answers must be accurate: the least accurate one with each duration, which `quality`
        measures. Otherwise empty.
    overlap : LossOverlap
        The losses that windows share, by the tuples' delays.
    """

    windows: Windows
    durations: Ints
    ends: Ints
    quality: Floats
    overlap: LossOverlap
    columns: tuple[str | None, ...] = ()

    @property
    def accuracy(self) -> Floats:
        """The mean over the windows, shape (m,)."""
        return np.asarray(self.quality.mean(axis=1))

    @cached_property
    def error(self) -> Floats:
        """The standard error of `accuracy`, shape (m,)."""
        return standard_errors(self.windows, self.durations, self.ends, self.quality, self.overlap)


def settling_ms(delays: Ints, longest_wait_ms: int, accuracy: float) -> int:
    """Return the time after its end at which a window counts as complete, in ms.

    A window's exact answer lacks tuples that are still to come, so the streamed one seems too accurate. A window is
    left out until the longest measured wait has passed, and until the share of its missing tuples, by the delays so
    far, is at most a tenth of the allowed one: (1 − accuracy) / 10.

    Parameters
    ----------
    delays : ndarray, shape (n,), n ≥ 1
        The delays of the tuples so far, in ms.
    """
    return max(longest_wait_ms, int(np.quantile(delays, 1 - (1 - accuracy) / 10, method="higher")))


def measure(
    kind: WindowedKind,
    parts: Iterable[pa.RecordBatch],
    course: EventTimeCourse,
    durations: Ints,
    exact: pa.Table,
    n: int,
    delays: Ints,
    of: Sequence[str] | None = None,
) -> Accuracies:
    """Measure the accuracy of durations over the last n windows among the exact answers.

    Each column of answers that must be accurate is measured separately, and the least accurate one counts.

    Parameters
    ----------
    parts : record batches
        The final content of the windows in any order, for `combined`; each tuple has a tick of `course`. All tuples of
        a key are in the same part.
    durations : ndarray, shape (m,)
        In ms.
    exact : Table
        The exact answers of at least n windows; t_max has passed each of them by the longest duration.
    delays : ndarray
        The delays of the tuples, in ms.
    of : sequence of str, optional
        The columns of answers that must be accurate, see `promised_columns`.
    """
    horizon = kind.answers.horizon
    ends = np.unique(horizon(exact))[-n:]
    answers: list[list[pa.RecordBatch]] = [[] for _ in durations]
    for part in parts:
        partials = pa.Table.from_batches([combined(kind, part)])
        for duration, batches in zip(durations.tolist(), answers, strict=True):
            batches.append(
                _of_windows(kind.step(kind.start(), (partials,), course.under(duration)).answers, horizon, ends)
            )
    expected = _of_windows(exact, horizon, ends)
    tables = (pa.Table.from_batches(batches, kind.answer) for batches in answers)
    promised = promised_columns(kind, of)
    by_column = np.array([_quality_by_window(kind, table, expected, ends, promised) for table in tables])
    least = by_column.mean(axis=2).argmin(axis=1)
    columns = tuple(promised[index] for index in least) if len(promised) > 1 else ()
    quality = by_column[np.arange(len(least)), least]
    return Accuracies(kind.windows, durations, ends, quality, LossOverlap.from_delays(delays), columns)


def _of_windows(answers: Any, horizon: Horizon, ends: Ints) -> Any:
    """Select the answers of the windows with these ends."""
    return answers.filter(pa.array(np.isin(horizon(answers), ends)))


def _quality_by_window(
    kind: WindowedKind, answers: pa.Table, exact: pa.Table, ends: Ints, columns: Sequence[str | None]
) -> Floats:
    """Return the quality of each window by columns of answers, shape (columns, n).

    It is 1 − the mean error of the window's keys, each at most 1, as in `Kind.quality`.
    """
    errors = column_errors(kind, answers, exact)
    window = np.searchsorted(ends, kind.answers.horizon(errors.identity))
    capped = (np.minimum(errors.by_column[column], 1.0) for column in columns)
    return np.array([1 - np.bincount(window, error) / np.bincount(window) for error in capped])
