"""Refuses promises (error, risk) about answers that a query does not have, or that its policy can't keep."""

from __future__ import annotations

from difflib import get_close_matches

from tailrace.aggregate.named_section import NamedAggregateSection, NamedAggregatesSection
from tailrace.aggregate.section import AggregateSection
from tailrace.disorder.promise_of_answers import PromiseOfAnswers
from tailrace.disorder.promising_policy import PromisingPolicy
from tailrace.functions.promise import threshold_refusal
from tailrace.ground.fields import field_error

_OF = "disorder.of"


def require_promise(policy: PromiseOfAnswers, section: AggregateSection) -> None:
    """Refuse names that are not answers, and answers without a coverage threshold if the policy needs it.

    Raises
    ------
    PydanticCustomError
    """
    if not isinstance(section, NamedAggregatesSection):
        if policy.of is not None:
            fault = f"the answers have one value, which is promised anyway, and no name {policy.of[0]}"
            raise field_error(fault, "no of; or a name for the aggregate: {total: {function: sum, column: speed}}", _OF)
        if _needs_threshold(policy) and (reason := threshold_refusal(section.function, section.where is not None)):
            raise field_error(
                f"policy {policy.policy} can't promise it: {reason}", "policy: quantile", "disorder.policy"
            )
        return
    for name in policy.of or ():
        if name not in section.each:
            near = " or ".join(get_close_matches(name, section.each)) or ", ".join(section.each)
            raise field_error(f"no answer has a column {name}", near, _OF)
    if _needs_threshold(policy):
        _require_thresholds(policy, section)


def _require_thresholds(policy: PromiseOfAnswers, section: NamedAggregatesSection) -> None:
    reasons = {name: _threshold_refusal(each) for name, each in section.each.items()}
    for name in policy.of or section.each:
        if reasons[name] is not None:
            promising = [each for each in policy.of or section.each if reasons[each] is None]
            remedy = "policy: quantile" + (f", or of: [{', '.join(promising)}]" if promising else "")
            fault = f"policy {policy.policy} can't promise {name}: {reasons[name]}"
            raise field_error(fault, remedy, "disorder.policy" if policy.of is None else _OF)


def _needs_threshold(policy: PromiseOfAnswers) -> bool:
    return isinstance(policy, PromisingPolicy) and policy.needs_threshold


def _threshold_refusal(section: NamedAggregateSection) -> str | None:
    if section.function is None:
        return "no coverage threshold is known of an expression"
    return threshold_refusal(section.function, section.where is not None)
