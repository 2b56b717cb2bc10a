"""The error budget: the level that keeps a promise (error, risk), from made-up counts of wrong answers."""

from __future__ import annotations

import numpy as np
import pytest

from tailrace.disorder.quantile.error_budget import ErrorBudget
from tailrace.disorder.quantile.what_if import LEVELS

ERROR, RISK = 0.1, 0.05
CAREFUL = ERROR * RISK
S = len(LEVELS)


def budget_after(windows: int, off, really=lambda i: False, answers: int = 1) -> ErrorBudget:
    """The budget after `windows` windows.

    `off` gives, by the number of a window, the levels whose answers are wrong; `really`, whether the actual ones are.
    """
    budget = ErrorBudget.restore({}, "value")
    for i in range(windows):
        budget.add(answers * off(i).astype(float), answers * int(really(i)), answers, RISK)
    return budget


def wrong_every(periods: np.ndarray):
    """Each level is wrong in one window of its period."""
    return lambda i: i % periods == periods - 1


STEADY = wrong_every(np.arange(1, S + 1) ** 2)
"""Off in 1, 1/4, 1/9, 1/16, 1/25 = 4 % of the windows, and so on."""


GOOD = wrong_every(np.full(S, 10**9))
"""None is off."""


def test_before_the_first_window_the_level_is_error_times_risk():
    assert budget_after(0, GOOD).level(ERROR, RISK) == CAREFUL


@pytest.mark.parametrize("windows", [3, 12, 30])
def test_every_three_windows_without_an_error_raise_the_level_by_its_initial_value(windows):
    assert budget_after(windows, GOOD).level(ERROR, RISK) == pytest.approx(CAREFUL * (1 + windows / 3), rel=0.03)


def test_the_level_is_at_most_the_error_until_three_over_the_risk_windows():
    assert budget_after(54, GOOD).level(ERROR, RISK) <= ERROR
    assert budget_after(60, GOOD).level(ERROR, RISK) == 1


def test_the_level_lies_between_those_that_break_and_keep_the_promise():
    assert LEVELS[5] < budget_after(3000, STEADY).level(ERROR, RISK) < LEVELS[3]


def test_the_level_is_interpolated_by_how_near_its_risk_is():
    def level_at(share: float) -> float:  # level 4 is wrong less often than the risk, level 3 more often by `share`
        rare, often = wrong_every(np.full(S, 10**9)), np.arange(S) < 4
        return budget_after(3000, lambda i: (often & (i * (RISK + share) % 1 < RISK + share)) | rare(i)).level(
            ERROR, RISK
        )

    levels = [level_at(share) for share in (0.002, 0.02, 0.2, 0.9)]
    assert LEVELS[4] < levels[3] < levels[2] < levels[1] < levels[0] <= LEVELS[3]


def test_without_wrong_answers_the_level_is_one():
    assert budget_after(1000, wrong_every(np.full(S, 10**9))).level(ERROR, RISK) == LEVELS[0] == 1


def test_wrong_answers_are_made_monotone_over_levels():
    odd = wrong_every(
        np.where(np.arange(S) == 6, 3, np.arange(1, S + 1) ** 2)
    )  # level 6 is worse than its neighbours, as a longer memory may make it
    assert budget_after(3000, odd).level(ERROR, RISK) == pytest.approx(
        budget_after(3000, STEADY).level(ERROR, RISK), rel=0.1
    )


def test_with_all_levels_wrong_the_level_is_the_careful_one_or_less():
    # All levels are equally wrong, so none is better than the careful one.
    assert budget_after(300, wrong_every(np.full(S, 2))).level(ERROR, RISK) == CAREFUL
    # Only the strictest levels help.
    assert budget_after(300, wrong_every(np.where(np.arange(S) < 28, 2, 12))).level(ERROR, RISK) == LEVELS[28] < CAREFUL


def test_actual_wrong_answers_lower_the_level_until_they_are_paid_back():
    good, bad = budget_after(2000, STEADY), budget_after(2000, STEADY, really=lambda i: i % 15 == 0)
    assert (good.credit > 0, bad.credit < -20) == (True, True)
    assert bad.level(ERROR, RISK) < 0.9 * good.level(ERROR, RISK)
    for i in range(3000):  # no wrong answers for a while
        bad.add(STEADY(i).astype(float), 0, 1, RISK)
    assert bad.level(ERROR, RISK) == pytest.approx(good.level(ERROR, RISK), rel=0.1)


def test_credit_does_not_raise_the_level():
    assert budget_after(3000, STEADY).level(ERROR, RISK) == pytest.approx(
        budget_after(3000, STEADY, really=lambda i: i % 26 == 0).level(ERROR, RISK)
    )


def test_a_debt_lowers_the_target_risk_to_a_bounded_part():
    budget = budget_after(3000, STEADY, really=lambda i: True)
    assert LEVELS[8] < budget.level(ERROR, RISK) < LEVELS[6]  # 0.4 of 5 %: between 1/49 and 1/81, with its uncertainty


def test_clustered_wrong_answers_leave_more_uncertainty():
    index, never = np.arange(S), np.zeros(S, bool)
    scattered = budget_after(2000, lambda i: (index < 5) | ((index == 5) & (i % 24 == 0)))
    clustered = budget_after(2000, lambda i: (index < 5) | ((index == 5) & (i % 1000 // 41 == 12)))
    for budget in (scattered, clustered):
        assert budget.off[5] / budget.answers == pytest.approx(0.041, abs=0.002)
    assert LEVELS[6] < clustered.level(ERROR, RISK) < LEVELS[5] <= scattered.level(ERROR, RISK)
    assert budget_after(2000, lambda i: never).level(ERROR, RISK) == 1


def test_old_windows_are_forgotten():
    bad = wrong_every(np.arange(1, S + 1))
    budget = budget_after(2000, bad)
    assert budget.level(ERROR, RISK) < LEVELS[15]
    for i in range(20_000):
        budget.add(STEADY(i).astype(float), 0, 1, RISK)
    assert budget.level(ERROR, RISK) > LEVELS[5]


def test_the_level_does_not_depend_on_the_number_of_answers_per_window():
    one = budget_after(1000, STEADY, answers=1)
    many = budget_after(1000, STEADY, answers=16)
    assert many.level(ERROR, RISK) == pytest.approx(one.level(ERROR, RISK))
    assert many.credit == pytest.approx(one.credit)


def test_the_budget_survives_a_checkpoint():
    budget = budget_after(300, STEADY)
    restored = ErrorBudget.restore(budget.checkpoint("value") | budget_after(9, GOOD).checkpoint("other"), "value")
    restored.add(STEADY(0).astype(float), 0, 1, RISK)
    budget.add(STEADY(0).astype(float), 0, 1, RISK)
    assert restored.level(ERROR, RISK) == budget.level(ERROR, RISK)
