"""Experiment on the direct calibration of aggregates and pairs: K and its interval over many seeds, beside K*."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from bench.topk.calibrated import MemoryHistory
from bench.topk.delayed_rankings import Delayed, arrived
from bench.topk.paper_query import ACCURACY, SIZE_MS, SLIDE_MS, TICK_MS
from bench.topk.two_scales import POLICY
from tailrace.aggregate.function_section import FunctionSection
from tailrace.aggregate.planning import aggregate_of
from tailrace.answers.model import ShortestWait
from tailrace.calibration.recent_losses import AggregateLosses, PairLosses
from tailrace.calibration.two_scales.estimate import Estimate
from tailrace.calibration.two_scales.measured_fit import MeasuredFit
from tailrace.kind.explanation import KindExplanation
from tailrace.kind.inputs import ColumnTypes
from tailrace.kind.protocol import WindowedKind
from tailrace.spatial_join.geometry.metrics import Planar
from tailrace.spatial_join.geometry_input import GeometryInput
from tailrace.spatial_join.search.condition import Condition
from tailrace.spatial_join.streams.interval_join import SpatialIntervalJoin
from tailrace.spatial_join.streams.stream_join import StreamJoin
from tailrace.windows.sliding import Sliding

REACH_MS, PLACES = 10_000, 20
WINDOWS, MANY = 1_500, 12_000
_VALUES_SD = 0.5  # of their logarithm


@dataclass(frozen=True)
class MeasuredLaw:
    """A law of delays and values, and the function of them that is answered; None: pairs of two such streams."""

    delays: Delayed
    function: str | None = "sum"

    def calibration(self, windows: int, rng: np.random.Generator) -> AggregateLosses | PairLosses:
        """Generate streams of `windows` windows of 60 s, and return their calibration."""
        if self.function is None:
            sides = tuple(self._side(windows, rng) for _ in range(2))
            kind = _pairs()
            return PairLosses(kind, sides, POLICY, TICK_MS, kind.answers.shortest_wait)
        tuples = arrived(self.delays.tuples(windows, rng))
        values = pa.array(np.exp(_VALUES_SD * np.asarray(tuples.column("score"))))
        history = MemoryHistory(tuples.append_column("value", values))
        return AggregateLosses(_aggregate(self.function), history, POLICY, TICK_MS)

    def _side(self, windows: int, rng: np.random.Generator) -> MemoryHistory:
        tuples = arrived(self.delays.tuples(windows, rng))
        places = pa.array(rng.integers(PLACES, size=tuples.num_rows).astype(np.float64))
        ids = tuples.column("id").cast(pa.string())
        tuples = tuples.set_column(tuples.schema.get_field_index("id"), "id", ids)
        return MemoryHistory(tuples.append_column("x", places).append_column("y", places))


_LAW = Delayed(6_000)
LAWS = {
    "count": MeasuredLaw(_LAW, "count"),
    "sum": MeasuredLaw(_LAW),
    "sum, correlation 0.2": MeasuredLaw(Delayed(6_000, correlation=0.2)),
    "sum, bursts": MeasuredLaw(Delayed(6_000, bursts=0.8)),
    "sum, τ = 10 s": MeasuredLaw(Delayed(10_000)),
    "pairs": MeasuredLaw(_LAW, None),
    "pairs, τ = 10 s": MeasuredLaw(Delayed(10_000), None),
}


@dataclass(frozen=True)
class MeasuredTruth:
    """K* of a law (ms), and the accuracy of any wait, measured over `MANY` windows."""

    fit: MeasuredFit

    @staticmethod
    def compute(law: MeasuredLaw, windows: int = MANY, seed: int = 0) -> MeasuredTruth:
        calibration = law.calibration(windows, np.random.default_rng([seed, 1]))
        return MeasuredTruth(MeasuredFit(calibration.whole_sample(), calibration.scales.unit_ms))

    @property
    def k_ms(self) -> int:
        return self.fit.wait(1 - ACCURACY)

    def hit_rate(self, k_ms: int) -> float:
        return 1 - float(self.fit.loss(np.array([k_ms]))[0])


def estimates(law: MeasuredLaw, seeds: Iterable[int], k_ms: int, windows: int = WINDOWS) -> Iterator[Estimate]:
    """Calibrate a stream of `windows` windows for each seed; the estimates hold the accuracy with a given K, too."""
    for seed in seeds:
        yield law.calibration(windows, np.random.default_rng(seed)).estimate(k_ms).estimate


def shortest_wait() -> ShortestWait:
    """Return the function of the shortest slack K with which a join of the laws finds a pair."""
    return _pairs().answers.shortest_wait


def _aggregate(function: str) -> WindowedKind:
    section = FunctionSection.model_validate(
        {"function": function} | ({} if function == "count" else {"column": "value"})
    )
    return aggregate_of(Sliding(SIZE_MS, SLIDE_MS), section, ColumnTypes(pa.string(), pa.int64()))


def _pairs() -> SpatialIntervalJoin:
    points = GeometryInput({"x": "x", "y": "y"}, degrees=False)
    join = StreamJoin((points, points), Condition("equals", None, Planar()))
    ways = KindExplanation("", "", "")
    return SpatialIntervalJoin(REACH_MS, join=join, explanation=ways, interval=(-REACH_MS, REACH_MS), bins=None)
