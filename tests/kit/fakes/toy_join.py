"""A kind for tests: the join of two streams by equal values, with event times within a reach, or in an interval.

The right stream goes to all tasks, the left one to a task by the hash of the value and the salt of the partition plan.
A task measures the pairs of each value that it answers, and each feedback period has a plan with another salt.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tailrace.ground.arrow.columns import unify
from tailrace.ground.facts import Facts
from tailrace.kind.column_use import JOIN, ColumnUse, of_side
from tailrace.kind.inputs import Input
from tailrace.kind.joined_pairs import JoinedPairs
from tailrace.kind.pair_condition import condition_uses, selection_uses
from tailrace.operators.chunk import Chunk
from tailrace.operators.interval_join import Matches
from tailrace.partition.by_key import task_of
from tailrace.partition.routes import Routes


class ByValue:
    needs_earlier_plans = True

    def assign(self, side: int, rows: pa.RecordBatch, plans: Facts, tasks: int) -> Routes:
        count = rows.num_rows
        if side == 1:
            task, row = np.repeat(np.arange(tasks), count), np.tile(np.arange(count), tasks)
            return Routes(row, task, task == task_of(rows.column("id"), tasks)[row])
        salt = str(plans[-1].value["salt"]) if plans else ""
        values = pc.binary_join_element_wise(rows.column("value"), salt, "")
        return Routes(np.arange(count), task_of(values, tasks), np.ones(count, bool))


@dataclass(frozen=True)
class ToyJoin(JoinedPairs):
    feedback_ms: int = 10**15
    interval: tuple[int, int] | None = None

    sort_key = "value"

    @property
    def kept_ms(self) -> tuple[int, int]:
        lower, upper = self.interval or (-self.reach_ms, self.reach_ms)
        return max(upper, 0), max(-lower, 0)

    @property
    def inputs(self) -> tuple[Input, ...]:
        compared = (ColumnUse("value", JOIN, (), "value", side=side, dtype=pa.string()) for side in (0, 1))
        where = None if self.condition is None else self.condition.projection.where
        uses = [*compared, *selection_uses(self.selection, "toy_join.select"), *condition_uses(where, "toy_join.where")]
        return tuple(Input(of_side(uses, side), column_types=types) for side, types in enumerate(self.column_types))

    @property
    def partition(self) -> ByValue:
        return ByValue()

    def prepare(self, tuples: pa.RecordBatch, side: int = 0) -> pa.RecordBatch:
        rows = tuples.select(["id", *self.times, "tick", "value", *self.inputs[side].carried])
        return rows.append_column("tuples", pa.repeat(pa.scalar(1, pa.int64()), rows.num_rows))

    def next_plan(self, plan: Mapping[str, Any] | None, loads: Mapping[str, np.ndarray], tasks: int) -> dict[str, Any]:
        """A plan that names what it was made from; one that stays where no pair was found."""
        found = sorted(map(list, zip(*(loads[name].tolist() for name in ("letter", "task", "load")), strict=True)))
        return plan if not found else {"salt": 1 if plan is None else plan["salt"] + 1, "of": found, "tasks": tasks}

    def match(self, left: Sequence[Chunk], right: Sequence[Chunk], new: int) -> Matches:
        if not (left and right):
            return Matches(np.zeros(0, np.int64), np.zeros(0, np.int64))
        left, right = (pa.Table.from_batches([chunk.rows for chunk in side]) for side in (left, right))
        _, (a, b) = unify([left.column("value"), right.column("value")])
        order = np.argsort(b, kind="stable")
        low, high = (np.searchsorted(b[order], a, side=side) for side in ("left", "right"))
        of_left = np.repeat(np.arange(len(a)), high - low)
        place = np.arange(len(of_left)) - np.repeat(np.cumsum(high - low) - (high - low), high - low)
        of_right = order[np.repeat(low, high - low) + place]
        apart = right.column("event_time").to_numpy()[of_right] - left.column("event_time").to_numpy()[of_left]
        lower, upper = self.interval or (-self.reach_ms, self.reach_ms)
        near = (apart >= lower) & (apart <= upper)
        of_left, of_right = of_left[near], of_right[near]
        values, counts = np.unique(left.column("value").to_numpy()[of_left], return_counts=True)
        loads = {"letter": np.array([float(ord(value[0])) for value in values]), "load": counts.astype(float)}
        return Matches(of_left, of_right, loads=loads, counts={"compared": int((high - low).sum())})
