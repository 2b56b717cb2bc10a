"""The sample for calibrations of aggregates and pairs: the newest complete windows, with their losses at any wait."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np

from tailrace.answers.model import ShortestWait
from tailrace.calibration.direct import DirectCalibration, ReadSample
from tailrace.calibration.measure import settling_ms
from tailrace.calibration.recent_pairs import exact_pairs
from tailrace.calibration.recent_windows import History, RecentTuples, RecentWindows
from tailrace.calibration.two_scales.choice import Priced
from tailrace.calibration.two_scales.estimate import Estimate
from tailrace.calibration.two_scales.loss_sample import LossSample
from tailrace.calibration.two_scales.measured import MeasuredLosses
from tailrace.calibration.two_scales.measured_fit import MeasuredFit
from tailrace.disorder.cache_duration import CacheDuration
from tailrace.ground.arrow.columns import Floats, Ints
from tailrace.kind.column_errors import promised_columns
from tailrace.kind.errors_by_wait import ErrorsByWait, MeasuredByWait
from tailrace.kind.protocol import WindowedKind
from tailrace.query.calibration_section import CostSection

_BEFORE = 5
"""Windows to read first, in multiples of n: a change of the delays only shows if many windows precede it."""


@dataclass(frozen=True, eq=False)
class RecentLosses:
    """The losses of the tuples from the event time `low` on, and the last t_max (`last`); in ms.

    Attributes
    ----------
    by_column : dict of LossSample
        By column of answers; samples only differ in their steps.
    """

    by_column: dict[str | None, LossSample]
    low: int
    last: int

    @property
    def any(self) -> LossSample:
        return next(iter(self.by_column.values()))


class _MeasuredCalibration(DirectCalibration[RecentLosses]):
    """Estimates the slack K (allowed lateness) from the losses of the newest complete windows.

    If several columns of answers must be accurate, the most demanding one determines K.
    """

    def __init__(
        self,
        kind: WindowedKind,
        policy: CacheDuration,
        unit_ms: int,
        tick_ms: int,
        prices: CostSection | None = None,
    ) -> None:
        super().__init__(kind, policy, _BEFORE * policy.queries, prices)
        self.scales = MeasuredLosses(kind.windows.size_ms, unit_ms, policy.queries, policy.accuracy, max(tick_ms, 1))

    def whole_sample(self) -> LossSample:
        """Read the whole history, and return the losses of its windows, except for windows at its ends."""
        low, _ = self._start(0, 1 << 40)
        sample = self._read(low).sample
        longest = int(sample.any.delay.max(initial=0))
        return self._complete(replace(sample, low=int(sample.any.event.min())), longest).any

    def _complete(self, sample: RecentLosses, settling: int) -> RecentLosses:
        end = sample.any.ends
        mask = (self._window_start(end) >= sample.low) & (end <= sample.last - settling)
        return replace(sample, by_column={name: each.where(mask) for name, each in sample.by_column.items()})

    def _ends(self, sample: RecentLosses) -> Ints:
        return sample.any.ends

    def _settling(self, complete: RecentLosses, newest: int) -> int:
        sample, allowed = complete.any, 1 - self.policy.accuracy
        inside = (sample.event >= newest - self.kind.windows.size_ms) & (sample.event < int(sample.ends[-1]))
        of_losses = (MeasuredFit(each, self.scales.unit_ms).wait(allowed / 10) for each in complete.by_column.values())
        return max(settling_ms(sample.delay[inside], 0, self.policy.accuracy), *of_losses)

    def _delays(self, complete: RecentLosses) -> tuple[Ints, Ints]:
        return complete.any.event, complete.any.delay

    def _estimate(self, complete: RecentLosses, k_ms: int | None, priced: Priced) -> Estimate:
        estimates = [
            replace(self.scales.estimate(sample, self.policy.durations, k_ms, priced), column=name)
            for name, sample in complete.by_column.items()
        ]
        longest = max(estimates, key=lambda estimate: estimate.k_ms)
        return longest if len(estimates) > 1 else replace(longest, column=None)

    @abstractmethod
    def _window_start(self, end: Ints) -> Ints:
        """Return the event time from which all tuples must have been read for the windows with these ends."""


class AggregateLosses(_MeasuredCalibration):
    """Estimates K of the aggregates of one stream's windows."""

    def __init__(
        self,
        kind: WindowedKind,
        history: History,
        policy: CacheDuration,
        tick_ms: int,
        prices: CostSection | None = None,
    ) -> None:
        super().__init__(kind, policy, kind.windows.slide_ms, tick_ms, prices)
        self.history = history

    def _start(self, settling: int, count: int) -> tuple[int, bool]:
        return RecentWindows(self.kind, self.history, self.policy.queries, self.policy.accuracy).start(settling, count)

    def _is_readable(self, low: int) -> bool:
        return self.history.is_readable(low)

    def _read(self, low: int) -> ReadSample[RecentLosses]:
        recent = self.history.since(low)
        assert isinstance(self.kind, MeasuredByWait)
        errors = self.kind.errors_by_wait(recent.tuples, recent.course.before)
        event, delay = _delays([recent])
        by_column = {
            name: _losses(errors, errors.by_column[name or ""], event, delay)
            for name in promised_columns(self.kind, self.policy.of)
        }
        return ReadSample(RecentLosses(by_column, recent.low, recent.course.last), int(recent.delays.max(initial=0)))

    def _window_start(self, end: Ints) -> Ints:
        return np.asarray(self.kind.windows.start(end))


