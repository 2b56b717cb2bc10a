"""`BySpan` and `ByHash`: a left row has one task, whatever the cut into batches; a right row goes to all tasks."""

from __future__ import annotations

import math

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tailrace.ground.facts import Facts, stamp
from tailrace.partition.by_key import task_of
from tailrace.partition.by_span import ByHash, BySpan, span_of
from tailrace.partition.routes import Partition

LEFT, RIGHT = 0, 1
WIDTH = 15.0
TEXT_TASKS, NUMBER_TASKS = [0, 1, 1, 1, 1, 1, 1, 0], [0, 0, 1, 0, 1, 1, 1, 0]

some_keys = st.lists(st.floats(-400, 400) | st.floats(allow_nan=False, allow_infinity=False), max_size=40)


def rows(keys: list[float], ids: list | None = None) -> pa.RecordBatch:
    return pa.RecordBatch.from_pydict(
        {
            "id": pa.array([f"r{number}" for number in range(len(keys))] if ids is None else ids),
            "key": pa.array(keys, pa.float64()),
            "tuples": pa.array([1] * len(keys), pa.int64()),
        }
    )


def plan(bounds: list[int], hot: list[int]) -> Facts:
    older = stamp((), "plan", {"bounds": [0] * len(bounds), "hot": []}, 0, "")
    return stamp(older, "plan", {"bounds": bounds, "hot": hot}, 1, "")


@st.composite
def plans(draw) -> tuple[Facts, int]:
    """A plan, or none; and the number of tasks. Each hot span is the first of a task but the first."""
    tasks = draw(st.integers(1, 6))
    bounds = sorted(draw(st.lists(st.integers(-30, 30), min_size=tasks + 1, max_size=tasks + 1)))
    hot = [span for span in sorted(set(bounds[1:-1])) if span < bounds[-1] and draw(st.booleans())]
    return draw(st.sampled_from([(), plan(bounds, hot)])), tasks


def owners(span: int, facts: Facts, tasks: int) -> set[int]:
    """The tasks of a span, word by word from the docstring of `BySpan`."""
    if facts:
        bounds, hot = facts[-1].value["bounds"], facts[-1].value["hot"]
        for task in range(tasks):
            if bounds[task] <= span < bounds[task + 1]:
                return {task - 1, task} if span in hot else {task}
    return {span % tasks}


@given(some_keys, plans())
@example([1e300, -1e300, 1.7e308, -1.7e308, 5e-324, -0.0, 0.0, -5e-324], (plan([-2, 0, 3], [0]), 2))
def test_each_left_row_has_one_task_of_its_span(keys, drawn):
    facts, tasks = drawn
    routes = BySpan(WIDTH).assign(LEFT, rows(keys), facts, tasks)
    assert routes.row.tolist() == list(range(len(keys)))
    assert routes.home.all()
    for task, key in zip(routes.task.tolist(), keys, strict=True):
        span = max(-(2**52), min(2**52, math.floor(key / WIDTH)))
        assert 0 <= task < tasks
        assert task in owners(span, facts, tasks)


@given(some_keys, plans(), st.data())
def test_no_replay_and_no_cut_into_batches_changes_the_task_of_a_row(keys, drawn, data):
    facts, tasks = drawn
    batch, partition = rows(keys), data.draw(st.sampled_from([BySpan(WIDTH), ByHash()]))
    whole = partition.assign(LEFT, batch, facts, tasks).task.tolist()
    cut = data.draw(st.integers(0, len(keys)))
    order = data.draw(st.permutations(range(len(keys))))
    parts = [partition.assign(LEFT, part, facts, tasks).task.tolist() for part in (batch[:cut], batch[cut:])]
    assert parts[0] + parts[1] == whole
    moved = partition.assign(LEFT, batch.take(pa.array(order, pa.int64())), facts, tasks).task.tolist()
    assert moved == [whole[place] for place in order]


