"""Experiment on the CPU time of a whole calibration: by two time scales, and by the search over the same history."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial

import numpy as np

from bench.progress import Echo, Row
from bench.rounds import interleaved, median_ratio, medians
from bench.topk import measured_kinds
from bench.topk.calibrated import MemoryHistory
from bench.topk.delayed_rankings import Delayed, arrived
from bench.topk.paper_query import ACCURACY, TICK_MS
from bench.topk.two_scales import KIND, POLICY
from tailrace.calibration.recent_losses import PairLosses
from tailrace.calibration.recent_pairs import RecentPairs
from tailrace.calibration.recent_windows import RecentWindows
from tailrace.calibration.recent_winners import RecentWinners
from tailrace.calibration.search import SlackSearch

ROUNDS, WINDOWS, STEPS = 5, 1_500, 20
"""Rounds that count, windows of history, and the steps after which a search ends that has not settled."""

TAU_MS = 6_000
_CPU = "CPU s"
_AGAIN = "two_scales again"

Sample = RecentWindows | RecentPairs


def costs(echo: Echo, rounds: int = ROUNDS, windows: int = WINDOWS) -> list[Row]:
    """Return the CPU seconds of each way to calibrate rankings, sums and pairs, and their ratios to `two_scales`.

    The ways take turns. `two_scales` takes part twice, which shows how far ratios are chance.
    """
    rows = list[Row]()
    for answers, ways in _contestants(windows).items():
        passes = interleaved(ways, rounds, _CPU, echo)
        for way, results in passes.items():
            ratios = [row[_CPU] / other[_CPU] for row, other in zip(results, passes["two_scales"], strict=True)]
            row: Row = {"calibration": answers, "way": way} | medians(results)
            row["× two_scales"] = median_ratio(results, passes["two_scales"], _CPU)
            rows.append(row | {"least": min(ratios), "greatest": max(ratios)})
    return rows


def steps_of_search(sample: Callable[[], Sample]) -> int:
    """Search K from `initial` on until the interval stays, at most `STEPS` steps, and return the number of steps.

    Each step reads history anew, as calibrations do.
    """
    search = SlackSearch.from_policy(POLICY, TICK_MS)
    interval = search.start(POLICY.k_ms)
    for step in range(1, STEPS + 1):
        measurement = sample().measure(search.durations(interval))
        measured = measurement.measured
        following = search.next(interval, measured.accuracy, measured.error, measurement.longest_ms)
        if following == interval:
            return step
        interval = following
    return STEPS


def _contestants(windows: int) -> dict[str, dict[str, Callable[[], Row]]]:
    """Return the ways to calibrate, by what is calibrated."""
    history = MemoryHistory(arrived(Delayed(TAU_MS).tuples(windows, np.random.default_rng(0))))

    def ranked(n: int) -> Sample:
        return RecentWindows(KIND, history, n, ACCURACY)

    rankings = _ways(lambda: RecentWinners(KIND, history, POLICY, TICK_MS).estimate(None), ranked, windows - 100)
    ways = {"rankings": rankings}
    for name in ("sum", "pairs"):
        ways[name] = _ways_of_losses(name, windows)
    return ways


def _ways_of_losses(name: str, windows: int) -> dict[str, Callable[[], Row]]:
    calibration = measured_kinds.LAWS[name].calibration(windows, np.random.default_rng(0))

    def sample(n: int) -> Sample:
        if isinstance(calibration, PairLosses):
            shortest = measured_kinds.shortest_wait()
            return RecentPairs(calibration.kind, calibration.sides, n, ACCURACY, shortest)
        return RecentWindows(calibration.kind, calibration.history, n, ACCURACY)

    return _ways(lambda: calibration.estimate(None), sample, calibration.older)


def _ways(directly: Callable[[], object], sample: Callable[[int], Sample], many: int) -> dict[str, Callable[[], Row]]:
    """Return the direct way, twice, and searches over `queries` windows and over as many as the direct way reads."""

    def direct() -> Row:
        return _timed(lambda: _one_pass(directly))

    def search(n: int) -> Row:
        return _timed(lambda: steps_of_search(lambda: sample(n)))

    ways: dict[str, Callable[[], Row]] = {"two_scales": direct, _AGAIN: direct}
    return ways | {f"search, {n:,} windows": partial(search, n) for n in (POLICY.queries, many)}


def _one_pass(call: Callable[[], object]) -> int:
    call()
    return 1


def _timed(call: Callable[[], int]) -> Row:
    """Return the number of steps of a calibration, and the CPU seconds of all threads for them."""
    before = time.process_time()
    steps = call()
    return {"steps": steps, _CPU: time.process_time() - before}
