"""The PD controller, against equation 1 of paper 002 step by step."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tailrace.disorder.pd_policy import PDController


@given(st.lists(st.floats(-0.2, 0.2), max_size=20), st.floats(0, 2), st.floats(0, 8))
def test_alpha_follows_the_error_and_its_change_between_zero_and_one(errors, kp, kd):
    controller, alpha, previous = PDController(kp, kd), 1.0, 0.0
    for error in errors:
        controller.observe(error)
        alpha = alpha + kp * error + kd * (error - previous)
        alpha = 0.0 if alpha < 0 else 1.0 if alpha > 1 else alpha
        previous = error
        assert controller.alpha == pytest.approx(alpha, abs=1e-12)


def test_two_steps_by_hand():
    controller = PDController(0.2, 4.0, alpha=0.5)
    controller.observe(-0.01)  # 0.2 · −0.01 + 4 · (−0.01 − 0)
    assert controller.alpha == pytest.approx(0.458)
    controller.observe(0.02)  # 0.2 · 0.02 + 4 · (0.02 + 0.01)
    assert controller.alpha == pytest.approx(0.582)
