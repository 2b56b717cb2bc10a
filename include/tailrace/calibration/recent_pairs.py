"""Measures the recall of durations over the newest exact pairs of a join's history.

With K = d a pair is found if its first tuple is still stored when the later one comes. That is so if both come in the
same tick, or if the first one's event time is at least t_max − d − reach, with t_max before that tick. So each exact
pair determines the shortest duration that finds it, and one pass over history measures all durations. t_max ignores
idle streams.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from tailrace.answers.model import ShortestWait
from tailrace.calibration.measure import Accuracies, settling_ms
from tailrace.calibration.recent_windows import History, Measurement, RecentTuples, not_ready
from tailrace.calibration.standard_error import LossOverlap
from tailrace.ground.arrow.columns import Floats, Ints, unify
from tailrace.kind.protocol import WindowedKind


@dataclass(frozen=True)
class _MeasuredPairs:
    """The exact pairs of the tuples from an event time on.

    Attributes
    ----------
    low, until : int
        That event time, and the least t_max of the streams; in ms.
    end, needed : ndarray, shape (n,)
        The end of each pair's stretch, and the shortest duration that finds it; in ms.
    delays : ndarray
        The delays of all tuples of both streams since then, in ms.
    """

    low: int
    until: int
    end: Ints
    needed: Ints
    delays: Ints


class RecentPairs:
    """Measures the recall of durations over the newest n stretches of event time that have pairs.

    A stretch is as long as the reach of the join; a pair belongs to the stretch of its later event time.

    Parameters
    ----------
    sides : pair of History
        The left and the right stream.
    accuracy : float
        The recall to keep, which also determines when a stretch counts as complete.
    shortest_wait : callable
        Returns the shortest slack K with which the stream finds each pair, see `PairAnswers.shortest_wait`.
    """

    def __init__(
        self, kind: WindowedKind, sides: tuple[History, ...], n: int, accuracy: float, shortest_wait: ShortestWait
    ) -> None:
        self.kind, self.sides, self.n, self.accuracy = kind, sides, n, accuracy
        self._shortest_wait = shortest_wait
        self._measured: _MeasuredPairs | None = None

    def measure(self, durations: Ints) -> Measurement:
        """Measure the recall of each of the durations (ms, in ascending order).

        Raises
        ------
        NotReady
            When there are fewer than n complete stretches.
        Refused
            When history is refused, such as for too many rows.
        """
        size, longest_wait = self.kind.windows.size_ms, int(durations[-1])
        spans = [side.span() for side in self.sides]
        earliest, newest = min(low for low, _ in spans), min(high for _, high in spans)
        wait, count = longest_wait, self.n
        while True:
            pairs = self._since(((newest - wait) // size - count - 1) * size)
            settling = settling_ms(pairs.delays, longest_wait, self.accuracy) if len(pairs.delays) else longest_wait
            complete = (pairs.end - size >= pairs.low + size) & (pairs.end <= pairs.until - settling)
            stretches = np.unique(pairs.end[complete])[-self.n :]
            if len(stretches) >= self.n:
                break
            if pairs.low <= earliest:
                raise not_ready("stretches of time with pairs", self.n, len(stretches), settling)
            wait, count = max(wait, settling), count * 2
        chosen = np.isin(pairs.end, stretches)
        quality = _recall(np.searchsorted(stretches, pairs.end[chosen]), pairs.needed[chosen], durations)
        overlap = LossOverlap.from_delays(pairs.delays)
        return Measurement(
            Accuracies(self.kind.windows, durations, stretches, quality, overlap), int(pairs.delays.max())
        )

    def _since(self, low: int) -> _MeasuredPairs:
        """Return the pairs from an event time on, or from an earlier one if these are cached."""
        if self._measured is None or self._measured.low > low:
            recent = [side.since(low) for side in self.sides]
            end, needed, _ = exact_pairs(self.kind, recent, self._shortest_wait)
            delays = np.concatenate([side.delays for side in recent])
            self._measured = _MeasuredPairs(low, min(side.course.last for side in recent), end, needed, delays)
        return self._measured


def exact_pairs(
    kind: WindowedKind, recent: Sequence[RecentTuples], shortest_wait: ShortestWait
) -> tuple[Ints, Ints, Ints]:
    """Return, for each exact pair of two streams, its stretch's end, the shortest wait that finds it, and t_max.

    All are in ms; t_max is taken before the tick of the later tuple.
    """
    size = kind.windows.size_ms
    pairs = kind.evaluate(*(side.tuples for side in recent))
    times = np.array([np.asarray(pairs.column(f"{side}_time")) for side in ("left", "right")])
    ids = (pairs.column(name) for name in ("left_id", "right_id"))
    came = np.array([_came(side, names) for side, names in zip(recent, ids, strict=True)])
    t_max = np.array([_t_max_before(recent, tick) for tick in came])
    return (times.max(axis=0) // size + 1) * size, shortest_wait(pairs, came, t_max), t_max.max(axis=0)


def _recall(stretch: Ints, needed: Ints, durations: Ints) -> Floats:
    """Return the share of the pairs of each stretch that each duration finds, shape (m, n)."""
    total = np.bincount(stretch)
    return np.array([np.bincount(stretch, needed <= duration, len(total)) / total for duration in durations])


def _came(side: RecentTuples, ids: pa.Array) -> Ints:
    """Return the tick in which the tuple with each id came; ids of tuples are unique."""
    _, (_, index) = unify([side.tuples.column("id"), ids])
    return np.asarray(side.tuples.column("tick"))[index]


def _t_max_before(recent: Sequence[RecentTuples], tick: Ints) -> Ints:
    """Return t_max before each tick, the least over the streams."""
    return np.asarray(np.min([side.course.before(tick) for side in recent], axis=0))
