"""Which level keeps a promise: from counts of answers that are off, made by hand."""

from __future__ import annotations

import numpy as np
import pytest

from tailrace.disorder.quantile.error_budget import ErrorBudget
from tailrace.disorder.quantile.what_if import LEVELS

ERROR, RISK = 0.1, 0.05
CAREFUL = ERROR * RISK
S = len(LEVELS)


def measured(windows: int, off, really=lambda i: False, answers: int = 1) -> ErrorBudget:
    """After so many windows; `off` gives, of a window's number, the levels whose answers are off."""
    found = ErrorBudget.restore({})
    for i in range(windows):
        found.add(answers * off(i).astype(float), answers * int(really(i)), answers, RISK)
    return found


def every(periods: np.ndarray):
    """Each level is off in one window of so many."""
    return lambda i: i % periods == periods - 1


STEADY = every(np.arange(1, S + 1) ** 2)
"""Off in 1, 1/4, 1/9, 1/16, 1/25 = 4 % of the windows, and so on."""


GOOD = every(np.full(S, 10**9))
"""None is off."""


def test_before_any_window_is_judged_it_is_careful():
    assert measured(0, GOOD).level(ERROR, RISK) == CAREFUL


@pytest.mark.parametrize("windows", [3, 12, 30])
def test_with_each_three_good_windows_the_level_rises_by_as_much(windows):
    assert measured(windows, GOOD).level(ERROR, RISK) == pytest.approx(CAREFUL * (1 + windows / 3), rel=0.03)


def test_no_more_than_a_promise_is_missing_before_three_windows_over_the_risk():
    assert measured(54, GOOD).level(ERROR, RISK) <= ERROR
    assert measured(60, GOOD).level(ERROR, RISK) == 1


def test_it_lies_between_the_levels_that_break_the_promise_and_that_keep_it():
    assert LEVELS[5] < measured(3000, STEADY).level(ERROR, RISK) < LEVELS[3]


def test_the_nearer_to_the_risk_the_nearer_to_the_level():
    def of(share: float) -> float:  # level 4 is off less often than the risk, level 3 more often than it by `share`
        rare, often = every(np.full(S, 10**9)), np.arange(S) < 4
        return measured(3000, lambda i: (often & (i * (RISK + share) % 1 < RISK + share)) | rare(i)).level(ERROR, RISK)

    found = [of(share) for share in (0.002, 0.02, 0.2, 0.9)]
    assert LEVELS[4] < found[3] < found[2] < found[1] < found[0] <= LEVELS[3]


def test_where_no_answer_is_off_nothing_is_waited_for():
    assert measured(1000, every(np.full(S, 10**9))).level(ERROR, RISK) == LEVELS[0] == 1


def test_a_level_that_is_off_with_a_smaller_one_is_not_better():
    odd = every(np.where(np.arange(S) == 6, 3, np.arange(1, S + 1) ** 2))  # one that a longer memory misled
    assert measured(3000, odd).level(ERROR, RISK) == pytest.approx(measured(3000, STEADY).level(ERROR, RISK), rel=0.1)


def test_where_all_are_off_it_is_as_careful_as_can_be():
    # All levels are off alike: none is better than to be careful.
    assert measured(300, every(np.full(S, 2))).level(ERROR, RISK) == CAREFUL
    # Only the last ones help.
    assert measured(300, every(np.where(np.arange(S) < 28, 2, 12))).level(ERROR, RISK) == LEVELS[28] < CAREFUL


def test_what_was_really_off_is_paid_back():
    good, bad = measured(2000, STEADY), measured(2000, STEADY, really=lambda i: i % 15 == 0)
    assert (good.credit > 0, bad.credit < -20) == (True, True)
    assert bad.level(ERROR, RISK) < 0.9 * good.level(ERROR, RISK)
    for i in range(3000):  # all is well for a while
        bad.add(STEADY(i).astype(float), 0, 1, RISK)
    assert bad.level(ERROR, RISK) == pytest.approx(good.level(ERROR, RISK), rel=0.1)


def test_credit_is_no_licence():
    assert measured(3000, STEADY).level(ERROR, RISK) == pytest.approx(
        measured(3000, STEADY, really=lambda i: i % 26 == 0).level(ERROR, RISK)
    )


def test_a_debt_asks_for_a_part_of_the_risk_and_no_more():
    broke = measured(3000, STEADY, really=lambda i: True)
    assert LEVELS[8] < broke.level(ERROR, RISK) < LEVELS[6]  # 0.4 of 5 %: between 1/49 and 1/81 with the doubt


def test_what_comes_at_once_is_known_less_well():
    place, never = np.arange(S), np.zeros(S, bool)
    apart = measured(2000, lambda i: (place < 5) | ((place == 5) & (i % 24 == 0)))
    at_once = measured(2000, lambda i: (place < 5) | ((place == 5) & (i % 1000 // 41 == 12)))
    for one in (apart, at_once):
        assert one.off[5] / one.answers == pytest.approx(0.041, abs=0.002)
    assert LEVELS[6] < at_once.level(ERROR, RISK) < LEVELS[5] <= apart.level(ERROR, RISK)
    assert measured(2000, lambda i: never).level(ERROR, RISK) == 1


def test_what_is_old_is_forgotten():
    bad = every(np.arange(1, S + 1))
    found = measured(2000, bad)
    assert found.level(ERROR, RISK) < LEVELS[15]
    for i in range(20_000):
        found.add(STEADY(i).astype(float), 0, 1, RISK)
    assert found.level(ERROR, RISK) > LEVELS[5]


def test_answers_of_a_window_count_each():
    one = measured(1000, STEADY, answers=1)
    many = measured(1000, STEADY, answers=16)
    assert many.level(ERROR, RISK) == pytest.approx(one.level(ERROR, RISK))
    assert many.credit == pytest.approx(one.credit)


def test_it_is_kept():
    found = measured(300, STEADY)
    again = ErrorBudget.restore(found.checkpoint())
    again.add(STEADY(0).astype(float), 0, 1, RISK)
    found.add(STEADY(0).astype(float), 0, 1, RISK)
    assert again.level(ERROR, RISK) == found.level(ERROR, RISK)
