"""Slack K of `hybrid` and `aq_k_slack`, against the paper's equation over the coverage counted tuple by tuple."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.draws.policy_ticks import Arrival, model_of, slacks, statistics_of, steady
from kit.suite.examples import drawn
from tailrace.disorder.aq_k_slack import AQKSlack
from tailrace.disorder.hybrid import Hybrid
from tailrace.disorder.pd_policy import PDPolicy
from tailrace.windows.sliding import Sliding

pytestmark = pytest.mark.slow

SIZE, SLIDE = 50, 10
WINDOWS = Sliding(SIZE, SLIDE)
THRESHOLD = 0.9
HYBRID = Hybrid(policy="hybrid", error=0.05, risk=0.05)
COUNT = model_of("count")
AQ = AQKSlack(policy="aq_k_slack", error=0.05, risk=0.05)


class ConstantModel:
    sampled, sample = COUNT.sampled, COUNT.sample
    names, sums, values = ("count",), ("tuples",), {}

    def promised(self, of):
        return self

    def threshold(self, *_):
        return THRESHOLD


def expected_slacks(
    tuples: list[Arrival], base: Callable, kp: float, kd: float, windows_per_share: int = 16
) -> list[int]:
    """K at each tick: α by equation 1, times k by `base` from the (end, largest delay) of all ticks so far."""
    alpha, last, frontier, t_max, slack_ms = 1.0, 0.0, -(10**9), -(10**9), []
    arrivals: list[tuple[int, int]] = []  # (event time, F on arrival)
    delays: list[tuple[int, int]] = []
    evaluated: set[int] = set()
    threshold, last_block = 1.0, None
    oldest = min(item.event for item in tuples)
    for tick in sorted({item.tick for item in tuples}):
        events = [item.event for item in tuples if item.tick == tick]
        t_max = max([t_max, *events])
        arrivals += [(event, frontier) for event in events]
        delays.append((10 * tick + 10, t_max - min(events)))
        # λ_thr is computed once a block of 50 ms with tuples is complete, and then every 16 blocks.
        block = t_max // SIZE
        has_full_block = any(event // SIZE < block for event, _ in arrivals)
        if has_full_block and (last_block is None or block >= last_block + windows_per_share):
            threshold, last_block = THRESHOLD, block
        first = (oldest // SLIDE) * SLIDE + SLIDE
        for end in range(first, frontier - SIZE + 1, SLIDE):
            if end not in evaluated:
                evaluated.add(end)
                frontiers = [before for event, before in arrivals if end - SIZE <= event < end and before < end + SIZE]
                if frontiers:
                    share = sum(before < end for before in frontiers) / len(frontiers)
                    error = threshold - share
                    change = kp * error + kd * (error - last)  # Δα first, as the equation has it: bits decide at x.5 ms
                    alpha = min(max(alpha + change, 0.0), 1.0)
                    last = error
        slack_ms.append(round(alpha * base(delays)))
        frontier = max(frontier, t_max - slack_ms[-1])
    return slack_ms


def largest_of_all(delays: list[tuple[int, int]]) -> int:
    return max(0, *(delay for _, delay in delays), 0)


def largest_of_late(delays: list[tuple[int, int]]) -> int:
    return max(delay for end, delay in delays if end > delays[-1][0] - 100 * SLIDE)


# Delays of a stream whose event time advances with the ticks.
DELAYS = st.lists(st.sampled_from([0, 0, 0, 0, 5, 20, 60, 200]), min_size=5, max_size=150)


def make_stream(delays: list[int]) -> list[Arrival]:
    return [Arrival(i // 2, 5 * i - delay) for i, delay in enumerate(delays)]


@pytest.mark.parametrize(
    ("policy", "base", "gains"), [(HYBRID, largest_of_all, (0.2, 4.0)), (AQ, largest_of_late, (0.5, 0.8))]
)
@drawn(60)
@given(late=DELAYS)
def test_slack_is_alpha_times_k(policy: PDPolicy, base, gains, late):
    tuples = make_stream(late)
    assert slacks(policy, statistics_of(tuples, WINDOWS, ConstantModel()))[0] == expected_slacks(tuples, base, *gains)


# ticks of tuples that are all ahead of arrival: t_max is 60 and 70, and 1000 and more has come
@pytest.mark.parametrize("policy", [HYBRID, AQ])
def test_tuples_ahead_of_arrival_make_no_slack_negative(policy: PDPolicy):
    stats = statistics_of([Arrival(0, 1_000), Arrival(1, 1_010)], WINDOWS, ConstantModel())
    assert slacks(policy, replace(stats, t_max=np.array([60, 70])))[0] == [0, 0]


def test_the_gains_are_settings_of_hybrid_alone():
    tuples = make_stream([0, 0, 0, 60, 200, 0, 0, 0, 20] * 20)
    other = Hybrid(policy="hybrid", error=0.05, risk=0.05, kp=0.01, kd=0)
    slack_ms = slacks(other, statistics_of(tuples, WINDOWS, ConstantModel()))[0]
    assert (
        slack_ms
        == expected_slacks(tuples, largest_of_all, 0.01, 0.0)
        != expected_slacks(tuples, largest_of_all, 0.2, 4.0)
    )
    assert (HYBRID.kp, HYBRID.kd) == (0.2, 4.0)
    assert "kp" not in AQKSlack.model_fields


@pytest.mark.parametrize(("policy", "comes_back"), [(HYBRID, False), (AQ, True)])
def test_only_hybrid_never_forgets_a_late_tuple(policy, comes_back):
    tuples = steady(12, lambda event: 5000 if event == 5000 else 0)
    _, state = slacks(policy, statistics_of(tuples, WINDOWS, ConstantModel()))
    base, _ = policy.base(statistics_of(tuples, WINDOWS, ConstantModel()), {})
    assert (base[-1] < 100, state["alpha"] <= 1) == (comes_back, True)


@pytest.mark.parametrize("policy", [HYBRID, AQ])
def test_the_state_does_not_grow_with_the_stream(policy):
    sizes = []
    for seconds in (60, 120):
        _, state = slacks(
            policy, statistics_of(steady(seconds, lambda event: event * 7 % 60, every=20), WINDOWS, ConstantModel())
        )
        sizes.append(sum(len(value) for value in state.values() if hasattr(value, "shape")))
    assert sizes[1] <= 1.1 * sizes[0]


def test_windows_closed_by_silence_do_not_change_k():
    ticks = statistics_of(make_stream([0, 0, 60, 0, 200] * 30), WINDOWS, ConstantModel())
    k_ms, state = HYBRID.slack(ticks.between(0, 40, -(10**9)), {})
    rest, _ = HYBRID.slack(ticks.between(40, len(ticks), 10**6), state)  # silence has moved F far beyond all tuples
    assert [*k_ms.tolist(), *rest.tolist()] == slacks(HYBRID, ticks)[0]
