"""The policy `quantile` on made-up streams: how slack K starts, rises and falls."""

from __future__ import annotations

import numpy as np
import pytest

from kit.draws.policy_ticks import Arrival, model_of, slacks, statistics_of, steady
from tailrace.disorder.quantile.error_budget import ErrorBudget
from tailrace.disorder.quantile.policy import Quantile
from tailrace.ground.time_limits import BEFORE_ALL
from tailrace.windows.sliding import Sliding

pytestmark = pytest.mark.slow

WINDOWS = Sliding(200, 100)
POLICY = Quantile(policy="quantile", error=0.1, risk=0.1)


def mixed(seconds: float, late, share: float = 0.25, every: int = 5) -> list[Arrival]:
    """A steady stream, a random share of which is late by `late(event time)` ms."""
    is_late = np.random.default_rng(20261121).random(int(seconds * 1000 / every) + 1) < share
    return steady(seconds, lambda event: late(event) if is_late[event // every] else 0, every)


def k_at(tuples: list[Arrival], *seconds: float, policy: Quantile = POLICY) -> list[int]:
    """K at these points of arrival time, in seconds."""
    stream = statistics_of(tuples, WINDOWS)
    slack_ms, _ = slacks(policy, stream)
    return [slack_ms[np.searchsorted(stream.ticks.end, 1000 * second, side="right") - 1] for second in seconds]


def test_an_ordered_stream_has_slack_zero():
    assert k_at(steady(10), 1, 5, 10) == [0, 0, 0]


def test_the_initial_k_covers_nearly_all_tuples():
    (k_ms,) = k_at(mixed(20, lambda event: 300), 0.5)
    assert 290 <= k_ms <= 320


def test_k_is_what_answers_need_for_the_error():
    # A window lacks a quarter of its tuples until 300 ms after its end.
    (k_ms,) = k_at(mixed(40, lambda event: 300), 40)
    assert 200 <= k_ms <= 320
    # A share of 2 % is below the error of 10 %, so it need not be waited for.
    (k_ms,) = k_at(mixed(40, lambda event: 300, 0.02), 40)
    assert k_ms <= 100


@pytest.mark.needs("long")
def test_a_larger_error_or_risk_lowers_k():
    tuples = mixed(60, lambda event: 100 + event % 400, 0.3)
    strict, plain, lax = (
        k_at(tuples, 60, policy=Quantile(policy="quantile", error=error, risk=0.1))[0] for error in (0.02, 0.1, 0.25)
    )
    assert strict > plain > lax
    (low_risk,) = k_at(tuples, 60, policy=Quantile(policy="quantile", error=0.1, risk=0.02))
    assert low_risk >= plain


def test_k_rises_in_a_burst_and_falls_after_it():
    tuples = mixed(60, lambda event: 2000 if 40_000 <= event < 44_000 else 200)
    calm, burst, after = k_at(tuples, 39, 46, 58)
    assert calm <= 250
    assert burst >= 1500
    assert after <= 1.5 * calm


@pytest.mark.needs("long")
@pytest.mark.parametrize("at", [100, 3000, 30_000])
def test_one_tuple_that_is_ten_minutes_late_hardly_changes_k(at):
    tuples = mixed(50, lambda event: 200)
    tuples.insert(at // 5, Arrival(tuples[at // 5].tick, -600_000 + at))
    without, k_ms = (k_at(stream, 12, 50) for stream in (tuples[: at // 5] + tuples[at // 5 + 1 :], tuples))
    assert max(abs(a - b) for a, b in zip(without, k_ms, strict=True)) <= 30


def test_windows_with_only_late_tuples_count():
    # All tuples of every other window are late, so its answer would be missing.
    tuples = steady(60, lambda event: 400 if event // 200 % 2 else 0)
    windows, policy = Sliding(200, 200), Quantile(policy="quantile", error=0.5, risk=0.2)
    slack_ms, _ = slacks(policy, statistics_of(tuples, windows))
    assert slack_ms[-1] >= 190


def test_the_state_does_not_grow_with_the_stream():
    sizes = []
    for seconds in (30, 60):
        _, state = slacks(POLICY, statistics_of(mixed(seconds, lambda event: 200 + event % 300), WINDOWS))
        sizes.append(sum(len(value) for value in state.values() if hasattr(value, "shape")))
    assert sizes[1] <= 1.1 * sizes[0]


def test_windows_closed_by_silence_do_not_change_k():
    stream = statistics_of(mixed(20, lambda event: 200), WINDOWS)
    middle = len(stream) // 2
    first, state = POLICY.slack(stream.between(0, middle, BEFORE_ALL), {})
    rest, _ = POLICY.slack(stream.between(middle, len(stream), 10**6), state)
    assert [*first.tolist(), *rest.tolist()] == slacks(POLICY, stream)[0]


def test_a_later_call_does_not_modify_the_state_before_it():
    stream = statistics_of(mixed(4, lambda event: 200), WINDOWS)
    middle = len(stream) // 2
    _, state = POLICY.slack(stream.between(0, middle, BEFORE_ALL), {})
    before = {name: value.tolist() if hasattr(value, "shape") else value for name, value in state.items()}
    POLICY.slack(stream.between(middle, len(stream), BEFORE_ALL), state)
    assert {name: value.tolist() if hasattr(value, "shape") else value for name, value in state.items()} == before


def test_each_promised_answer_has_a_budget_and_the_least_of_their_levels_counts():
    tuples = mixed(30, lambda event: 100 + event % 400, 0.3)
    tuples = [each._replace(value=1.0 + each.event % 97) for each in tuples]
    stream = statistics_of(tuples, WINDOWS, model_of("count", "avg", "max"))
    k_ms, state = slacks(POLICY, stream, [100, 2000])
    levels = {name: ErrorBudget.restore(state, name).level(0.1, 0.1) for name in ("count", "avg", "max")}
    assert len(set(levels.values())) == 3
    assert state["level"] == min(levels.values())
    assert k_ms == slacks(POLICY, stream)[0]
    some = Quantile(policy="quantile", error=0.1, risk=0.1, of=("avg",))
    of_one, _ = slacks(some, stream)
    assert of_one == slacks(POLICY, statistics_of(tuples, WINDOWS, model_of("avg")))[0], "others play no part"
    assert of_one[-1] < k_ms[-1]
