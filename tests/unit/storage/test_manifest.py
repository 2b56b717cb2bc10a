"""Which parts of a query are named as changed since its checkpoint."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta
from pathlib import Path

import pytest

from kit.draws.join_queries import query_over
from kit.oracles.oracle import Settings
from kit.runs.warehouse import make_query
from tailrace.query.query import Query
from tailrace.storage.manifest import CheckpointManifest, changes, keeps_answers

HOUR = 3_600_000
BEFORE = Settings(2 * HOUR, HOUR, 100, "sum", ("k_slack", 1_000))


def changed(query: Settings, before: Settings = BEFORE, **stream: object) -> set[str]:
    """The changes from a query to another one; `stream`: of the later one."""
    return set(changes(manifest_of(make_query(Path("in"), before)), make_query(Path("in"), query, **stream)))


def manifest_of(query: Query, **structure: str) -> CheckpointManifest:
    """The manifest of a query's checkpoint; `structure`: other values of `bounds` in it."""
    bounds = {f"streams.readings.bounds.{name}": value for name, value in structure.items()}
    return CheckpointManifest("id", query.structure() | bounds, {}, {}, {})


@pytest.mark.parametrize(
    ("query", "stream", "names"),
    [
        (BEFORE, {}, set()),
        (BEFORE, {"bounds": {"ahead": "2 h"}}, set()),
        (BEFORE, {"bounds": {"ahead": "3 h"}}, {"streams.readings.bounds.ahead"}),
        (BEFORE, {"bounds": {"skew": "2 h"}}, {"streams.readings.bounds.skew"}),
        (replace(BEFORE, policy=("k_slack", 2 * HOUR)), {}, set()),
    ],
)
def test_bounds_that_hold_are_compared(query: Settings, stream: dict, names: set[str]) -> None:
    assert changed(query, **stream) == names


@pytest.mark.parametrize("query", [BEFORE, replace(BEFORE, policy=("k_slack", 3 * HOUR))])
def test_a_checkpoint_fixes_how_far_event_times_may_be_ahead_where_nobody_wrote_it(query: Settings) -> None:
    """The default was a day once, and follows from K now."""
    begun, now = manifest_of(make_query(Path("in"), BEFORE), ahead="1 d"), make_query(Path("in"), query)
    assert changes(begun, now) == {}
    (stream,) = now.fixed_by(begun.structure).streams.values()
    assert now.ahead_ms(stream) == 24 * HOUR
    declared = make_query(Path("in"), query, bounds={"ahead": "2 h"})
    assert changes(begun, declared) == {"streams.readings.bounds.ahead": ("1 d", "2 h")}
    assert not keeps_answers(changes(begun, declared))
    assert declared.fixed_by(begun.structure) == declared


def test_a_bound_that_nobody_wrote_is_not_named_beside_a_changed_window() -> None:
    assert changed(Settings(3 * HOUR, HOUR, 100, "sum", ("k_slack", 1_000))) == {"window.size"}


@pytest.mark.parametrize("section", [{}, {"feedback": timedelta(hours=1)}])
def test_a_feedback_period_may_change(section: dict) -> None:
    query = query_over(Path("in"), "emd_join", 2)
    begun = CheckpointManifest("id", query.structure(), {}, {}, {})
    assert changes(begun, query.model_copy(update={"emd_join": query.emd_join.model_copy(update=section)})) == {}
