"""The experiments behind the page on calibration: K* of a law, what keys and a search are, and the cost of each way."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
import pytest

from bench.topk import calibration_costs, two_scales
from bench.topk.delayed_rankings import Delayed, Tuples, arrived, needed_ms
from bench.topk.paper_query import SIZE_MS, SLIDE_MS, TICK_MS, K
from tailrace.calibration.measure import Accuracies
from tailrace.calibration.recent_windows import Measurement
from tailrace.calibration.standard_error import LossOverlap
from tailrace.windows.sliding import Sliding


def needed_by_loop(tuples: Tuples, keys: int) -> list[int]:
    """The waits below which winners are lost, window by window and key by key."""
    rows = list(zip(*(column.tolist() for column in tuples), range(len(tuples.event)), strict=True))
    needed = []
    for end in range(SIZE_MS, (rows[-1][0] // SLIDE_MS + 1) * SLIDE_MS + 1, SLIDE_MS):
        for key in range(keys):
            members = [row for row in rows if end - SIZE_MS <= row[0] < end and row[3] % keys == key]
            for event, delay, _, _ in sorted(members, key=lambda row: -row[2])[:K]:
                begins = (event + delay) // TICK_MS
                before = [row[0] for row in rows if (row[0] + row[1]) // TICK_MS < begins]
                needed.append(max(before, default=0) - end)
    return sorted(needed)


@pytest.mark.parametrize(("keys", "apart"), [(1, 0.0), (5, 0.0), (5, 0.5)])
def test_the_waits_that_winners_need_are_those_of_a_loop(keys, apart):
    tuples = Delayed(6_000, keys=keys, keys_apart=apart).tuples(3, np.random.default_rng(keys))
    assert needed_ms(tuples, keys).tolist() == needed_by_loop(tuples, keys)


def test_keys_have_delays_of_their_own():
    tuples = Delayed(6_000, keys=5, keys_apart=0.5).tuples(2_000, np.random.default_rng(0))
    means = [tuples.delay[key::5].mean() / 6_000 for key in range(5)]
    assert means == pytest.approx(np.exp([-0.5, -0.25, 0, 0.25, 0.5]), rel=0.05)
    batch = arrived(tuples, keys=5)
    assert np.array_equal(np.asarray(batch.column("id")) % 5, np.asarray(batch.column("key").cast("int64")))
    assert arrived(tuples).column("key").null_count == len(tuples.event)


@dataclass(frozen=True)
class Exact:
    """A sample without noise, in which a wait of `least_ms` is right and a shorter one is not."""

    least_ms: int

    def measure(self, durations: np.ndarray) -> Measurement:
        quality = np.where(durations >= self.least_ms, 1.0, 0.5)[:, None] * np.ones(2)
        ends = np.array([SIZE_MS, 2 * SIZE_MS])
        windows, overlap = Sliding(SIZE_MS, SLIDE_MS), LossOverlap.from_delays(np.array([0]))
        return Measurement(Accuracies(windows, durations, ends, quality, overlap), 100_000)


def test_a_search_takes_steps_until_its_interval_stays():
    near, far = (calibration_costs.steps_of_search(partial(Exact, least_ms)) for least_ms in (2_000, 30_000))
    assert 1 < near < far < calibration_costs.STEPS


@pytest.mark.needs("long")
def test_each_way_of_calibrating_is_timed_beside_the_same_one_twice():
    lines: list[str] = []
    rows = calibration_costs.costs(lines.append, rounds=1, windows=300)
    for answers, many in (("rankings", 200), ("sum", 150), ("pairs", 150)):
        mine = {row["way"]: row for row in rows if row["calibration"] == answers}
        ways = ["two_scales", "two_scales again", "search, 30 windows", f"search, {many} windows"]
        assert list(mine) == ways
        assert mine["two_scales"]["× two_scales"] == 1
        assert all(row["least"] <= row["× two_scales"] <= row["greatest"] for row in mine.values())
        assert [mine[way]["steps"] == 1 for way in ways] == [True, True, False, False]
    assert len(lines) == 2 * len(rows), "one round is dropped"


def test_a_law_has_the_figures_of_its_estimates():
    law = Delayed(6_000, keys=5)
    truth = two_scales.Truth.compute(law, windows=300)
    row = two_scales.row("5 keys", truth, two_scales.estimates(law, range(2), truth.k_ms, windows=300))
    assert row["seeds"] == 2
    assert row["5 % of K s"] <= row["95 % of K s"]
