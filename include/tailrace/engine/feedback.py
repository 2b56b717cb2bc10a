"""Feedback balancing: the load of the tasks over a feedback period, from which a kind makes its next partition plan."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from tailrace.engine.task_change import TaskChange, change_after
from tailrace.ground.arrow.columns import Floats, group_sums, pair
from tailrace.ground.facts import Facts, newest
from tailrace.kind.capabilities import LoadBalanced
from tailrace.kind.protocol import Kind

FEEDBACK = "balanced by the load of the tasks"
"""Evidence of the plans that follow from the tasks' load."""


class Feedback:
    """Sums up the load of a query's tasks, and makes the next partition plan when a feedback period is over.

    It holds sums by element of the partition and task, so its size does not depend on the number of batches.

    A period is measured in arrival time, and ends with the batch that reaches its end; without any load it gives no
    plan. No answer depends on a plan, so a restarted driver just begins a new period.

    Attributes
    ----------
    kind : Kind
    plan : mapping or None
        The next plan, until it is taken; None where there is none.
    """

    def __init__(self, kind: Kind, tasks: int, plans_from: int = 0) -> None:
        """Start with the number of tasks of the checkpoint, and the first batch whose plans are for this number."""
        self.plan: Mapping[str, Any] | None = None
        self.kind, self._of_checkpoint = kind, (tasks, plans_from)
        self._change = TaskChange(tasks, tasks, plans_from)
        self._loads: Mapping[str, Floats] = {}
        self._began_ms: int | None = None

    def observe(self, metrics: Iterable[Mapping[str, Any]], facts: Facts) -> None:
        """Add the load of a batch; at the end of a period, make the next plan from the one in force.

        Parameters
        ----------
        metrics : rows of the table `metrics`
            One row for each task, times in ms.
        facts : tuple of Fact
            The facts of the batch.
        """
        change = change_after(facts, *self._of_checkpoint)
        if change.since != self._change.since:  # the loads so far belong to another number of tasks
            self.plan, self._loads, self._began_ms = None, {}, None
        self._change = change
        if not isinstance(self.kind, LoadBalanced) or change.now == 1:
            return
        rows = list(metrics)
        if new := [_load(row) for row in rows if row["loads"]]:
            self._loads = _summed([self._loads, *new])
        now_ms = rows[0]["committed"]  # all tasks have the same value
        if self._began_ms is None or now_ms is None:
            self._began_ms = now_ms
        elif now_ms - self._began_ms >= self.kind.feedback_ms:
            if self._loads:
                fact = newest(tuple(fact for fact in facts if fact.batch >= change.since), "plan")
                before = None if fact is None else fact.value
                plan = self.kind.next_plan(before, self._loads, change.now)
                self.plan = None if plan == before else plan
            self._loads, self._began_ms = {}, now_ms

    def take(self, facts: Facts) -> Mapping[str, Any] | None:
        """Return the next plan, and forget it; None if there is none for the number of tasks in these facts."""
        plan, self.plan = self.plan, None
        return plan if change_after(facts, *self._of_checkpoint).since == self._change.since else None


def _load(row: Mapping[str, Any]) -> Mapping[str, Floats]:
    """Return the load of a task in a batch by element of the partition, with the task's number beside each element."""
    loads = {name: np.asarray(values, np.float64) for name, values in dict(row["loads"]).items()}
    return loads | {"task": np.full(len(loads["load"]), float(row["task"]))}


def _summed(loads: Sequence[Mapping[str, Floats]]) -> dict[str, Floats]:
    """Return the sums of loads by element, the first column of each, and task; in ascending order."""
    parts = [part for part in loads if part]
    if not parts:
        return {}
    element, *measured = (name for name in parts[0] if name != "task")
    columns = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    group_id, split = pair(columns[element].astype(np.int64), columns["task"].astype(np.int64))
    group_id, sums = group_sums(group_id, *(columns[name] for name in measured))
    elements, task = (values.astype(np.float64) for values in split(group_id))
    return {element: elements, **dict(zip(measured, sums, strict=True)), "task": task}
