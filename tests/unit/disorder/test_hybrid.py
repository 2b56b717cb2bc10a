"""K of `hybrid` and `aq_k_slack`, against the paper's equation over coverage found by looking at every tuple."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tailrace.disorder.aq_k_slack import AQKSlack
from tailrace.disorder.hybrid import Hybrid
from tailrace.disorder.pd_policy import PDPolicy
from tailrace.windows.sliding import Sliding
from ticking import Came, seen, slacks, steady

SIZE, SLIDE = 50, 10
WINDOWS = Sliding(SIZE, SLIDE)
THRESHOLD = 0.9
HYBRID = Hybrid(policy="hybrid", error=0.05, risk=0.05)
AQ = AQKSlack(policy="aq_k_slack", error=0.05, risk=0.05)


class Always:
    def threshold(self, *_):
        return THRESHOLD


def walked(came: list[Came], base: Callable, kp: float, kd: float, windows_per_share: int = 16) -> list[int]:
    """K at each tick: α by equation 1, k by `base` from the (end, largest delay) of all ticks so far."""
    alpha, last, frontier, t_max, found = 1.0, 0.0, -(10**9), -(10**9), []
    arrived: list[tuple[int, int]] = []  # event time, and F when it came
    delays: list[tuple[int, int]] = []
    judged: set[int] = set()
    shares, measured = 1.0, None
    oldest = min(each.event for each in came)
    for tick in sorted({each.tick for each in came}):
        of_it = [each.event for each in came if each.tick == tick]
        t_max = max([t_max, *of_it])
        arrived += [(event, frontier) for event in of_it]
        delays.append((10 * tick + 10, t_max - min(of_it)))
        # λ_thr is known once a block of 50 ms that has tuples is full, and then every 16 blocks.
        block = t_max // SIZE
        full = any(event // SIZE < block for event, _ in arrived)
        if full and (measured is None or block >= measured + windows_per_share):
            shares, measured = THRESHOLD, block
        first = (oldest // SLIDE) * SLIDE + SLIDE
        for end in range(first, frontier - SIZE + 1, SLIDE):
            if end not in judged:
                judged.add(end)
                mine = [before for event, before in arrived if end - SIZE <= event < end and before < end + SIZE]
                if mine:
                    share = sum(before < end for before in mine) / len(mine)
                    err = shares - share
                    alpha = min(max(alpha + kp * err + kd * (err - last), 0.0), 1.0)
                    last = err
        found.append(round(alpha * base(delays)))
        frontier = max(frontier, t_max - found[-1])
    return found


def largest_of_all(delays: list[tuple[int, int]]) -> int:
    return max(0, *(delay for _, delay in delays), 0)


def largest_of_late(delays: list[tuple[int, int]]) -> int:
    return max(delay for end, delay in delays if end > delays[-1][0] - 100 * SLIDE)


# Event time goes on with the ticks, now and then late.
LATE = st.lists(st.sampled_from([0, 0, 0, 0, 5, 20, 60, 200]), min_size=5, max_size=150)


def stream(late: list[int]) -> list[Came]:
    return [Came(i // 2, 5 * i - delay) for i, delay in enumerate(late)]


@pytest.mark.parametrize(
    ("policy", "base", "gains"), [(HYBRID, largest_of_all, (0.2, 4.0)), (AQ, largest_of_late, (0.5, 0.8))]
)
@settings(max_examples=60, deadline=None)
@given(late=LATE)
def test_k_is_alpha_k(policy: PDPolicy, base, gains, late):
    came = stream(late)
    assert slacks(policy, seen(came, WINDOWS, Always()))[0] == walked(came, base, *gains)


def test_the_gains_are_settings_of_hybrid_alone():
    came = stream([0, 0, 0, 60, 200, 0, 0, 0, 20] * 20)
    other = Hybrid(policy="hybrid", error=0.05, risk=0.05, kp=0.01, kd=0)
    found = slacks(other, seen(came, WINDOWS, Always()))[0]
    assert found == walked(came, largest_of_all, 0.01, 0.0) != walked(came, largest_of_all, 0.2, 4.0)
    assert (HYBRID.kp, HYBRID.kd) == (0.2, 4.0)
    assert "kp" not in AQKSlack.model_fields


@pytest.mark.parametrize(("policy", "comes_back"), [(HYBRID, False), (AQ, True)])
def test_one_late_tuple_is_never_forgotten_by_hybrid_alone(policy, comes_back):
    came = steady(12, lambda event: 5000 if event == 5000 else 0)
    _, kept = slacks(policy, seen(came, WINDOWS, Always()))
    base, _ = policy.base(seen(came, WINDOWS, Always()), {})
    assert (base[-1] < 100, kept["alpha"] <= 1) == (comes_back, True)


@pytest.mark.parametrize("policy", [HYBRID, AQ])
def test_nothing_of_long_ago_is_kept(policy):
    sizes = []
    for seconds in (60, 120):
        _, kept = slacks(policy, seen(steady(seconds, lambda event: event * 7 % 60, every=20), WINDOWS, Always()))
        sizes.append(sum(len(value) for value in kept.values() if hasattr(value, "shape")))
    assert sizes[1] <= 1.1 * sizes[0]


def test_what_silence_closes_is_no_fault_of_k():
    quiet = seen(stream([0, 0, 60, 0, 200] * 30), WINDOWS, Always())
    k_ms, kept = HYBRID.slack(quiet.between(0, 40, -(10**9)), {})
    again, _ = HYBRID.slack(quiet.between(40, len(quiet), 10**6), kept)  # F was moved on far beyond all of it
    assert [*k_ms.tolist(), *again.tolist()] == slacks(HYBRID, quiet)[0]
