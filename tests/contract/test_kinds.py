"""The contract of every kind: its incremental form gives the answers of `evaluate`, however a stream is cut.

A new kind needs a line in `SAMPLES` of `kind_samples.py`: the section that declares it, in a query file.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from bench.local_engine import LocalEngine, MemoryFormat, pipeline_in_memory
from kit.draws.kind_samples import (
    KEYS,
    SOME,
    answers,
    assert_same,
    assert_same_late,
    by_answer,
    content,
    every,
    id_type_of,
    ids,
    kind_of,
    magnitude,
    query_of,
)
from kit.draws.streams import cuts, disordered
from kit.oracles.oracle import Settings, Tuple
from kit.runs.harness import policy_of_oracle
from tailrace.engine.moved_states import moved
from tailrace.engine.pipeline import Pipeline
from tailrace.kind.capabilities import IncrementallyCorrectable
from tailrace.kind.protocol import Kind

OTHERWISE = ("sma", "mintopk")
"""Do not count late tuples in their open windows."""
LONG = 36_525 * 86_400_000


def source_of(name: str, case: tuple[list[Tuple], Settings]) -> tuple[Pipeline, MemoryFormat]:
    """The pipeline of a sample's query, and the table in memory that it reads."""
    tuples, query = case
    times = ("event_time", "arrival_time")
    columns = {part: pa.array([getattr(item, part) for item in tuples], pa.int64()) for part in times}
    columns |= {"id": ids(tuples, id_type_of(name)), "key": pa.array([item.key for item in tuples], pa.string())}
    memory = MemoryFormat(
        {"stream": pa.table(columns | {"value": pa.array([item.value for item in tuples], pa.float64())})}
    )
    keyed = all(item.key is not None for item in tuples)
    return pipeline_in_memory(query_of(name, query.size, query.slide, query.tick, keyed), {"readings": memory}), memory


def tick_starts(name: str, case: tuple[list[Tuple], Settings]) -> list[int]:
    """The position of the first tuple of each tick."""
    pipeline, memory = source_of(name, case)
    (whole,) = memory.segments("readings")
    tick = np.asarray(pipeline.readers[0].read(whole).tuples.column("tick"))
    return np.unique(tick, return_index=True)[1].tolist()


def ran(
    name: str,
    case: tuple[list[Tuple], Settings],
    batches: Sequence[int] = (),
    segments: Sequence[int] = (),
    restarts: bool = False,
    quiet: Sequence[bool] = (),
    tasks: int | Sequence[int] = 1,
) -> tuple[dict[tuple, dict], list[dict]]:
    """Answers and late rows of a bounded run.

    Batches begin at these positions, each at the start of a tick, and segments also at others. `quiet` tells after
    which batches the stream falls quiet. `tasks`: their number, or that of each batch.
    """
    pipeline, memory = source_of(name, case)
    of_batches = [tasks] * (len(batches) + 1) if isinstance(tasks, int) else tasks
    engine, policy = LocalEngine(replace(pipeline, tasks=of_batches[0]), restarts), policy_of_oracle(case[1].policy)
    log = memory.segments("readings", [*batches, *segments])
    batch_of = np.searchsorted(batches, [segment.position for segment in log], side="right")
    closed, late = [], []
    for batch in range(len(batches) + 1):
        last = batch == len(batches)
        rescale(engine, of_batches[batch])
        closes = last or (batch < len(quiet) and quiet[batch])
        in_batch = [segment for segment, index in zip(log, batch_of, strict=True) if index == batch]
        rows = engine.batch(policy, in_batch, complete=not closes, closes=closes, ends=last)
        assert "quarantine" not in rows
        assert_decided_by_the_frontier(engine)
        closed += rows["results"].to_pylist() if "results" in rows else []
        late += rows["late"].to_pylist() if "late" in rows else []
    return by_answer(closed), sorted(late, key=lambda row: (row["tick"], row["pane_start"], str(row["key"])))


def rescale(engine: LocalEngine, tasks: int) -> None:
    """Spread the state over another number of tasks."""
    if tasks != engine.pipeline.tasks:
        engine.pipeline = replace(engine.pipeline, tasks=tasks)
        engine.tasks = [engine.pipeline.task(index) for index in range(tasks)]
        engine.states = [moved(task, engine.states) for task in engine.tasks]


def assert_decided_by_the_frontier(engine: LocalEngine) -> None:
    """Each answer is decided where the frontier reaches its window's end."""
    kind, frontier = engine.pipeline.kind, engine.frontier
    for _, _, step in engine.newest:
        assert step.answers.schema.names == kind.answer.names
        assert {*kind.late.names, "tick", "tuples", "frontier"} <= {*step.late[0].schema.names}
        assert step.decided_at.tolist() == frontier.closing(np.asarray(step.answers.column("window_end"))).tolist()


@every
@SOME
@given(case=disordered(min_tuples=1), rows=st.integers(1, 6))
def test_segments_of_a_batch_may_be_prepared_apart(name: str, case, rows: int) -> None:
    n = len(case[0])
    whole, in_parts = ran(name, case), ran(name, case, segments=range(min(rows, n), n, rows))
    assert_same(in_parts[0], whole[0], magnitude(case[0]))
    assert_same_late(in_parts[1], whole[1], magnitude(case[0]))


