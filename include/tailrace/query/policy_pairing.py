"""Checks that a policy and its settings go with the kind of a query."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from tailrace.disorder.cache_duration import CacheDuration
from tailrace.disorder.promise_of_answers import PromiseOfAnswers
from tailrace.disorder.promising_policy import PromisingPolicy
from tailrace.ground.duration import format_duration, ms
from tailrace.ground.fields import field_error
from tailrace.query.calibration_section import CalibrationSection

if TYPE_CHECKING:
    from tailrace.query.query import Query

_SHORTEST = timedelta(minutes=1)  # least time between calibrations, as each takes Airflow some seconds
_LONGEST = timedelta(days=36_525)  # the limit of any duration


def check_policy(query: Query) -> None:
    """Refuse a promise that the kind's answers can't measure, and a calibration that the policy does not use."""
    policy = query.policy
    if isinstance(policy, PromisingPolicy) and not query.promises_errors:
        fault = f"policy {policy.policy} promises (error, risk), which kind {query.kind} has no measure for"
        raise field_error(fault, "policy: cache_duration, which promises an accuracy", "disorder.policy")
    if isinstance(policy, PromiseOfAnswers) and policy.of is not None and not query.promises_errors:
        raise field_error(
            f"an answer of kind {query.kind} is promised as a whole: no {policy.of[0]}", "no of", "disorder.of"
        )
    if isinstance(policy, CacheDuration):
        _check_calibration(query)
        _check_cost(query, policy)
    elif query.calibration != CalibrationSection():
        fault = f"policy {policy.policy} takes no proposal of a calibration"
        raise field_error(fault, "no calibration; or policy: cache_duration, which takes them", "calibration")


def _check_calibration(query: Query) -> None:
    calibration, step = query.calibration, query.window_step
    if calibration.windows is not None and calibration.windows > (most := max(1, _LONGEST // step)):
        fault = f"{calibration.every} last longer than a hundred years"
        raise field_error(fault, f"{most} windows, or fewer", "calibration.every")
    interval = calibration.interval(step)
    if interval is not None and interval < _SHORTEST:
        fault = f"{calibration.every} last {format_duration(ms(interval))}, less than a minute"
        windows = -(-_SHORTEST // step)
        raise field_error(fault, f"{windows} windows, or more", "calibration.every")


def _check_cost(query: Query, policy: CacheDuration) -> None:
    if query.calibration.cost is None:
        return
    if len(query.streams) > 1:
        fault = "a pair is answered as soon as both tuples are there: waiting delays no answer of a join"
        raise field_error(fault, "no cost", "calibration.cost")
    if policy.method != "two_scales" and not (policy.method is None and query.answers_are_tuples):
        fault = f"method {policy.method or 'search'} finds K by the accuracy alone"
        raise field_error(
            fault, "disorder: {policy: cache_duration, method: two_scales}; or no cost", "calibration.cost"
        )
