"""Expected coverage: steady, in bursts, with long delays, and as bytes."""

from __future__ import annotations

import numpy as np
import pytest

from tailrace.disorder.arrival_curves import NO_CURVES
from tailrace.disorder.expected_coverage import ExpectedCoverage
from tailrace.disorder.tick_statistics import TickRows
from tailrace.windows.sliding import Sliding

SEED, TICK = 37, 100
WINDOWS = Sliding(500, 100)


def ticks_of(event: np.ndarray, delay: np.ndarray) -> tuple[np.ndarray, np.ndarray, TickRows]:
    """t_max before and after each tick, and the counts by tick and pane."""
    tick, pane = (event + delay) // TICK, event // 100 * 100
    number, at = np.unique(tick, return_inverse=True)
    order = np.argsort(at, kind="stable")
    t_max = np.maximum.accumulate([event[at == index].max() for index in range(len(number))])
    rows = TickRows(at[order], {"pane": pane[order], "count": np.ones(len(event), np.int64)})
    return np.append(t_max[0], t_max[:-1]), t_max, rows


def stream(seconds: int, mean_ms: float) -> tuple[np.ndarray, np.ndarray]:
    rng, event = np.random.default_rng(SEED), 10**9 + np.arange(seconds * 500) * 2
    return event, np.where(rng.random(len(event)) < 0.5, rng.exponential(mean_ms, len(event)), 0).astype(np.int64)


def last_coverage(expected: ExpectedCoverage, event: np.ndarray, delay: np.ndarray, age: int = 98) -> float:
    before, t_max, rows = ticks_of(event, delay)
    curves = expected.advance(WINDOWS, before, t_max, rows)
    return float(curves.at(np.array([len(t_max) - 1]), np.array([age]))[0][0])


def true_coverage(event: np.ndarray, delay: np.ndarray, age: int = 98) -> float:
    """The share of a window's tuples that had arrived by so many ms after its end, and two for the tick's own end."""
    end = event // 500 * 500 + 500
    return float(np.mean(event + delay < end + age + 2))


def test_it_is_the_share_that_had_arrived() -> None:
    event, delay = stream(30, 200)
    found = last_coverage(ExpectedCoverage.empty(), event, delay)
    assert found == pytest.approx(true_coverage(event, delay), abs=0.01)


def test_a_burst_and_a_tuple_that_is_years_late_do_not_move_it() -> None:
    event, delay = stream(30, 200)
    calm = last_coverage(ExpectedCoverage.empty(), event, delay)
    burst = np.where((event // 1000) % 10 == 3, 10 * delay + 1_000, delay)
    burst[5_000] = 20 * 365 * 86_400_000
    event[6_000] -= 20 * 365 * 86_400_000
    assert last_coverage(ExpectedCoverage.empty(), event[:14_000], burst[:14_000]) == pytest.approx(calm, abs=0.02)


def test_where_delays_are_far_longer_than_windows_the_reference_windows_lie_apart() -> None:
    event, delay = stream(240, 20_000)
    expected = ExpectedCoverage.empty()
    found = last_coverage(expected, event, delay, 10_000)
    assert expected.stride > 1
    assert len(expected.number) <= 96
    assert found == pytest.approx(true_coverage(event, delay, 10_000), abs=0.05)


def test_nothing_is_expected_before_eight_windows_are_complete() -> None:
    event, delay = stream(4, 200)
    before, t_max, rows = ticks_of(event, delay)
    curves = ExpectedCoverage.empty().advance(WINDOWS, before, t_max, rows)
    assert (curves.coverage == 1).all()


def test_it_does_not_depend_on_how_ticks_are_cut_and_survives_as_bytes() -> None:
    event, delay = stream(20, 300)
    before, t_max, rows = ticks_of(event, delay)
    whole = ExpectedCoverage.empty()
    curves = whole.advance(WINDOWS, before, t_max, rows)
    part, ages = ExpectedCoverage.empty(), np.array([0, 98, 600])
    for first, end in ((0, 1), (1, 70), (70, 71), (71, len(t_max))):
        part = ExpectedCoverage.unpack(*part.pack())[0]
        found = part.advance(WINDOWS, before[first:end], t_max[first:end], rows.between(first, end))
        for index in range(end - first):
            for mine, theirs in zip(
                found.at(np.full(3, index), ages), curves.at(np.full(3, first + index), ages), strict=True
            ):
                assert mine.tolist() == theirs.tolist()


def test_at_the_end_of_a_run_nothing_is_expected_to_be_missing() -> None:
    event, delay = stream(10, 300)
    before, t_max, rows = ticks_of(event, delay)
    curves = ExpectedCoverage.empty().advance(WINDOWS, before, t_max, rows).until(len(t_max))
    index = np.array([len(t_max) - 1, len(t_max)])
    assert (curves.at(index, np.zeros(2, np.int64))[0] < 1).tolist() == [True, False]
    assert NO_CURVES.at(index, index)[0].tolist() == [1.0, 1.0]
