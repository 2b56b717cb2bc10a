"""Partitionings of a join with one stream in all tasks and the other spread by spans of a key, by cells, or by hash."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tailrace.ground.arrow.columns import Floats, Ints
from tailrace.ground.facts import Fact, Facts
from tailrace.partition.by_key import hash_of, task_of
from tailrace.partition.routes import LEFT, Routes

FARTHEST_SPAN = 2.0**52
"""The outermost span on either side; doubles, as in the table `metrics`, hold all integers up to 2^53."""


def span_of(keys: Floats, width: float) -> Ints:
    """Return the span of each key, floor(key / width); shape (n,).

    Spans end at ±2^52, and all keys beyond are in the outermost span, so that a span is exact as a double.

    Parameters
    ----------
    keys : ndarray, shape (n,)
        Finite numbers.
    width : float
        The width of a span in units of the key (w_span in Algorithm 2); positive.
    """
    with np.errstate(over="ignore"):  # a quotient that overflows lies beyond the outermost span
        spans = np.floor(keys / width)
    return np.clip(spans, -FARTHEST_SPAN, FARTHEST_SPAN).astype(np.int64)


@dataclass(frozen=True)
class BySpan:
    """The data-locality partitioning of EMD-DDSJ (paper 000, section 4): neighbouring keys of R go to one task.

    The newest plan, from `feedback_balancing.next_plan`, applies: {"bounds": [b_0, …, b_k], "hot": [span, …]}. Task i
    has the spans in [b_i, b_{i+1}). Each hot span is a bound: half its rows, by the hash of their ids, go to the task
    that ends there, the others to the task that begins there. Spans outside of [b_0, b_k) go to task span mod k;
    without a plan, all spans do. Routing is deterministic: it depends only on the row and the plan.

    Attributes
    ----------
    width : float
        The width of a span in units of the key; positive.
    """

    width: float

    @property
    def needs_earlier_plans(self) -> bool:
        return False

    def assign(self, side: int, rows: pa.RecordBatch, plans: Facts, tasks: int) -> Routes:
        """Route rows with the columns `key` (double, left input only) and `id`; see `Partition.assign`.

        Raises
        ------
        ValueError
            The plan is for another number of tasks.
        """
        if side != LEFT:
            return _to_all(rows, tasks)
        spans = span_of(np.asarray(rows.column("key")), self.width)
        if not plans:
            return _to_one(spans % tasks)
        _require_tasks(plans[-1], len(plans[-1].value["bounds"]) - 1, tasks)
        task, is_hot = tasks_of_spans(spans, plans[-1].value, tasks)
        of_hot = np.flatnonzero(is_hot)
        task[of_hot] -= (hash_of(rows.column("id").take(pa.array(of_hot))) & np.uint64(1)).astype(np.int64)
        return _to_one(task)


def tasks_of_spans(spans: Ints, plan: Mapping[str, Any], tasks: int) -> tuple[Ints, NDArray[np.bool_]]:
    """Return the task of each span under a plan of `BySpan`, and whether it is hot, shapes (n,).

    For a hot span, it is the task that begins there; the task before it gets the other half of its rows.
    """
    bounds, hot = (np.array(plan[name], np.int64) for name in ("bounds", "hot"))
    is_known = (spans >= bounds[0]) & (spans < bounds[-1])
    task = np.where(is_known, np.searchsorted(bounds, spans, side="right") - 1, spans % tasks)
    return task, np.isin(spans, hot)


_SIDE = 1 << 20
"""A code is the mean's span times this, plus the deviation's span. So it is exact as a double."""


@dataclass(frozen=True)
class ByHoughCell:
    """The partitioning of Head-SJ (paper 000, section 2): by cells of a space of points (mean, deviation).

    The space is cut into columns by the mean, and each column into cells by the deviation, a cell for each task, with
    equal numbers of the tuples from which `cells_of` makes the plan. The newest plan rules; without one, the code of a
    point's square does.

    Attributes
    ----------
    width : float
        The width of a square.
    column : str
        The column with the points, lists of 2.
    """

    width: float
    column: str

    @property
    def needs_earlier_plans(self) -> bool:
        return False

    def assign(self, side: int, rows: pa.RecordBatch, plans: Facts, tasks: int) -> Routes:
        """Route rows with the column of points (left input only) and `id`; see `Partition.assign`.

        Raises
        ------
        ValueError
            The plan is for another number of tasks.
        """
        if side != LEFT:
            return _to_all(rows, tasks)
        codes = codes_of(np.asarray(rows.column(self.column).flatten()).reshape(-1, 2), self.width)
        if not plans:
            return _to_one(codes % tasks)
        cuts, inner = plans[-1].value["bounds"][1:-1], plans[-1].value["deviations"]
        first = np.cumsum([0, *(len(each) + 1 for each in inner)])
        _require_tasks(plans[-1], int(first[-1]), tasks)
        means, deviations = codes // _SIDE, codes % _SIDE
        column, task = np.searchsorted(np.array(cuts, np.int64), means, side="right"), np.empty_like(codes)
        for each, bounds in enumerate(inner):
            mine = column == each
            task[mine] = first[each] + np.searchsorted(np.array(bounds, np.int64), deviations[mine], side="right")
        return _to_one(task)


def codes_of(points: Floats, width: float) -> Ints:
    """Return the code of the square of each point; squares are `width` wide, and both coordinates are at least 0."""
    mean, deviation = (np.clip(span_of(column, width), 0, _SIDE - 1) for column in points.T)
    return np.asarray(mean * _SIDE + deviation)


def cells_of(codes: Ints, tuples: Floats, tasks: int) -> Mapping[str, Any] | None:
    """Make the plan of a cell for each task, from the numbers of tuples by code; None without tuples.

    Returns
    -------
    mapping or None
        {"bounds": [b_0, …, b_c], "deviations": [[…], …], "hot": []}: column i has the means' spans from b_i on and
        below b_{i+1}, and its cells begin at the given spans of the deviation; the first one has all below.
    """
    if not tuples.any():
        return None
    count = round(np.sqrt(tasks))
    sizes = [tasks // count + (column < tasks % count) for column in range(count)]
    means, deviations = codes // _SIDE, codes % _SIDE
    cuts = _cuts(means, tuples, np.cumsum(sizes)[:-1] / tasks)
    column = np.searchsorted(cuts, means, side="right")
    inner = [
        _cuts(deviations[column == each], tuples[column == each], np.arange(1, size) / size)
        for each, size in enumerate(sizes)
    ]
    outermost = int(FARTHEST_SPAN)
    return {"bounds": [-outermost, *cuts, outermost + 1], "deviations": inner, "hot": []}


def _cuts(spans: Ints, weights: Floats, shares: Floats) -> list[int]:
    """Return the first span after each share of the weight, in ascending order; 0 where there is no weight."""
    if not weights.any():
        return [0] * len(shares)
    order = np.argsort(spans, kind="stable")
    before = np.cumsum(weights[order]) / weights.sum()
    at = np.minimum(np.searchsorted(before, shares * (1 - 1e-12)), len(order) - 1)
    return [int(span) + 1 for span in spans[order][at]]


@dataclass(frozen=True)
class ByHash:
    """The partitioning of ShuffleJ (paper 000, section 2): each row of R goes to the task of its id's hash.

    It needs no plan.
    """

    @property
    def needs_earlier_plans(self) -> bool:
        return False

    def assign(self, side: int, rows: pa.RecordBatch, plans: Facts, tasks: int) -> Routes:
        """Route rows with the column `id`; see `Partition.assign`."""
        return _to_one(task_of(rows.column("id"), tasks)) if side == LEFT else _to_all(rows, tasks)


def _require_tasks(plan: Fact, planned: int, tasks: int) -> None:
    if planned != tasks:
        raise ValueError(f"plan {plan.version} is for {planned} tasks, and the query has {tasks}")


def _to_one(task: Ints) -> Routes:
    return Routes(np.arange(len(task)), task, np.ones(len(task), bool))


def _to_all(rows: pa.RecordBatch, tasks: int) -> Routes:
    """Route each row to all tasks; its home is the task of its id's hash."""
    task = np.repeat(np.arange(tasks), rows.num_rows)
    row = np.tile(np.arange(rows.num_rows), tasks)
    return Routes(row, task, task == task_of(rows.column("id"), tasks)[row])
