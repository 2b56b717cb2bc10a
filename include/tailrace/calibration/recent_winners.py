"""The sample for calibrations of rankings: the newest complete windows with their winners, and all tuples' delays."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from tailrace.calibration.direct import OLDER, DirectCalibration, ReadSample
from tailrace.calibration.measure import settling_ms
from tailrace.calibration.recent_windows import History, RecentTuples, RecentWindows
from tailrace.calibration.two_scales.choice import Priced
from tailrace.calibration.two_scales.estimate import Estimate
from tailrace.calibration.two_scales.estimator import TwoScales
from tailrace.calibration.two_scales.sample import DelaySample, Winners, weights_by_key
from tailrace.disorder.cache_duration import CacheDuration
from tailrace.ground.arrow.columns import Ints, unify
from tailrace.ground.arrow.matching import find
from tailrace.kind.capabilities import ComposedOfTuples
from tailrace.kind.protocol import WindowedKind
from tailrace.query.calibration_section import CostSection


@dataclass(frozen=True, eq=False)
class RecentSample:
    """The sample of the tuples from the event time `low` on, and the last t_max (`last`); in ms."""

    sample: DelaySample
    low: int
    last: int


class RecentWinners(DirectCalibration[RecentSample]):
    """Estimates the slack K (allowed lateness) of rankings from the newest complete windows of history.

    Parameters
    ----------
    tick_ms : int
        The length of a tick; 0 if each tuple is its own tick.
    older : int
        The number of windows whose winners determine the hazard ratio; fewer if they have too many rows.
    """

    def __init__(
        self,
        kind: WindowedKind,
        history: History,
        policy: CacheDuration,
        tick_ms: int,
        older: int = OLDER,
        prices: CostSection | None = None,
    ) -> None:
        super().__init__(kind, policy, older, prices)
        assert isinstance(kind, ComposedOfTuples)
        self.history = history
        self.scales = TwoScales(kind.windows, policy.queries, policy.accuracy, max(tick_ms, 1))

    def _start(self, settling: int, count: int) -> tuple[int, bool]:
        return RecentWindows(self.kind, self.history, self.policy.queries, self.policy.accuracy).start(settling, count)

    def _is_readable(self, low: int) -> bool:
        return self.history.is_readable(low)

    def _read(self, low: int) -> ReadSample[RecentSample]:
        recent = self.history.since(low)
        sample = RecentSample(sample_of(self.kind, recent), recent.low, recent.course.last)
        return ReadSample(sample, int(recent.delays.max(initial=0)))

    def _complete(self, sample: RecentSample, settling: int) -> RecentSample:
        """Return the sample with only the winners of complete windows."""
        delays = sample.sample
        end = delays.winners.end
        is_complete = (self.kind.windows.start(end) >= sample.low) & (end <= sample.last - settling)
        winners = delays.winners.where(is_complete)
        return RecentSample(DelaySample(delays.event, delays.delay, delays.weight, winners), sample.low, sample.last)

    def _ends(self, sample: RecentSample) -> Ints:
        return np.unique(sample.sample.winners.end)

    def _settling(self, complete: RecentSample, newest: int) -> int:
        """Return the age at which windows are complete, by the tuples of the newest ones, and by all winners."""
        sample = complete.sample
        inside = (sample.event >= int(self.kind.windows.start(newest))) & (sample.event < int(sample.winners.end[-1]))
        needed = sample.delay[sample.winners.row] - sample.age
        of_winners = np.quantile(needed, 1 - (1 - self.policy.accuracy) / 10, method="lower")
        return max(settling_ms(sample.delay[inside], 0, self.policy.accuracy), int(of_winners))

    def _estimate(self, complete: RecentSample, k_ms: int | None, priced: Priced) -> Estimate:
        return self.scales.estimate(complete.sample, self.policy.durations, k_ms, priced)

    def _delays(self, complete: RecentSample) -> tuple[Ints, Ints]:
        return complete.sample.event, complete.sample.delay


def sample_of(kind: WindowedKind, recent: RecentTuples) -> DelaySample:
    """Find the winners among tuples, and the delays of all of them."""
    assert isinstance(kind, ComposedOfTuples)
    tuples, windows = recent.tuples, kind.windows
    event, tick = (np.asarray(tuples.column(name)) for name in ("event_time", "tick"))
    delay = np.maximum(recent.course.before(tick) - event, 0)
    _, (key,) = unify([tuples.column("key")])
    exact = pa.Table.from_batches([kind.evaluate(tuples)])
    _, (id_, winning) = unify([tuples.column("id"), kind.tuple_ids(exact)])
    row = find(winning, id_)
    end = np.asarray(kind.answers.horizon(exact))
    share = weights_by_key(key[row], end)
    order = np.argsort(end, kind="stable")
    winners = Winners(row[order], end[order], share[order])
    return DelaySample(event, delay, weights_by_key(key, windows.block(event)), winners)
