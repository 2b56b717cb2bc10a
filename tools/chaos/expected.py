"""What must be in a workload's tables after it has ended, by the oracles of the tests, which share no code with it."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Callable, Hashable, Mapping, Sequence
from functools import cache
from typing import NamedTuple

from pyproj import Geod
from workloads import BEST, K_MS, NEAR_M, PLACES, REACH_MS, SIZE_MS, SLIDE_MS, TICK_MS, Row

from kit.oracles import rankings
from kit.oracles.oracle import Passed, Settings, Tuple, batch, distinct, stream
from kit.oracles.pair_oracle import LEFT, RIGHT, Item, Join, Log, first_arrivals, joined, placed

Rows = list[tuple[Hashable, Hashable]]
"""The identity of each row, and its content."""

SETTINGS = Settings(SIZE_MS, SLIDE_MS, TICK_MS, "sum", ("k_slack", K_MS))
_GEOD = Geod(ellps="WGS84")


class Expected(NamedTuple):
    """The rows of the stream's answers, of the late tuples it registers, and of the answers when all is corrected."""

    streamed: Rows
    late: Rows
    corrected: Rows


@cache
def _are_near(a: str, b: str) -> bool:
    return bool(_GEOD.inv(*PLACES[int(a)], *PLACES[int(b)])[2] <= NEAR_M)


JOINS: Mapping[str, Join] = {
    "emd_join": Join(REACH_MS, TICK_MS, K_MS, deduplicate=True, alike=lambda a, b: (a == "c") == (b == "c")),
    "spatial_join": Join(REACH_MS, TICK_MS, K_MS, deduplicate=True, alike=_are_near),
}


def expected_aggregate(rows: Sequence[Row], passed: Sequence[Passed]) -> Expected:
    """The sums of sliding windows."""
    tuples = _tuples(rows)
    outcome = stream(tuples, SETTINGS, passed=passed)
    streamed = [(window, (one.value, one.tuples, one.k_ms, one.as_of)) for window, one in outcome.answers.items()]
    truth = batch(tuples, SETTINGS, passed=passed)
    corrected = [(window, (one.value, one.tuples)) for window, one in truth.items()]
    return Expected(streamed, list(outcome.late.items()), corrected)


def expected_topk(rows: Sequence[Row], passed: Sequence[Passed]) -> Expected:
    """The rankings of sliding windows, a row for each rank."""
    tuples = _tuples(rows)
    outcome = stream(tuples, SETTINGS, passed=passed)
    streamed = [
        ((*window, rank), (*one, outcome.answers[window].as_of))
        for window, ranking in rankings.streamed(outcome, tuples, SETTINGS, BEST).items()
        for rank, one in enumerate(ranking, 1)
    ]
    contents = rankings.contents(distinct(tuples, TICK_MS, passed=passed), SETTINGS)
    corrected = [
        ((*window, rank), one)
        for window, ranking in rankings.ranked(contents, BEST).items()
        for rank, one in enumerate(ranking, 1)
    ]
    return Expected(streamed, list(outcome.late.items()), corrected)


def expected_join(kind: str, log: Log) -> Expected:
    """The pairs of a join."""
    join = JOINS[kind]
    outcome = joined(log, join)
    streamed = [((left, right), tuple(pair[:4])) for left, right, pair in outcome.answered]
    late = [((side, name), frontier) for side, name, frontier in outcome.registered]
    return Expected(streamed, late, [(pair, ()) for pair in _true_pairs(log, join)])


def _true_pairs(log: Log, join: Join) -> list[tuple[str, str]]:
    """All pairs of what arrived, repeats left out: `pair_oracle.batch_pairs`, for streams that are long."""
    arrived = placed(log, join.tick)[0]
    left, right = (_first(arrived, side, join) for side in (LEFT, RIGHT))
    right.sort(key=lambda item: item.event_time)
    times = [item.event_time for item in right]
    pairs = []
    for one in left:
        near = slice(bisect_left(times, one.event_time - join.reach), bisect_right(times, one.event_time + join.reach))
        pairs += [(one.id, other.id) for other in right[near] if join.alike(one.value, other.value)]
    return pairs


def _first(arrived: Sequence, side: int, join: Join) -> list[Item]:
    return first_arrivals((one for one in arrived if one.side == side), join.tick)


def _tuples(rows: Sequence[Row]) -> list[Tuple]:
    accepted = [row for row in rows if row.value is not None]
    return [Tuple(row.event_time, row.arrival_time, row.id, row.key, float(row.value or 0)) for row in accepted]


WINDOWED: Mapping[str, Callable[[Sequence[Row], Sequence[Passed]], Expected]] = {
    "aggregate": expected_aggregate,
    "topk": expected_topk,
}
