"""The policy `quantile` on streams made by hand: how K begins, rises and falls."""

from __future__ import annotations

import numpy as np
import pytest

from tailrace.disorder.quantile.policy import Quantile
from tailrace.ground.time_limits import BEFORE_ALL
from tailrace.windows.sliding import Sliding
from ticking import Came, seen, slacks, steady

WINDOWS = Sliding(200, 100)
POLICY = Quantile(policy="quantile", error=0.1, risk=0.1)


def mixed(seconds: float, late, share: float = 0.25, every: int = 5) -> list[Came]:
    """A steady stream of which a share is as late as told by event time."""
    chosen = np.random.default_rng(20261121).random(int(seconds * 1000 / every) + 1) < share
    return steady(seconds, lambda event: late(event) if chosen[event // every] else 0, every)


def k_at(came: list[Came], *seconds: float, policy: Quantile = POLICY) -> list[int]:
    """K as it stands after so many seconds."""
    stream = seen(came, WINDOWS)
    found, _ = slacks(policy, stream)
    return [found[np.searchsorted(stream.ticks.end, 1000 * second, side="right") - 1] for second in seconds]


def test_a_stream_in_order_waits_for_nothing():
    assert k_at(steady(10), 1, 5, 10) == [0, 0, 0]


def test_it_begins_with_what_next_to_all_tuples_need():
    (k_ms,) = k_at(mixed(20, lambda event: 300), 0.5)
    assert 290 <= k_ms <= 320


def test_it_waits_for_what_answers_need():
    # A window lacks a quarter of its tuples until 300 ms after the latest of them came.
    (k_ms,) = k_at(mixed(40, lambda event: 300), 40)
    assert 200 <= k_ms <= 320
    # A twentieth is less than a tenth, so it need not be waited for.
    (k_ms,) = k_at(mixed(40, lambda event: 300, 0.02), 40)
    assert k_ms <= 100


def test_a_larger_error_or_risk_waits_less():
    came = mixed(60, lambda event: 100 + event % 400, 0.3)
    strict, plain, lax = (
        k_at(came, 60, policy=Quantile(policy="quantile", error=error, risk=0.1))[0] for error in (0.02, 0.1, 0.25)
    )
    assert strict > plain > lax
    (rarely,) = k_at(came, 60, policy=Quantile(policy="quantile", error=0.1, risk=0.02))
    assert rarely >= plain


def test_it_rises_in_a_burst_and_falls_after_it():
    came = mixed(60, lambda event: 2000 if 40_000 <= event < 44_000 else 200)
    calm, burst, after = k_at(came, 39, 46, 58)
    assert calm <= 250
    assert burst >= 1500
    assert after <= 1.5 * calm


@pytest.mark.parametrize("at", [100, 3000, 30_000])
def test_one_tuple_that_is_ten_minutes_late_is_but_one(at):
    came = mixed(50, lambda event: 200)
    came.insert(at // 5, Came(came[at // 5].tick, -600_000 + at))
    without, k_ms = (k_at(each, 12, 50) for each in (came[: at // 5] + came[at // 5 + 1 :], came))
    assert max(abs(a - b) for a, b in zip(without, k_ms, strict=True)) <= 30


def test_windows_that_late_tuples_alone_are_in_count():
    # Every other window has nothing until it is over: its answer would be missing.
    came = steady(60, lambda event: 400 if event // 200 % 2 else 0)
    windows, policy = Sliding(200, 200), Quantile(policy="quantile", error=0.5, risk=0.2)
    found, _ = slacks(policy, seen(came, windows))
    assert found[-1] >= 190


def test_nothing_of_long_ago_is_kept():
    sizes = []
    for seconds in (30, 60):
        _, kept = slacks(POLICY, seen(mixed(seconds, lambda event: 200 + event % 300), WINDOWS))
        sizes.append(sum(len(value) for value in kept.values() if hasattr(value, "shape")))
    assert sizes[1] <= 1.1 * sizes[0]


def test_what_silence_closes_is_no_fault_of_k():
    stream = seen(mixed(20, lambda event: 200), WINDOWS)
    middle = len(stream) // 2
    first, kept = POLICY.slack(stream.between(0, middle, BEFORE_ALL), {})
    then, _ = POLICY.slack(stream.between(middle, len(stream), 10**6), kept)
    assert [*first.tolist(), *then.tolist()] == slacks(POLICY, stream)[0]


def test_what_is_kept_is_not_what_goes_on():
    stream = seen(mixed(4, lambda event: 200), WINDOWS)
    middle = len(stream) // 2
    _, kept = POLICY.slack(stream.between(0, middle, BEFORE_ALL), {})
    before = {name: value.tolist() if hasattr(value, "shape") else value for name, value in kept.items()}
    POLICY.slack(stream.between(middle, len(stream), BEFORE_ALL), kept)
    assert {name: value.tolist() if hasattr(value, "shape") else value for name, value in kept.items()} == before
