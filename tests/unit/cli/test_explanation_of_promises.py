"""`explain` says what a policy promises, and of which answers."""

from __future__ import annotations

from pathlib import Path

from tailrace.panels.explanation import explanation
from tailrace.query.loading import parse
from unit.query.test_promise_names import HEAD, SHORT, query_of


def test_the_promise_names_its_answers() -> None:
    some = explanation(query_of("quantile", ", of: [revenue, rate]"))
    assert some["promise"] == "revenue, rate: off by 0.05 or more in a share of 0.05 at most"
    assert explanation(query_of("quantile"))["promise"].startswith("each answer that is a number: off by")


def test_a_policy_without_a_promise_has_no_such_line() -> None:
    assert "promise" not in explanation(parse(Path("/q.yaml"), f"{HEAD}{SHORT}"))
