"""What a join of two streams promises, by the toy join: the same pairs as the oracle, however it is run."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from bench.local_engine import LocalEngine
from kit.oracles.pair_oracle import LEFT, RIGHT, Item, Join, Pair, batch_pairs, joined
from kit.runs.pair_runs import (
    FOREVER,
    IN_INTERVALS,
    JOINS,
    SIDES,
    WHERE,
    Batch,
    assert_as_the_oracle,
    log_of,
    logs,
    policy_of_k,
    run,
    toy,
)
from kit.suite.examples import drawn

MANY = drawn(200)


@MANY
@given(
    batches=logs(),
    join=JOINS | IN_INTERVALS,
    tasks=st.integers(1, 3),
    feedback=st.sampled_from([1, 30, FOREVER]),
    where=st.sampled_from(list(WHERE)),
)
def test_the_answers_are_those_of_the_oracle(
    batches: list[Batch], join: Join, tasks: int, feedback: int, where: str | None
) -> None:
    rows, join = run(batches, replace(join, keeps=WHERE[where]), tasks, feedback, toy(where))
    tuples = sum(len(items) for batch in batches for _, items in batch.segments)
    assert_as_the_oracle(rows, joined(log_of(batches), join), tuples)


@drawn(100)
@given(batches=logs(), join=JOINS | IN_INTERVALS, tasks=st.integers(1, 3), ids=st.integers(1, 6))
def test_repeats_are_dropped_as_far_back_as_tuples_are_kept(
    batches: list[Batch], join: Join, tasks: int, ids: int
) -> None:
    def again(side: int, items: tuple[Item, ...]) -> tuple[int, tuple[Item, ...]]:
        return side, tuple(item._replace(id=f"{'lr'[side]}{int(item.id[1:]) % ids}") for item in items)

    batches = [batch._replace(segments=tuple(again(*segment) for segment in batch.segments)) for batch in batches]
    rows, join = run(batches, replace(join, deduplicate=True), tasks)
    expected = joined(log_of(batches), join)
    pairs = [Pair(*(row[name] for name in Pair._fields)) for row in rows.get("results", [])]
    ids_of_pairs = [(row["left_id"], row["right_id"]) for row in rows.get("results", [])]
    assert Counter((*of, pair) for of, pair in zip(ids_of_pairs, pairs, strict=True)) == Counter(expected.answered)
    late = [(SIDES.index(row["stream"]), row["id"], row["frontier"]) for row in rows.get("late", [])]
    assert Counter(late) == Counter(expected.registered)
    assert sum(row["repeats"] for row in rows["metrics"]) == expected.repeats
    tuples = sum(len(items) for batch in batches for _, items in batch.segments)
    assert sum(row["rows"] for row in rows["metrics"]) == tuples


@drawn(50)
@given(batches=logs(), join=JOINS | IN_INTERVALS)
def test_the_plan_of_every_stored_tuple_is_still_known(batches: list[Batch], join: Join) -> None:
    """So that a partition can place a tuple beside those that an earlier plan placed."""
    plans: list[tuple[int, int]] = []  # version, and the first segment under it
    segment_of = {
        item.id: number
        for number, (_, items) in enumerate(segment for batch in batches for segment in batch.segments)
        for item in items
    }

    def plan_of(tuple_id: str) -> int:
        return max((version for version, since in plans if since <= segment_of[tuple_id]), default=0)

    def check(engine: LocalEngine) -> None:
        plans[:] = sorted({*plans, *((fact.version, fact.since) for fact in engine.facts if fact.about == "plan")})
        chunks = [chunk for task in engine.states for chunk in task.state.left.chunks]
        stored = [row for chunk in chunks for row in chunk.rows.column("id").to_pylist()]
        kept = {fact.version for fact in engine.next_facts(policy_of_k(join.k)) if fact.about == "plan"}
        assert {plan_of(tuple_id) for tuple_id in stored} - {0} <= kept

    run(batches, join, 2, after_batch=check)


@given(batches=logs(), join=JOINS | IN_INTERVALS)
def test_a_pair_is_missed_only_if_a_tuple_of_it_is_late(batches: list[Batch], join: Join) -> None:
    outcome = joined(log_of(batches), join)
    for left, right in batch_pairs(log_of(batches), join) - outcome.pairs.keys():
        assert {(LEFT, left), (RIGHT, right)} & outcome.late.keys()
