"""A stream in memory whose K is calibrated while it goes on, as Airflow's DAG does it, at points of arrival time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tailrace.bench.simulate import Stream
from tailrace.bench.topk.runs import policy_of
from tailrace.calibration.measure import Accuracies, EventTimeCourse
from tailrace.calibration.recent_windows import NotReady, RecentTuples, RecentWindows
from tailrace.calibration.search import Interval, Search
from tailrace.kinds import build
from tailrace.query.query import Query


@dataclass(frozen=True)
class Calibration:
    """One step of the search.

    Attributes
    ----------
    at_ms, tick : int
        When, and the newest tick that was complete then: what was found holds from the next one on.
    interval, found : Interval
        What was searched, and what follows.
    """

    at_ms: int
    tick: int
    interval: Interval
    found: Interval
    measured: Accuracies

    @property
    def accuracy(self) -> tuple[float, float] | None:
        """That of the K found, and its standard error; None where it was not measured."""
        at = np.flatnonzero(self.measured.durations == self.found.k_ms)
        return (float(self.measured.accuracy[at[0]]), float(self.measured.error[at[0]])) if len(at) else None


def calibrations(query: Query, stream: Stream, every_ms: int, doubling: bool = True) -> Iterator[Calibration]:
    """Calibrate the query at each multiple of a length of arrival time, from when there is enough to go by.

    Parameters
    ----------
    query : Query
        With policy `cache_duration`.
    doubling : bool
        Whether the search may double its interval; else it is the paper's rule.
    """
    search = search_of(query, doubling)
    interval, arrival = search.start(policy_of(query).k_ms), stream.arrival_ms
    for at in range(int(arrival[0] // every_ms + 1) * every_ms, int(arrival[-1]), every_ms):
        came = int(np.searchsorted(arrival, at))
        try:
            one = newest(query, stream, came).measure(search.durations(interval))
        except NotReady:
            continue
        found = search.next(interval, one.measured.accuracy, one.measured.error, one.longest_ms)
        yield Calibration(at, at // query.tick_ms - 1, interval, found, one.measured)
        interval = found


def search_of(query: Query, doubling: bool = True) -> Search:
    """The search that the query's policy declares."""
    return Search.of(policy_of(query), query.tick_ms, doubling)


def stamped(query: Query, steps: Iterable[Calibration]) -> list[tuple[str, int]]:
    """What calibrations found, as settings, and the tick after which each is in force."""
    return [(policy_of(query).waiting(one.found.k_ms).model_dump_json(), one.tick) for one in steps]


def newest(query: Query, stream: Stream, came: int | None = None) -> RecentWindows:
    """The newest windows of the first tuples of a stream; by default of all."""
    kind = build(query, *(stream.tuples.schema.field(name).type for name in ("key", "id")))
    policy = policy_of(query)
    return RecentWindows(kind, _Came(stream.tuples.slice(0, came)), policy.queries, policy.accuracy)


@dataclass(frozen=True)
class _Came:
    """What has come, in order of arrival; it holds no repeats."""

    tuples: pa.RecordBatch

    def _column(self, name: str) -> NDArray[np.int64]:
        return np.asarray(self.tuples.column(name))

    def span(self) -> tuple[int, int]:
        event = self._column("event_time")
        return int(event.min()), int(event.max())

    def since(self, low: int) -> RecentTuples:
        event, tick = self._column("event_time"), self._column("tick")
        newer = event >= low
        course = EventTimeCourse.of(tick[newer], event[newer])
        first = int(np.searchsorted(tick, course.tick[0]))
        delays = course.delays(tick[first:], event[first:])
        return RecentTuples(low, self.tuples.filter(pa.array(newer)), course, delays)
