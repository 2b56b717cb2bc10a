"""Partitioning of a join of two streams by cells of a grid, with copies at boundaries and one owner for each pair."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tailrace.ground.arrow.columns import Floats, Ints, group_sums
from tailrace.ground.facts import Facts
from tailrace.partition.by_key import hash_of, task_of
from tailrace.partition.grid import Grid
from tailrace.partition.routes import LEFT, Routes, TaskSlot

Boxes = Callable[[int, pa.RecordBatch], tuple[Ints, Floats]]
"""(side, rows) → boxes that contain the partners of rows: the index of the row, shape (m,), and minx, miny, maxx, maxy
of each
box, shape (m, 4). A row may have several boxes, or none.
"""

CELLS_EACH = 64
"""A row whose box has more cells than this times the tasks goes to all tasks, as most of them hold one of its cells."""

AT_ONCE = 1 << 20
"""The number of cells of boxes that are processed at once."""

_TOLERATED = 1.25
"""The greatest load of a task, relative to the mean, at which the plan stays."""


@dataclass(frozen=True)
class ByCell:
    """The grid partitioning of paper 003 (section 2.1, Algorithm 3), with a plan that follows the load.

    A right row has a position on the Z-curve of cells: the number of its cell plus a fraction, the hash of its id. A
    plan, {"bounds": [b_1, …, b_{k−1}]}, cuts the curve into k ranges, one for each task, and may so cut a hot cell. A
    right row goes to the task of its position, once for each cell that it meets. A left row goes to every task that has
    a part of one of its cells. Without a plan the ranges are equal.

    Rows are routed by every plan under which a living row was placed. A pair belongs to the task that holds the
    position of its right row in the cell of its reference point, by the plan of its older row.

    Attributes
    ----------
    boxes : callable
        Returns the boxes of rows, see `Boxes`. The boxes of a matching pair intersect.
    """

    grid: Grid
    boxes: Boxes

    @property
    def needs_earlier_plans(self) -> bool:
        return True

    def assign(self, side: int, rows: pa.RecordBatch, plans: Facts, tasks: int) -> Routes:
        """Route rows with the column `id` and the columns that `boxes` needs; see `Partition.assign`."""
        ids = rows.column("id")
        row, boxes = self.boxes(side, rows)
        counts = self.grid.counts(boxes)
        everywhere = counts > CELLS_EACH * tasks
        routes = [np.unique(row[everywhere]) * tasks + task for task in range(tasks)]
        row, boxes, counts = row[~everywhere], boxes[~everywhere], counts[~everywhere]
        parts = None if side == LEFT else fraction(ids)[row]
        home, bounds = np.full(rows.num_rows, -1), _bounds_of(self.grid, plans, tasks)
        for block in _blocks(counts):
            box, cell = self.grid.cells(boxes[block])
            in_cell = row[block][box]
            low = cell if parts is None else cell + parts[block][box]
            high = cell + 1 if parts is None else low
            for inner in bounds.values():  # ends with the newest plan
                first = np.searchsorted(inner, low, "right")
                several = np.maximum(np.searchsorted(inner, high, "left"), first) - first + 1
                task = np.repeat(first, several) + _index_in_group(several)
                routes.append(np.unique(np.repeat(in_cell, several) * tasks + task))
                home[in_cell] = first
        elsewhere = np.flatnonzero(home < 0)
        home[elsewhere] = task_of(ids.take(pa.array(elsewhere)), tasks)
        routes.append(elsewhere * tasks + home[elsewhere])
        row, task = np.divmod(np.unique(np.concatenate(routes)), tasks)
        return Routes(row, task, task == home[row], plans[-1].version if plans else 0)

    def owned(self, position: Floats, of_pair: Ints, plan_version: Ints, task_slot: TaskSlot) -> NDArray[np.bool_]:
        """Test which pairs belong to a task; shape (m,). No pair of an expired row does.

        A chunk of stored rows may contain expired rows, placed under a plan that has been dropped.

        Parameters
        ----------
        position : ndarray, shape (s,)
            Positions of right rows, each in the cell of a reference point: a point that lies in a box of either row.
        of_pair : ndarray, shape (m,)
            The position of each pair, by its index.
        plan_version : ndarray, shape (m,)
            The version of the plan under which its older row was placed.
        """
        owned = np.zeros(len(of_pair), bool)
        for version, inner in _bounds_of(self.grid, task_slot.plans, task_slot.tasks).items():
            is_mine = np.searchsorted(inner, position, "right") == task_slot.task
            owned |= is_mine[of_pair] & (plan_version == version)
        return owned


def fraction(ids: pa.Array) -> Floats:
    """Hash each id to a number in [0, 1), a multiple of 2^−24; shape (m,)."""
    return (hash_of(ids) >> np.uint64(40)).astype(np.float64) * 2.0**-24


def next_plan(
    grid: Grid, plan: Mapping[str, Any] | None, cells: Ints, load: Floats, tasks: int
) -> Mapping[str, Any] | None:
    """Cut the Z-curve into ranges of equal load if the plan in force (None: equal ranges) is no longer balanced.

    Parameters
    ----------
    cells, load : ndarray, shape (m,)
        The load of a cell in a task and batch; cells may repeat.

    Returns
    -------
    mapping or None
        The plan in force if it stays.
    """
    cells, (load,) = group_sums(cells, load)
    total = float(load.sum())
    if total <= 0:
        return plan
    before = _equal(grid, tasks) if plan is None else np.asarray(plan["bounds"], float)
    shares = np.diff(_load_below(before, cells, load), prepend=0.0, append=total)
    if shares.max() <= _TOLERATED * total / tasks:
        return plan
    up_to, targets = np.cumsum(load), total * np.arange(1, tasks) / tasks
    cell = np.searchsorted(up_to, targets)
    return {"bounds": (cells[cell] + 1 - (up_to[cell] - targets) / load[cell]).tolist()}


def _load_below(bounds: Floats, cells: Ints, load: Floats) -> Floats:
    """Return the load of all positions below each bound, assuming an even spread within a cell."""
    cell = np.searchsorted(cells + 1.0, bounds, "right")  # the first one that does not end before the bound
    part = np.clip(bounds - np.append(cells, np.inf)[cell], 0.0, 1.0)
    return np.asarray(np.append(0.0, np.cumsum(load))[cell] + part * np.append(load, 0.0)[cell])


def _bounds_of(grid: Grid, plans: Facts, tasks: int) -> dict[int, Floats]:
    """Return the inner bounds of the tasks' ranges by the version of each plan.

    Version 0 is for rows before the first plan.
    """
    has_earlier = not plans or plans[0].earlier_event is not None  # none if its predecessor was dropped
    bounds = {0: _equal(grid, tasks)} if has_earlier else {}
    for plan in plans:
        bounds[plan.version] = np.asarray(plan.value["bounds"], float)
        if len(bounds[plan.version]) != tasks - 1:
            fault = f"plan {plan.version} is for {len(bounds[plan.version]) + 1} tasks, and the query has {tasks}"
            raise ValueError(fault)
    return bounds


def _equal(grid: Grid, tasks: int) -> Floats:
    return np.asarray(grid.numbers * np.arange(1, tasks) / tasks)


def _blocks(counts: Ints) -> Iterator[slice]:
    """Cut boxes, given their counts of cells, into blocks of at most `AT_ONCE` cells, or of one box."""
    block = np.cumsum(counts) // AT_ONCE
    starts = np.flatnonzero(np.diff(block, prepend=-1)).tolist()
    yield from (slice(start, end) for start, end in pairwise([*starts, len(counts)]))


def _index_in_group(counts: Ints) -> Ints:
    """Return 0, 1, … within each group of the given lengths."""
    return np.arange(int(counts.sum())) - np.repeat(np.cumsum(counts) - counts, counts)
