"""Settings changed in mid-stream hold from the tick stamped on them, and the answers are the oracle's."""

from __future__ import annotations

import json
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from kit.draws.streams import disordered, policies
from kit.oracles.oracle import Settings, stream
from kit.oracles.oracle_assertions import assert_streamed
from kit.runs.harness import policy_json, run
from kit.suite.examples import drawn


@st.composite
def changing_settings(draw: st.DrawFn):
    """A stream, the positions at which its batches are cut, and (batch, policy) changes after the first batch."""
    tuples, query = draw(disordered(min_tuples=2, max_tuples=30))
    at = draw(st.lists(st.integers(1, len(tuples) - 1), min_size=1, max_size=4, unique=True).map(sorted))
    batches = draw(st.lists(st.integers(1, len(at)), min_size=1, max_size=3, unique=True).map(sorted))
    changes, last = [], query.policy  # the policy in force is no change
    for batch in batches:
        policy = draw(policies(query.size).filter(lambda policy, last=last: policy != last))
        changes.append((batch, policy))
        last = policy
    return tuples, query, at, changes


def with_stamped_ticks(query: Settings, changes: list, facts: list[dict]) -> Settings:
    """The oracle's settings: each policy from its `from_tick` in the table of facts, which is asserted."""
    assert [row["version"] for row in facts] == list(range(1, len(changes) + 2))
    assert facts[0]["from_tick"] == 0
    declared = [query.policy, *(policy for _, policy in changes)]
    assert [json.loads(row["value"]) for row in facts] == [json.loads(policy_json(policy)) for policy in declared]
    dated_policies = tuple((row["from_tick"], policy) for row, (_, policy) in zip(facts[1:], changes, strict=True))
    return replace(query, changes=dated_policies)


@drawn(40)
@given(changing_settings(), st.integers(1, 3), st.booleans())
def test_answers_are_a_function_of_the_tuples_and_the_facts(case, tasks, flush):
    tuples, query, at, changes = case
    rows = run(tuples, query, cuts=at, tasks=tasks, flush=flush, changes=changes)
    assert_streamed(rows, stream(tuples, with_stamped_ticks(query, changes, rows["facts"]), flush=flush))


@drawn(40)
@given(changing_settings(), st.booleans())
def test_a_fact_holds_from_the_tick_after_the_newest_one_before_it(case, flush):
    tuples, query, at, changes = case
    facts = run(tuples, query, cuts=at, flush=flush, changes=changes)["facts"]
    borders = [0, *at]
    for row, (batch, _) in zip(facts[1:], changes, strict=True):
        earlier = tuples[: borders[batch]]
        newest = len(earlier) - 1 if query.tick == 0 else max(item.arrival_time for item in earlier) // query.tick
        assert row["from_tick"] == newest + 1


@drawn(15)
@given(changing_settings())
def test_every_task_has_the_same_clock(case):
    tuples, query, at, changes = case
    rows = run(tuples, query, cuts=at, tasks=3, changes=changes)
    for batch in range(len(at) + 1):
        batch_rows = [row for row in rows["metrics"] if row["batch"] == batch]
        assert (
            len({(row["t_max"], row["frontier"], row["k_ms"], row["coverage"], row["ticks"]) for row in batch_rows})
            == 1
        )
