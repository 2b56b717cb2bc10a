"""Settings changed on the way: each holds from the tick that it was stamped with, and the answers are the oracle's."""

from __future__ import annotations

import json
from dataclasses import replace

from hypothesis import given, settings
from hypothesis import strategies as st

from expect import assert_streamed
from harness import policy_json, run
from oracle import Settings, stream
from streams import disordered, policies


@st.composite
def changing(draw: st.DrawFn):
    """A stream, where its batches are cut, and the policies that come with some of the batches after the first."""
    tuples, query = draw(disordered(min_tuples=2, max_tuples=30))
    at = draw(st.lists(st.integers(1, len(tuples) - 1), min_size=1, max_size=4, unique=True).map(sorted))
    batches = draw(st.lists(st.integers(1, len(at)), min_size=1, max_size=3, unique=True).map(sorted))
    changes, last = [], query.policy  # to what is in force already is no change
    for batch in batches:
        policy = draw(policies(query.size).filter(lambda policy, last=last: policy != last))
        changes.append((batch, policy))
        last = policy
    return tuples, query, at, changes


def as_stamped(query: Settings, changes: list, facts: list[dict]) -> Settings:
    """The query as the oracle takes it: each policy from the tick that the table of facts gives it."""
    assert [row["version"] for row in facts] == list(range(1, len(changes) + 2))
    assert facts[0]["from_tick"] == 0
    declared = [query.policy, *(policy for _, policy in changes)]
    assert [json.loads(row["value"]) for row in facts] == [json.loads(policy_json(policy)) for policy in declared]
    held = tuple((row["from_tick"], policy) for row, (_, policy) in zip(facts[1:], changes, strict=True))
    return replace(query, changes=held)


@settings(max_examples=40, deadline=None)
@given(changing(), st.integers(1, 3), st.booleans())
def test_answers_are_a_function_of_the_tuples_and_the_facts(case, tasks, flush):
    tuples, query, at, changes = case
    rows = run(tuples, query, cuts=at, tasks=tasks, flush=flush, changes=changes)
    assert_streamed(rows, stream(tuples, as_stamped(query, changes, rows["facts"]), flush=flush))


@settings(max_examples=40, deadline=None)
@given(changing(), st.booleans())
def test_a_fact_touches_nothing_that_was_seen_before_it(case, flush):
    tuples, query, at, changes = case
    facts = run(tuples, query, cuts=at, flush=flush, changes=changes)["facts"]
    borders = [0, *at]
    for row, (batch, _) in zip(facts[1:], changes, strict=True):
        seen = tuples[: borders[batch]]
        newest = len(seen) - 1 if query.tick == 0 else max(item.arrival_time for item in seen) // query.tick
        assert row["from_tick"] == newest + 1


@settings(max_examples=15, deadline=None)
@given(changing())
def test_every_task_comes_to_the_same_clock(case):
    tuples, query, at, changes = case
    rows = run(tuples, query, cuts=at, tasks=3, changes=changes)
    for batch in range(len(at) + 1):
        mine = [row for row in rows["metrics"] if row["batch"] == batch]
        assert len({(row["t_max"], row["frontier"], row["k_ms"], row["coverage"], row["ticks"]) for row in mine}) == 1
