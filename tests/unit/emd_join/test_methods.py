"""The plans of the three methods, which follow from what the tasks measured."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.suite.examples import drawn
from tailrace.emd_join.columns import with_derived
from tailrace.emd_join.methods import LOADS, POINT, EmdDdsj, Head, Plan, ShuffleMethod
from tailrace.ground.facts import stamp
from tailrace.partition.by_span import cells_of, codes_of

WIDTH = 0.5
HEAD = Head(WIDTH, 1, (0.0, 1.0, 2.0, 3.0))


def loads(span: list[int], **measured: list[float]) -> dict[str, np.ndarray]:
    nothing = [0.0] * len(span)
    return {"span": np.array(span, float)} | {name: np.array(measured.get(name, nothing), float) for name in LOADS}


def tasks_of(plan: Plan, points: list[tuple[float, float]], tasks: int) -> list[int]:
    rows = pa.record_batch({"id": [str(number) for number in range(len(points))]})
    rows = with_derived(rows, {"keys": np.zeros((len(points), 1)), POINT: np.array(points, float)})
    return HEAD.partition.assign(
        0, rows, stamp((), "plan", dict(plan or {}), 0, "") if plan else (), tasks
    ).task.tolist()


def test_emd_ddsj_divides_by_both_terms_of_the_cost() -> None:
    """One span has all exact distances, another one all the filtering."""
    spans = [0, 1, 2, 3]
    solves = loads(spans, load=[90, 1, 1, 1], solve_ms=[90, 1, 1, 1])
    plan = EmdDdsj(WIDTH, 1).next_plan(None, solves, 2)
    assert plan is not None
    assert plan["hot"] == [0]
    mixed = loads(spans, load=[90, 1, 1, 1], solve_ms=[8, 0.1, 0.1, 0.1], filter_ms=[1, 3, 3, 3])
    plan = EmdDdsj(WIDTH, 1).next_plan(None, mixed, 2)
    assert plan is not None
    assert plan["bounds"] == [0, 1, 4]  # 9 and 9.3 ms
    assert not plan["hot"]
    filtering = loads(spans, load=[90, 1, 1, 1], filter_ms=[1, 1, 1, 1])
    plan = EmdDdsj(WIDTH, 1).next_plan(plan, filtering, 2)
    assert plan is not None
    assert plan["bounds"] == [0, 2, 4]  # numbers of exact distances alone do not count


def test_a_plan_stays_where_a_new_one_is_hardly_better() -> None:
    """Times are never twice the same, and each plan is a fact of the journal."""
    first = EmdDdsj(WIDTH, 1).next_plan(None, loads([0, 1, 2, 3], filter_ms=[10, 10, 10, 10]), 2)
    assert first == {"bounds": [0, 2, 4], "hot": []}
    same = EmdDdsj(WIDTH, 1).next_plan(first, loads([0, 1, 2, 3], filter_ms=[10.3, 10, 9.9, 10]), 2)
    assert same is first
    other = EmdDdsj(WIDTH, 1).next_plan(first, loads([0, 1, 2, 3], filter_ms=[30, 10, 10, 10]), 2)
    assert other == {"bounds": [0, 1, 4], "hot": []}
    moved = EmdDdsj(WIDTH, 1).next_plan(first, loads([5, 7], filter_ms=[10, 10]), 2)
    assert moved == {"bounds": [5, 7, 8], "hot": []}  # the former one spreads spans that it does not know


def test_half_of_a_hot_span_counts_for_the_task_before() -> None:
    plan = {"bounds": [0, 1, 3], "hot": [1]}
    cost = np.array([10.0, 40.0, 10.0])
    same = EmdDdsj(WIDTH, 1).next_plan(plan, loads([0, 1, 2], filter_ms=cost.tolist()), 2)
    assert same is plan  # 30 for either


@drawn(100)
@given(st.lists(st.tuples(st.floats(0, 10), st.floats(0, 10)), min_size=1, max_size=30), st.integers(2, 6))
def test_no_plan_over_cost_is_worse_than_its_heaviest_span_allows(costs: list[tuple[float, float]], tasks: int) -> None:
    """Over the measured cost, no task has more than the mean and the heaviest span."""
    filter_ms, solve_ms = (list(column) for column in zip(*costs, strict=True))
    plan = EmdDdsj(WIDTH, 1).next_plan(
        None, loads(list(range(len(costs))), filter_ms=filter_ms, solve_ms=solve_ms), tasks
    )
    cost = np.add(filter_ms, solve_ms)
    if not cost.any():
        assert plan is None
        return
    assert plan is not None
    of_task = np.zeros(tasks)
    for span, each in enumerate(cost):
        task = int(np.searchsorted(plan["bounds"], span, side="right")) - 1
        of_hot = span in plan["hot"]
        of_task[task] += each / 2 if of_hot else each
        of_task[task - 1] += each / 2 if of_hot else 0
    assert of_task.sum() == pytest.approx(cost.sum())
    assert of_task.max() <= (cost.sum() / tasks + cost.max()) * (1 + 1e-6)


def test_head_divides_by_tuples_in_two_dimensions_once() -> None:
    """Four groups of tuples, two of which have equal means: only the deviation tells these apart."""
    points = [(0.1, 0.1), (0.1, 5.0), (9.0, 0.1), (9.0, 5.0)]
    codes = codes_of(np.array(points), WIDTH).tolist()
    plan = HEAD.next_plan(None, loads(codes, tuples=[5, 5, 5, 5]), 4)
    assert tasks_of(plan, points, 4) == [0, 1, 2, 3]
    assert tasks_of(plan, [(0.0, 0.0), (0.0, 1e300), (1e300, 0.0), (1e300, 1e300)], 4) == [0, 1, 2, 3]
    assert HEAD.next_plan(plan, loads([7], tuples=[1]), 4) is plan


def test_a_plan_of_cells_for_another_number_of_tasks_is_refused() -> None:
    with pytest.raises(ValueError, match="is for 4 tasks, and the query has 5"):
        tasks_of(cells_of(np.arange(4), np.ones(4), 4), [(0.0, 0.0)], 5)


@drawn(100)
@given(
    st.lists(st.tuples(st.floats(0, 20), st.floats(0, 20)), min_size=1, max_size=200, unique=True), st.integers(1, 17)
)
def test_each_cell_has_its_share_of_the_tuples_except_for_ties(points: list[tuple[float, float]], tasks: int) -> None:
    """A cut between two columns or cells moves by no more than the tuples of one span."""
    codes = codes_of(np.array(points), WIDTH)
    plan = cells_of(codes, np.ones(len(points)), tasks)
    assert plan is not None
    counts = Counter(tasks_of(plan, points, tasks))
    assert set(counts) <= set(range(tasks))
    assert plan["bounds"] == sorted(plan["bounds"])
    assert all(each == sorted(each) for each in plan["deviations"])
    means = Counter((codes >> 20).tolist())
    squares = Counter(codes.tolist())
    deviations = Counter((codes & ((1 << 20) - 1)).tolist())
    tied = max(means.values()) + max(deviations.values()) + max(squares.values())
    assert max(counts.values()) <= len(points) / tasks + tied + 1


def test_without_a_plan_head_spreads_by_squares_and_the_right_stream_goes_to_all() -> None:
    assert tasks_of(None, [(0.1, 0.1), (0.2, 0.2)], 3) == [0, 0]
    rows = pa.record_batch({"id": ["a", "b"]})
    assert sorted(HEAD.partition.assign(1, rows, (), 3).task.tolist()) == [0, 0, 1, 1, 2, 2]


def test_without_tuples_head_has_no_cells_yet_and_shuffle_never_has_a_plan() -> None:
    assert HEAD.next_plan(None, loads([]), 2) is None
    assert ShuffleMethod(WIDTH, 1).next_plan(None, loads([0, 1], load=[5, 1], tuples=[1, 1]), 2) is None
