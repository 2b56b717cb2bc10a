"""Repeated calibration of the slack K (allowed lateness) of a stream in memory, as Airflow's DAG does it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from bench.simulate import RecordedStream
from bench.topk.paper_query import policy_of
from tailrace.calibration.measure import Accuracies, EventTimeCourse
from tailrace.calibration.recent_windows import NotReady, RecentTuples, RecentWindows
from tailrace.calibration.recent_winners import RecentWinners
from tailrace.calibration.search import Bracket, SlackSearch
from tailrace.calibration.two_scales.estimate import Estimate
from tailrace.disorder.policy import SlackPolicy
from tailrace.kind.protocol import windowed
from tailrace.kinds import build
from tailrace.query.query import Query


@dataclass(frozen=True)
class CalibrationStep:
    """One calibration: a step of the interval search.

    Attributes
    ----------
    at_ms, tick : int
        The arrival time of the calibration, and the newest complete tick; the result holds from the next tick on.
    interval, next_interval : Bracket
        The interval searched, and the next one, with the new K.
    """

    at_ms: int
    tick: int
    interval: Bracket
    next_interval: Bracket
    measured: Accuracies

    @property
    def accuracy(self) -> tuple[float, float] | None:
        """The accuracy of the new K and its standard error; None where it was not measured."""
        index = np.flatnonzero(self.measured.durations == self.next_interval.k_ms)
        return (float(self.measured.accuracy[index[0]]), float(self.measured.error[index[0]])) if len(index) else None


def calibrations(
    query: Query, stream: RecordedStream, every_ms: int, doubling: bool = True
) -> Iterator[CalibrationStep]:
    """Calibrate the query at each multiple of `every_ms` of arrival time, once there are enough windows.

    Parameters
    ----------
    query : Query
        With policy `cache_duration`.
    doubling : bool
        True: the search may double its interval; False: the paper's rule.
    """
    search = search_of(query, doubling)
    interval, arrival = search.start(policy_of(query).k_ms), stream.arrival_ms
    for at_ms in range(int(arrival[0] // every_ms + 1) * every_ms, int(arrival[-1]), every_ms):
        count = int(np.searchsorted(arrival, at_ms))
        try:
            measurement = newest(query, stream, count).measure(search.durations(interval))
        except NotReady:
            continue
        next_interval = search.next(
            interval, measurement.measured.accuracy, measurement.measured.error, measurement.longest_ms
        )
        yield CalibrationStep(at_ms, at_ms // query.tick_ms - 1, interval, next_interval, measurement.measured)
        interval = next_interval


def estimates(query: Query, stream: RecordedStream, every_ms: int) -> Iterator[tuple[int, Estimate]]:
    """Estimate K by two time scales at each multiple of `every_ms` of arrival time, once there are enough windows.

    Each estimate comes with the newest complete tick; it holds from the next tick on.
    """
    arrival = stream.arrival_ms
    for at_ms in range(int(arrival[0] // every_ms + 1) * every_ms, int(arrival[-1]), every_ms):
        windows = newest(query, stream, int(np.searchsorted(arrival, at_ms)))
        calibration = RecentWinners(windows.kind, windows.history, policy_of(query), query.tick_ms)
        with suppress(NotReady):
            yield at_ms // query.tick_ms - 1, calibration.estimate(None).estimate


def search_of(query: Query, doubling: bool = True) -> SlackSearch:
    """Return the search that the query's policy declares."""
    return SlackSearch.from_policy(policy_of(query), query.tick_ms, doubling)


def stamped(query: Query, steps: Iterable[CalibrationStep]) -> list[tuple[SlackPolicy, int]]:
    """Return the policy that each calibration proposes, with the tick after which it is in force."""
    return [(policy_of(query).waiting(step.next_interval.k_ms), step.tick) for step in steps]


def newest(query: Query, stream: RecordedStream, count: int | None = None) -> RecentWindows:
    """Return the newest windows among the first `count` tuples of a stream, by default among all."""
    kind = build(query, [stream.types])
    policy = policy_of(query)
    return RecentWindows(windowed(kind), MemoryHistory(stream.tuples.slice(0, count)), policy.queries, policy.accuracy)


@dataclass(frozen=True)
class MemoryHistory:
    """History of tuples in memory, in order of arrival and without repeats."""

    tuples: pa.RecordBatch

    def _column(self, name: str) -> NDArray[np.int64]:
        return np.asarray(self.tuples.column(name))

    def span(self) -> tuple[int, int]:
        event = self._column("event_time")
        return int(event.min()), int(event.max())

    def is_readable(self, low: int) -> bool:
        return True

    def since(self, low: int) -> RecentTuples:
        event, tick = self._column("event_time"), self._column("tick")
        is_newer = event >= low
        course = EventTimeCourse.from_tuples(tick[is_newer], event[is_newer])
        first = int(np.searchsorted(tick, course.tick[0]))
        delays = course.delays(tick[first:], event[first:])
        return RecentTuples(low, self.tuples.filter(pa.array(is_newer)), course, delays)
