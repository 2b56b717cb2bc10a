"""Experiment on calibration by two time scales: K and its interval over many seeds, beside the K* of the same law."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Protocol

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from bench.progress import Row
from bench.topk.calibrated import MemoryHistory
from bench.topk.delayed_rankings import Delayed, Tuples, arrived, needed_ms
from bench.topk.paper_query import ACCURACY, SIZE_MS, SLIDE_MS, TICK_MS, K
from tailrace.calibration.recent_winners import RecentWinners
from tailrace.calibration.two_scales.estimate import Estimate
from tailrace.disorder.cache_duration import CacheDuration
from tailrace.kind.column_use import of_side
from tailrace.topk.kind import TopK
from tailrace.topk.section import TopKSection
from tailrace.windows.sliding import Sliding

KIND = TopK(
    windows=Sliding(SIZE_MS, SLIDE_MS),
    uses=of_side(TopKSection(k=K, score="value").uses(), 0),
    key_type=pa.string(),
    id_type=pa.int64(),
    k=K,
    descending=True,
)
POLICY = CacheDuration(policy="cache_duration", accuracy=ACCURACY)
LAWS = {
    "τ = 6 s": Delayed(6_000),
    "correlation 0.1": Delayed(6_000, correlation=0.1),
    "correlation 0.2": Delayed(6_000, correlation=0.2),
    "correlation 0.36": Delayed(6_000, correlation=0.36),
    "trend": Delayed(6_000, trend=0.5),
    "correlation 0.2, trend": Delayed(6_000, correlation=0.2, trend=0.5),
    "bursts": Delayed(6_000, bursts=0.8),
    "5 keys": Delayed(6_000, keys=5),
    "5 keys, unlike delays": Delayed(6_000, keys=5, keys_apart=0.5),
    "τ = 1 s": Delayed(1_000),
    "τ = 3 s": Delayed(3_000),
    "τ = 10 s": Delayed(10_000),
    "τ = 30 s": Delayed(30_000),
}
WINDOWS, MANY, CLOSE = 1_500, 40_000, 0.01
JUMP = Delayed(1_000), Delayed(10_000)
_SETTLED_MS = 60_000


class KnownTruth(Protocol):
    """What is known of a law: K* in ms, and the accuracy of any wait."""

    @property
    def k_ms(self) -> int: ...

    def hit_rate(self, k_ms: int) -> float: ...


@dataclass(frozen=True)
class Truth:
    """K* of a law (ms), and the hit rate of any wait, over `MANY` windows."""

    needed: NDArray[np.int64]

    @staticmethod
    def compute(law: Delayed, windows: int = MANY, seed: int = 0) -> Truth:
        return Truth(needed_ms(law.tuples(windows, np.random.default_rng([seed, 1])), law.keys))

    @property
    def k_ms(self) -> int:
        return max(int(np.quantile(self.needed, ACCURACY, method="higher")) + 1, 0)

    def hit_rate(self, k_ms: int) -> float:
        return int(np.searchsorted(self.needed, k_ms)) / len(self.needed)


def estimates(law: Delayed, seeds: Iterable[int], k_ms: int, windows: int = WINDOWS) -> Iterator[Estimate]:
    """Calibrate a stream of `windows` windows for each seed; the estimates hold the accuracy with a given K, too."""
    for seed in seeds:
        yield estimate(arrived(law.tuples(windows, np.random.default_rng(seed)), keys=law.keys), k_ms)


def jumps(seeds: Iterable[int], k_ms: int, windows: int = WINDOWS) -> Iterator[Estimate]:
    """Calibrate once the delays have jumped from 1 to 10 s, and n windows after the jump have settled."""
    recent_ms = SIZE_MS + (POLICY.queries - 1) * SLIDE_MS
    for seed in seeds:
        rng = np.random.default_rng(seed)
        before, after = JUMP[0].tuples(windows, rng), JUMP[1].tuples(POLICY.queries * 2, rng)
        at_ms = (windows + SIZE_MS // SLIDE_MS - 1) * SLIDE_MS
        parts = zip(before, after._replace(event=after.event + at_ms), strict=True)
        tuples = Tuples(*(np.concatenate(each) for each in parts))
        yield estimate(arrived(tuples, at_ms + recent_ms + _SETTLED_MS), k_ms)


def estimate(tuples: pa.RecordBatch, k_ms: int) -> Estimate:
    """Estimate K from tuples in order of arrival, as `tailrace calibrate` does."""
    return RecentWinners(KIND, MemoryHistory(tuples), POLICY, TICK_MS).estimate(k_ms).estimate


def row(name: str, truth: KnownTruth, estimates: Iterable[Estimate]) -> Row:
    """Return the figures of a law's estimates.

    `± true` is the standard error that the estimates report for the accuracy with K*, divided by the deviation of these
    accuracies.
    """
    each = list(estimates)
    k, low, high = (np.array([getattr(one, side) for one in each]) for side in ("k_ms", "lower_ms", "upper_ms"))
    is_narrow = np.array([one.is_narrow for one in each])
    index = [int(np.searchsorted(one.durations, truth.k_ms)) for one in each]
    accuracy, error = (
        np.array([getattr(one, side)[at] for one, at in zip(each, index, strict=True)])
        for side in ("accuracy", "error")
    )
    covers = (low <= truth.k_ms) & (truth.k_ms <= high)
    hits = np.array([truth.hit_rate(k_ms) for k_ms in k.tolist()])
    figures: Row = {"law": name, "seeds": len(each), "K* s": truth.k_ms / 1000}
    figures |= {f"{100 * share:g} % of K s": float(np.quantile(k, share)) / 1000 for share in (0.05, 0.95)}
    figures |= {
        "hit(K) ≥ ε − 0.01": float((hits >= ACCURACY - CLOSE).mean()),
        "interval holds K*": float(covers.mean()),
    }
    figures |= {
        "not enough history": float((~is_narrow).mean()),
        "holds, or says so": float((covers | ~is_narrow).mean()),
    }
    return figures | {"± true": float(error.mean() / accuracy.std())}
