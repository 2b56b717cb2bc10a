"""The partitioning by cells: every pair that meets has one owner, under any plans; plans follow the load."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.suite.examples import drawn
from tailrace.ground.facts import Fact
from tailrace.partition import by_cell
from tailrace.partition.by_cell import ByCell, fraction, next_plan
from tailrace.partition.grid import Grid
from tailrace.partition.routes import Routes, TaskSlot

MANY = drawn(100)
EXTENT = (-10.0, 0.0, 30.0, 20.0)
COORDINATES = st.floats(-15, 35) | st.sampled_from([-1e300, 1e300, -10.0, 30.0, 0.0, 10.0, 20.0, 5.0])


def boxes_of(side: int, rows: pa.RecordBatch) -> tuple[np.ndarray, np.ndarray]:
    """Those of the column `boxes`; a row may have none."""
    lists = rows.column("boxes").to_pylist()
    row = np.repeat(np.arange(len(lists)), [len(boxes) for boxes in lists])
    return row, np.array([box for boxes in lists for box in boxes], float).reshape(-1, 4)


def rows_of(ids: list[str], boxes: list[list[tuple[float, ...]]], plan: int = 0) -> pa.RecordBatch:
    columns = {"id": pa.array(ids, pa.string()), "boxes": pa.array(boxes, pa.list_(pa.list_(pa.float64())))}
    return pa.RecordBatch.from_pydict(columns | {"tuples": [1] * len(ids), "plan": [plan] * len(ids)})


@st.composite
def a_box(draw: st.DrawFn) -> tuple[float, ...]:
    x, y = (sorted([draw(COORDINATES), draw(COORDINATES)]) for _ in "xy")
    if draw(st.booleans()):
        x, y = [x[0]] * 2, [y[0]] * 2
    return x[0], y[0], x[1], y[1]


@st.composite
def plans(draw: st.DrawFn, grid: Grid, tasks: int) -> tuple[Fact, ...]:
    """The living plans: the first versions may be gone already."""
    first = draw(st.integers(1, 3))
    position = st.floats(-1, grid.numbers + 1) | st.integers(0, grid.numbers).map(float)
    earlier = st.sampled_from([None, 7])
    return tuple(
        Fact(
            "plan", version, 0, {"bounds": sorted(draw(position) for _ in range(tasks - 1))}, "drawn", 0, draw(earlier)
        )
        for version in range(first, first + draw(st.integers(0, 3)))
    )


def tasks_of(routes: Routes, row: int) -> set[int]:
    return set(routes.task[routes.row == row].tolist())


@MANY
@given(data=st.data(), n=st.integers(1, 20), tasks=st.integers(1, 5), at_once=st.sampled_from([1, 7, 1 << 20]))
def test_both_rows_of_a_pair_are_where_it_belongs(data: st.DataObject, n: int, tasks: int, at_once: int) -> None:
    grid = Grid(EXTENT, n)
    partition = ByCell(grid, boxes_of)
    living = data.draw(plans(grid, tasks))
    some_before = not living or (living[0].version == 1 and living[0].earlier_event is not None)
    versions = [0] * some_before + [plan.version for plan in living]
    rows, under, routes = [], [], []
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(by_cell, "CELLS_EACH", data.draw(st.sampled_from([1, 64])))
        patch.setattr(by_cell, "AT_ONCE", at_once)
        for side in (0, 1):
            boxes = data.draw(st.lists(st.lists(a_box(), max_size=2), min_size=1, max_size=5))
            placed = data.draw(st.sampled_from(versions))  # all its rows came under this plan, the newest then
            batch = rows_of([f"{side}{number}" for number in range(len(boxes))], boxes)
            rows.append(batch)
            under.append(placed)
            then = tuple(plan for plan in living if plan.version <= placed)
            routes.append(partition.assign(side, batch, then, tasks))
            assert routes[side].plan == (then[-1].version if then else 0)
            assert routes[side].row[routes[side].home].tolist() == list(range(len(boxes)))
    for left, mine in enumerate(rows[0].column("boxes").to_pylist()):
        for right, others in enumerate(rows[1].column("boxes").to_pylist()):
            for a in mine:
                for b in others:
                    x, y = max(a[0], b[0]), max(a[1], b[1])
                    if x > min(a[2], b[2]) or y > min(a[3], b[3]):
                        continue  # they do not meet
                    cell, ids = grid.cell(np.array([x]), np.array([y])), rows[1].column("id").slice(right, 1)
                    position, one, plan = cell + fraction(ids), np.array([0]), np.array([min(under)])
                    places = [TaskSlot(task, tasks, living) for task in range(tasks)]
                    owned = [partition.owned(position, one, plan, place).tolist() for place in places]
                    (owner,) = np.flatnonzero(owned).tolist()
                    assert owner in tasks_of(routes[0], left) & tasks_of(routes[1], right)


@MANY
@given(n=st.integers(1, 33), points=st.lists(st.tuples(COORDINATES, COORDINATES), min_size=1, max_size=20))
def test_a_point_lies_in_one_cell_which_its_box_meets(n: int, points: list[tuple[float, float]]) -> None:
    grid = Grid(EXTENT, n)
    x, y = np.array(points).T
    cell = grid.cell(x, y)
    assert ((cell >= 0) & (cell < grid.numbers)).all()
    box, cells = grid.cells(np.column_stack([x, y, x, y]))
    assert box.tolist() == list(range(len(points)))
    assert (cells == cell).all()


@pytest.mark.parametrize("n", [1, 3, 8, 1024])
def test_a_cell_has_the_column_and_the_row_of_its_middle(n):
    column, row = (np.random.default_rng(n).integers(0, n, 500) for _ in "xy")
    row = row[::-1]
    found = Grid((0.0, 0.0, float(n), float(n)), n).cell(column + 0.5, row + 0.5)
    assert [each.tolist() for each in Grid(EXTENT, n).places(found)] == [column.tolist(), row.tolist()]


def test_cells_are_numbered_along_the_z_curve() -> None:
    middle = np.arange(4) + 0.5
    x, y = (axis.ravel() for axis in np.meshgrid(middle, middle))
    number = Grid((0.0, 0.0, 4.0, 4.0), 4).cell(x, y).reshape(4, 4)
    assert number.tolist() == [[0, 1, 4, 5], [2, 3, 6, 7], [8, 9, 12, 13], [10, 11, 14, 15]]


def test_a_box_meets_all_cells_that_it_touches() -> None:
    grid = Grid((0.0, 0.0, 4.0, 4.0), 4)
    box, cells = grid.cells(np.array([[0.5, 0.5, 2.0, 1.5], [3.0, 3.0, 99.0, 99.0]]))
    assert box.tolist() == [0] * 6 + [1]
    assert sorted(cells[:6].tolist()) == [0, 1, 2, 3, 4, 6]
    assert cells[6] == 15
    assert grid.counts(np.array([[-9.0, -9.0, 9.0, 9.0]])).tolist() == [16]


def test_a_right_point_goes_to_one_task_and_a_left_one_to_those_of_its_neighbourhood() -> None:
    grid, ids = Grid((0.0, 0.0, 4.0, 4.0), 4), [f"t{number}" for number in range(50)]
    partition = ByCell(grid, boxes_of)
    point = [[(1.9, 1.9, 1.9, 1.9)]] * 50
    right = partition.assign(1, rows_of(ids, point), (), 4)
    assert right.row.tolist() == list(range(50))
    assert set(right.task.tolist()) == {0}  # cells 0 to 3 of 16
    near = partition.assign(0, rows_of(ids, [[(1.5, 1.5, 2.5, 2.5)]] * 50), (), 4)  # 3, 6, 9 and 12
    assert near.row.tolist() == np.repeat(np.arange(50), 4).tolist()
    hot = (Fact("plan", 2, 0, {"bounds": [3.25, 3.5, 3.75]}, "drawn"),)
    spread = partition.assign(1, rows_of(ids, point), hot, 4)
    assert spread.row.tolist() == list(range(50))
    assert np.bincount(spread.task).min() > 5  # one hot cell, in all tasks
    assert partition.assign(0, rows_of(ids, point), hot, 4).row.tolist() == np.repeat(np.arange(50), 4).tolist()


def test_a_copy_carries_the_version_of_its_plan_and_counts_once() -> None:
    grid = Grid((0.0, 0.0, 4.0, 4.0), 4)
    rows = rows_of(["a"], [[(0.0, 0.0, 3.9, 3.9)]])
    plan = (Fact("plan", 7, 0, {"bounds": [5.0]}, "drawn"),)
    routes = ByCell(grid, boxes_of).assign(0, rows, plan, 2)
    copies = [routes.rows_of(rows, task) for task in (0, 1)]
    assert [copy.column("plan").to_pylist() for copy in copies] == [[7], [7]]
    assert sorted(copy.column("tuples").to_pylist() for copy in copies) == [[0], [1]]


def test_a_plan_of_other_tasks_is_an_error() -> None:
    plan = (Fact("plan", 1, 0, {"bounds": [5.0]}, "drawn"),)
    with pytest.raises(ValueError, match="plan 1 is for 2 tasks, and the query has 3"):
        ByCell(Grid(EXTENT, 4), boxes_of).assign(0, rows_of(["a"], [[(0.0, 0.0, 1.0, 1.0)]]), plan, 3)


@MANY
@given(
    loads=st.dictionaries(st.integers(0, 255), st.integers(0, 10**6).map(float), max_size=30),
    tasks=st.integers(2, 9),
)
def test_a_plan_gives_all_tasks_the_same_load(loads: dict[int, float], tasks: int) -> None:
    grid = Grid(EXTENT, 16)
    cells, load = np.array(list(loads), np.int64), np.array(list(loads.values()), float)
    first = {"bounds": [-1.0] * (tasks - 1)}
    plan = next_plan(grid, first, cells, load, tasks)
    if load.sum() == 0:
        assert plan is first
        return
    assert plan is not None
    bounds = [-np.inf, *plan["bounds"], np.inf]
    parts = [
        sum(mass * max(0.0, min(high, cell + 1) - max(low, cell)) for cell, mass in loads.items())
        for low, high in pairwise(bounds)
    ]
    assert parts == pytest.approx([load.sum() / tasks] * tasks, rel=1e-6, abs=load.sum() * 1e-9)
    assert next_plan(grid, plan, cells, load, tasks) is plan, "it is balanced, so it stays"


def test_equal_ranges_stay_while_they_are_balanced() -> None:
    grid = Grid(EXTENT, 16)
    assert next_plan(grid, None, np.arange(256), np.ones(256), 4) is None
    moved = next_plan(grid, None, np.array([0, 1, 0]), np.array([1.0, 4.0, 3.0]), 4)
    assert moved == {"bounds": [0.5, 1.0, 1.5]}


def test_fractions_are_spread_over_the_unit_interval() -> None:
    parts = fraction(pa.array([f"taxi-{number}" for number in range(4000)]))
    counts = np.bincount((parts * 10).astype(int), minlength=10)
    assert ((parts >= 0) & (parts < 1)).all()
    assert (np.abs(counts - 400) < 5 * 20).all()


def test_rows_go_by_the_plan_alone_once_none_before_it_lives() -> None:
    grid, ids = Grid(EXTENT, 4), [f"r{number}" for number in range(50)]
    rows = rows_of(ids, [[(-10.0, 0.0, -10.0, 0.0)]] * 50)  # in the first cell
    partition, late = ByCell(grid, boxes_of), {"bounds": [-0.5]}
    for earlier, tasks in ((3, {0, 1}), (None, {1})):
        routes = partition.assign(1, rows, (Fact("plan", 1, 0, late, "", 0, earlier),), 2)
        assert set(routes.task.tolist()) == tasks