class PairLosses(_MeasuredCalibration):
    """Estimates K of a join's pairs, over stretches of event time as long as the join's reach (`RecentPairs`).

    Parameters
    ----------
    sides : tuple of History
        The left and the right stream.
    shortest_wait : callable
        Returns the shortest K with which the stream finds each pair, see `PairAnswers.shortest_wait`.
    """

    windows_in_words = "stretches of time with pairs"

    def __init__(
        self,
        kind: WindowedKind,
        sides: tuple[History, ...],
        policy: CacheDuration,
        tick_ms: int,
        shortest_wait: ShortestWait,
    ) -> None:
        super().__init__(kind, policy, kind.windows.size_ms, tick_ms)
        self.sides, self._shortest_wait = sides, shortest_wait

    def _start(self, settling: int, count: int) -> tuple[int, bool]:
        size, spans = self.kind.windows.size_ms, [side.span() for side in self.sides]
        low = ((min(high for _, high in spans) - settling) // size - count - 1) * size
        return low, low <= min(earliest for earliest, _ in spans)

    def _is_readable(self, low: int) -> bool:
        return all(side.is_readable(low) for side in self.sides)

    def _read(self, low: int) -> ReadSample[RecentLosses]:
        recent = [side.since(low) for side in self.sides]
        end, need, came = exact_pairs(self.kind, recent, self._shortest_wait)
        ends, window, pairs = np.unique(end, return_inverse=True, return_counts=True)
        is_lost, (event, delay) = need > 0, _delays(recent)
        sample = LossSample(
            event, delay, ends, window[is_lost], need[is_lost], came[is_lost], (1 / pairs)[window[is_lost]]
        )
        longest = max(int(side.delays.max(initial=0)) for side in recent)
        return ReadSample(RecentLosses({None: sample}, low, min(side.course.last for side in recent)), longest)

    def _window_start(self, end: Ints) -> Ints:
        return np.asarray(end - 2 * self.kind.windows.size_ms)  # a pair's tuples are at most a reach apart


def _delays(recent: Sequence[RecentTuples]) -> tuple[Ints, Ints]:
    """Return the event times of all tuples, and their delays: t_max before each tuple less its event time, ≥ 0."""
    event = [np.asarray(side.tuples.column("event_time")) for side in recent]
    before = [side.course.before(np.asarray(side.tuples.column("tick"))) for side in recent]
    return np.concatenate(event), np.maximum(np.concatenate(before) - np.concatenate(event), 0)


def _losses(errors: ErrorsByWait, error: Floats, event: Ints, delay: Ints) -> LossSample:
    """Return the losses of windows, in which all keys count equally, from the errors of their answers."""
    ends, window = np.unique(errors.end, return_inverse=True)
    is_first = np.diff(errors.answer, prepend=-1) != 0
    answers = np.bincount(window[is_first], minlength=len(ends))
    capped = np.minimum(error, 1.0)
    before = np.where(is_first, 1.0, np.concatenate([[1.0], capped[:-1]]))
    chosen = (errors.need > 0) & (before != capped)
    window, need = window[chosen], errors.need[chosen]
    share = (before - capped)[chosen] / answers[window]
    return LossSample(event, delay, ends, window, need, ends[window] + need - 1, share)
