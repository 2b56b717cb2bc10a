"""Promises (error, risk) of named answers: which ones a policy takes, and what is refused with which remedy."""

from __future__ import annotations

import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from tailrace.disorder.policies import policy_of, settings_of
from tailrace.ground.errors import Refused
from tailrace.query.differences import differences
from tailrace.query.loading import parse

HEAD = """name: revenue
kind: aggregate
streams:
  events:
    source: {format: csv, path: events}
    event_time: event_ts
    id: event_id
    key: country
window: 5 min
"""
SECTIONS = """aggregate:
  revenue: {function: sum, column: net}
  failures: {function: count, where: code >= 500}
  slowest: {function: max, column: latency, where: code < 500}
  p90: {function: quantile, q: 0.9, column: latency}
  paid: {function: avg, column: net, where: code < 500}
  users: {function: count_distinct, column: user}
  newest: {function: last, column: net}
  spread: {function: stddev, column: net}
  rate: {expression: failures / tuples}
"""
SHORT = "aggregate: {function: sum, column: net}\n"


def query_of(policy: str, more: str = "", aggregate: str = SECTIONS) -> Any:
    text = f"{HEAD}{aggregate}disorder: {{policy: {policy}, error: 0.05, risk: 0.05{more}}}\n"
    return parse(Path("/queries/revenue.yaml"), text)


def refused(*args: str) -> tuple[str, str]:
    """The text of a refusal: the place with the fault, and the remedy."""
    with pytest.raises(Refused) as caught:
        query_of(*args)
    fault, _, remedy = str(caught.value).partition("right would be: ")
    return fault, remedy.strip()


def test_quantile_promises_any_answer_and_each_number_by_default() -> None:
    assert query_of("quantile").policy.of is None
    some = query_of("quantile", ", of: [rate, spread, users, newest]").policy
    assert some.of == ("rate", "spread", "users", "newest")
    assert policy_of(json.loads(json.dumps(settings_of(some)))) == some, "a fact holds it as JSON"
    assert policy_of({"policy": "quantile", "error": 0.05, "risk": 0.05}).of is None


@pytest.mark.parametrize("policy", ["hybrid", "aq_k_slack"])
def test_policies_with_a_threshold_promise_the_answers_that_have_one(policy: str) -> None:
    assert query_of(policy, ", of: [revenue, failures, slowest, p90]").policy.of
    plain = "aggregate:\n  a: {function: sum, column: net}\n  b: {function: median, column: net}\n"
    assert query_of(policy, "", plain).policy.of is None


@pytest.mark.parametrize("policy", ["hybrid", "aq_k_slack"])
@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("users", "no coverage threshold is known of count_distinct"),
        ("newest", "no coverage threshold is known of last"),
        ("spread", "no coverage threshold is known of stddev"),
        ("rate", "no coverage threshold is known of an expression"),
        ("paid", "no coverage threshold is known of avg with a where: the tuples' share is not its values' share"),
    ],
)
def test_policies_with_a_threshold_refuse_others(policy: str, name: str, reason: str) -> None:
    fault, remedy = refused(policy, f", of: [revenue, {name}]")
    assert fault.startswith("/queries/revenue.yaml:20: disorder.of: ")
    assert f"policy {policy} can't promise {name}: {reason}" in fault
    assert remedy == "policy: quantile, or of: [revenue]"
    fault, remedy = refused(policy, f", of: [{name}]")
    assert remedy == "policy: quantile"
    fault, remedy = refused(policy)
    assert f"policy {policy} can't promise paid" in fault
    assert remedy == "policy: quantile, or of: [revenue, failures, slowest, p90]"


@pytest.mark.parametrize(
    ("of", "aggregate", "fault", "remedy"),
    [
        ("[revenues]", SECTIONS, "no answer has a column revenues", "revenue"),
        ("[code]", SECTIONS, "no answer has a column code", "revenue, failures, slowest, p90, paid"),
        ("[revenue, rate, revenue]", SECTIONS, "revenue stands here more than once", "each name once"),
        ("[]", SECTIONS, "disorder.of", "[revenue, purchases]"),
        ("revenue", SECTIONS, "disorder.of", "[revenue, purchases]"),
        ("[value]", SHORT, "the answers have one value", "no of; or a name for the aggregate"),
        ("[revenue]", SHORT, "the answers have one value", "no of; or a name for the aggregate"),
    ],
)
def test_names_of_no_answer_are_refused(of: str, aggregate: str, fault: str, remedy: str) -> None:
    said, right = refused("quantile", f", of: {of}", aggregate)
    assert said.startswith("/queries/revenue.yaml:")
    assert "disorder.of" in said
    assert fault in said
    assert remedy in right


def test_a_policy_without_a_promise_takes_no_names() -> None:
    with pytest.raises(Refused, match="of"):
        parse(Path("/q.yaml"), f"{HEAD}{SECTIONS}disorder: {{policy: k_slack, k: 1 s, of: [revenue]}}\n")


@pytest.mark.parametrize("section", [SHORT, SECTIONS])
def test_promises_that_no_stream_can_keep_are_refused_for_names_too(section: str) -> None:
    text = f"{HEAD}{section}disorder: {{policy: quantile, error: 0.05, risk: 0}}\n"
    with pytest.raises(Refused, match=r"disorder.risk: with a risk of 0 no answer may be off"):
        parse(Path("/q.yaml"), text)


def test_a_stream_may_change_the_names_as_it_may_error_and_risk() -> None:
    before, now = query_of("quantile"), query_of("quantile", ", of: [revenue, rate]")
    assert before.structure() == now.structure()
    (difference,) = differences(before, now)
    assert str(difference) == "disorder.of: not set → [revenue, rate]"


def test_sql_text_stands_beside_the_names() -> None:
    text = """name: revenue
streams:
  events: {source: {format: csv, path: events}, event_time: at, id: id}
sql: |
  SELECT sum(net) AS revenue, count(*) AS n
  FROM TUMBLE(TABLE events, DESCRIPTOR(at), INTERVAL '5' MINUTES)
  GROUP BY window_start, window_end
disorder: {policy: quantile, error: 0.05, risk: 0.05, of: [revenue]}
"""
    assert parse(Path("/q.yaml"), text).policy.of == ("revenue",)
    with pytest.raises(Refused, match="no answer has a column revenues"):
        parse(Path("/q.yaml"), text.replace("of: [revenue]", "of: [revenues]"))


def test_slack_of_a_promise_is_not_declared() -> None:
    assert query_of("quantile").policy.declared_k == timedelta(0)


def test_a_promised_accuracy_takes_names_of_answers() -> None:
    text = f"{HEAD}{SECTIONS}disorder: {{policy: cache_duration, of: [revenue, slowest]}}\n"
    assert parse(Path("/q.yaml"), text).policy.of == ("revenue", "slowest")
    with pytest.raises(Refused, match=r"disorder\.of: no answer has a column revenues"):
        parse(Path("/q.yaml"), text.replace("[revenue,", "[revenues,"))


def test_answers_of_other_kinds_are_promised_as_wholes() -> None:
    text = f"{HEAD.replace('aggregate', 'topk')}topk: {{k: 2, score: net}}\n"
    with pytest.raises(Refused, match=r"disorder\.of: an answer of kind topk is promised as a whole"):
        parse(Path("/q.yaml"), f"{text}disorder: {{policy: cache_duration, of: [score]}}\n")
