"""Partitionings of a join that send one stream to all tasks, and spread the other by spans of a key, or by hash."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tailrace.ground.columns import Floats, Ints
from tailrace.ground.facts import Facts
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
        if (planned := len(plans[-1].value["bounds"]) - 1) != tasks:
            raise ValueError(f"plan {plans[-1].version} is for {planned} tasks, and the query has {tasks}")
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


def _to_one(task: Ints) -> Routes:
    return Routes(np.arange(len(task)), task, np.ones(len(task), bool))


def _to_all(rows: pa.RecordBatch, tasks: int) -> Routes:
    """Route each row to all tasks; its home is the task of its id's hash."""
    task = np.repeat(np.arange(tasks), rows.num_rows)
    row = np.tile(np.arange(rows.num_rows), tasks)
    return Routes(row, task, task == task_of(rows.column("id"), tasks)[row])