@pytest.mark.parametrize("partition", [BySpan(WIDTH), ByHash()], ids=["by span", "by hash"])
@given(keys=some_keys, drawn=plans())
def test_each_task_has_every_right_row_and_one_of_them_is_its_home(partition: Partition, keys, drawn):
    facts, tasks = drawn
    batch = rows(keys)
    routes = partition.assign(RIGHT, batch, facts, tasks)
    for task in range(tasks):
        assert routes.rows_of(batch, task).column("id").to_pylist() == batch.column("id").to_pylist()
    assert sorted(routes.row[routes.home].tolist()) == list(range(len(keys)))
    homes = {row: task for row, task, home in zip(*map(np.ndarray.tolist, routes[:3]), strict=True) if home}
    assert [homes[row] for row in range(len(keys))] == task_of(batch.column("id"), tasks).tolist()


def test_the_right_stream_needs_no_key():
    batch = pa.RecordBatch.from_pydict({"id": [7, 8]})
    assert BySpan(WIDTH).assign(RIGHT, batch, (), 2).task.tolist() == [0, 0, 1, 1]


def test_spans_of_a_plan():
    spans = [-9, -4, -3, -1, 0, 1, 6, 7, 8, 100]
    routes = BySpan(WIDTH).assign(LEFT, rows([span * WIDTH for span in spans]), plan([-4, -1, 1, 1, 7], []), 4)
    beyond = [-9 % 4, 7 % 4, 8 % 4, 100 % 4]
    assert routes.task.tolist() == [beyond[0], 0, 0, 1, 1, 3, 3, *beyond[1:]]


def test_a_hot_span_is_halved_between_the_tasks_beside_its_bound():
    batch = rows([30.0] * 4_000 + [29.9, 45.0])
    tasks = BySpan(WIDTH).assign(LEFT, batch, plan([0, 1, 2, 2, 9], [2]), 4).task
    assert np.bincount(tasks[:-2]).tolist()[:2] == [0, 0]
    assert abs(np.bincount(tasks[:-2])[2] - 2_000) < 5 * math.sqrt(1_000)
    assert tasks[-2:].tolist() == [1, 3]


# Frozen values: a batch that is replayed by a later version has to send its rows to the same tasks.
@pytest.mark.parametrize(("ids", "tasks"), [([*"abcdefgh"], TEXT_TASKS), (list(range(8)), NUMBER_TASKS)])
def test_the_halves_of_a_hot_span_never_change(ids, tasks):
    assert BySpan(1.0).assign(LEFT, rows([0.5] * 8, ids), plan([0, 0, 1], [0]), 2).task.tolist() == tasks


def test_without_a_plan_the_spans_take_turns():
    keys = [-15.1, -15, -0.1, 0, 14.9, 15, 30, 45]
    assert BySpan(WIDTH).assign(LEFT, rows(keys), (), 3).task.tolist() == [1, 2, 2, 0, 0, 1, 2, 0]


@pytest.mark.parametrize("tasks", [1, 2, 4])
def test_a_plan_for_another_number_of_tasks_is_an_error(tasks):
    with pytest.raises(ValueError, match=f"plan 2 is for 3 tasks, and the query has {tasks}"):
        BySpan(WIDTH).assign(LEFT, rows([1.0]), plan([0, 1, 2, 3], []), tasks)


@given(st.lists(st.floats(allow_nan=False, allow_infinity=False)), st.sampled_from([1e-300, 0.25, 15.0, 1e300]))
@example([1e300, -1e300], 1e-10)
def test_spans_ascend_with_keys_and_are_exact_as_doubles(keys, width):
    spans = span_of(np.array(sorted(keys)), width)
    assert spans.dtype == np.int64
    assert (np.diff(spans) >= 0).all()
    assert spans.astype(np.float64).astype(np.int64).tolist() == spans.tolist()
    assert all(abs(span) <= 2**52 for span in spans.tolist())