@every
@SOME
@given(case=disordered(min_tuples=1))
def test_step_with_nothing_late_is_evaluate(name: str, case) -> None:
    tuples, query = case
    assume(max(item.event_time for item in tuples) - min(item.event_time for item in tuples) < LONG)
    found, late = ran(name, (tuples, query.__class__(query.size, query.slide, query.tick, policy=("k_slack", LONG))))
    assert not late
    kind = kind_of(name, query.size, query.slide)
    assert_same(found, answers(kind.evaluate(content(kind, tuples))), magnitude(tuples))


@every
@SOME
@given(data=st.data(), case=disordered(min_tuples=2), tasks=st.integers(1, 3))
def test_cut_and_restored_between_any_ticks_the_answers_are_the_same(name: str, data, case, tasks: int) -> None:
    found = ran(name, case, drawn_batches(name, data, case), restarts=True, tasks=tasks)
    whole = ran(name, case)
    assert_same(found[0], whole[0], magnitude(case[0]))
    assert_same_late(found[1], whole[1], magnitude(case[0]))


@every
@SOME
@given(data=st.data(), case=disordered(min_tuples=2), restarts=st.booleans())
def test_with_another_number_of_tasks_in_any_batch_the_answers_are_the_same(name, data, case, restarts) -> None:
    batches = drawn_batches(name, data, case)
    tasks = data.draw(st.lists(st.integers(1, 4), min_size=len(batches) + 1, max_size=len(batches) + 1), label="tasks")
    found, whole = ran(name, case, batches, restarts=restarts, tasks=tasks), ran(name, case)
    assert_same(found[0], whole[0], magnitude(case[0]))
    assert_same_late(found[1], whole[1], magnitude(case[0]))


def drawn_batches(name: str, data: st.DataObject, case: tuple[list[Tuple], Settings]) -> list[int]:
    """Where batches begin after the first one."""
    starts = tick_starts(name, case)
    return [starts[index] for index in data.draw(cuts(len(starts)), label="cuts")]


@pytest.mark.needs("long")
@every
@SOME
@given(data=st.data(), case=disordered(min_tuples=2))
def test_a_quiet_stream_goes_on_and_each_tuple_is_in_an_answer_or_late(name: str, data, case) -> None:
    tuples, query = case
    batches = drawn_batches(name, data, case)
    n = len(batches) + 1
    quiet = data.draw(st.lists(st.booleans(), min_size=n, max_size=n), label="quiet")
    found, late = ran(name, case, batches, quiet=quiet)  # no answer twice: `ran` holds that
    again, late_again = ran(name, case, batches, restarts=True, quiet=quiet)
    assert_same(again, found, magnitude(tuples))
    assert_same_late(late_again, late, magnitude(tuples))
    kind = kind_of(name, query.size, query.slide)
    due = answers(kind.evaluate(content(kind, tuples)))
    missed = sum(row["tuples"] * windows_missed(kind, row) for row in late)
    if name not in OTHERWISE:
        assert tuples_in(found) + missed == tuples_in(due)


def tuples_in(found: dict[tuple, dict]) -> int:
    return sum(row["tuples"] for row in found.values() if row.get("rank", 1) == 1)


def windows_missed(kind: Kind, row: dict) -> int:
    """By each tuple of a late row."""
    return len(kind.windows.ends(np.array([row["pane_start"]]), None, row["frontier"])[0])


@every
def test_a_fresh_state_survives_too(name: str) -> None:
    kind = kind_of(name)
    kept = kind.start().to_arrow()
    again = kind.restore(kept, {}).to_arrow()
    assert {part: (batch.schema, batch.num_rows) for part, batch in again.items()} == {
        part: (batch.schema, batch.num_rows) for part, batch in kept.items()
    }


@every
@SOME
@given(case=disordered(min_tuples=1))
def test_what_is_amended_by_late_tuples_is_what_all_tuples_give(name: str, case) -> None:
    tuples, query = case
    kind, (found, late) = kind_of(name, query.size, query.slide), ran(name, case)
    missed = []
    for row in late:
        ends = kind.windows.ends(np.array([row["pane_start"]]), None, row["frontier"])[1].tolist()
        missed += [row | {"window_start": end - query.size, "window_end": end} for end in ends]
    columns = [kind.answer.field(part) for part in (*KEYS, "tuples")]
    if not isinstance(kind, IncrementallyCorrectable):
        return
    rows = pa.Table.from_pylist(missed, pa.schema([*columns, *kind.answers.amounts.items()]))
    amended = kind.amend(pa.Table.from_pylist([*found.values()], kind.answer), rows)
    assert amended.schema == kind.answer
    exact = answers(kind.evaluate(content(kind, tuples)))
    given_anew = exact.keys() - answers(amended).keys()
    assert not given_anew or amended.num_rows == 0
    assert_same(answers(amended), {window: exact[window] for window in answers(amended)}, magnitude(tuples))
