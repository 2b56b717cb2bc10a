"""A kind for tests: the join of two streams by equal values, with event times within a reach.

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

from tailrace.answers.by_pair import ByPair
from tailrace.disorder.clock import Frontier
from tailrace.ground.columns import single_batch, unify
from tailrace.ground.facts import Facts
from tailrace.kind.inputs import Input, NameTypes, common_id_type
from tailrace.kind.step import Step
from tailrace.operators import interval_join
from tailrace.operators.chunk import Chunks
from tailrace.operators.interval_join import Matches, PairState
from tailrace.partition.by_key import task_of
from tailrace.partition.routes import Routes
from tailrace.windows.sliding import Sliding


class ByValue:
    def assign(self, side: int, rows: pa.RecordBatch, plans: Facts, tasks: int) -> Routes:
        count = rows.num_rows
        if side == 1:
            task, row = np.repeat(np.arange(tasks), count), np.tile(np.arange(count), tasks)
            return Routes(row, task, task == task_of(rows.column("id"), tasks)[row])
        salt = str(plans[-1].value["salt"]) if plans else ""
        values = pc.binary_join_element_wise(rows.column("value"), salt, "")
        return Routes(np.arange(count), task_of(values, tasks), np.ones(count, bool))


@dataclass(frozen=True)
class ToyJoin:
    """The kind; the types of the two streams' ids may differ."""

    reach_ms: int
    left_id: pa.DataType = pa.string()  # noqa: RUF009
    right_id: pa.DataType = pa.string()  # noqa: RUF009
    feedback_ms: int = 10**15

    @property
    def windows(self) -> Sliding:
        return Sliding(max(self.reach_ms, 1), max(self.reach_ms, 1))

    @property
    def inputs(self) -> tuple[Input, ...]:
        ids = self.left_id, self.right_id
        return tuple(Input({"value": "value"}, NameTypes(pa.string(), id_), {"value": pa.string()}) for id_ in ids)

    @property
    def partition(self) -> ByValue:
        return ByValue()

    @property
    def answers(self) -> ByPair:
        return ByPair(self.reach_ms)

    @property
    def late(self) -> pa.Schema:
        return self.answers.late(common_id_type(self.inputs))

    @property
    def answer(self) -> pa.Schema:
        return pa.schema([*self.answers.fields(self.left_id, self.right_id), ("tuples", pa.int64())])

    def prepare(self, tuples: pa.RecordBatch, side: int = 0) -> pa.RecordBatch:
        rows = tuples.select(["id", "event_time", "tick", "value"])
        return rows.append_column("tuples", pa.repeat(pa.scalar(1, pa.int64()), rows.num_rows))

    def start(self) -> PairState:
        return PairState()

    def restore(self, batches: dict[str, pa.RecordBatch], chunks: Chunks) -> PairState:
        return PairState.of(chunks)

    def step(self, state: PairState, arrived: tuple[pa.Table, ...], frontier: Frontier) -> Step:
        state, pairs, late = interval_join.step(self.reach_ms, self.match, state, arrived, frontier, "value")
        return Step(state, self._answers(pairs.left, pairs.right), pairs.decided_at, late, pairs.loads)

    def next_plan(self, plan: Mapping[str, Any] | None, loads: Mapping[str, np.ndarray], tasks: int) -> dict[str, Any]:
        """A plan that names what it was made from; one that stays where no pair was found."""
        found = sorted(map(list, zip(*(loads[name].tolist() for name in ("letter", "task", "load")), strict=True)))
        return plan if not found else {"salt": 1 if plan is None else plan["salt"] + 1, "of": found, "tasks": tasks}

    def evaluate(self, *content: pa.RecordBatch) -> pa.RecordBatch:
        found = self.match(*([part] for part in content))
        return self._answers(
            *(
                pa.Table.from_batches([part]).take(pa.array(index))
                for part, index in zip(content, (found.left, found.right), strict=True)
            )
        )

    def match(self, *sides: Sequence[pa.RecordBatch]) -> Matches:
        if not all(sides):
            return Matches(np.zeros(0, np.int64), np.zeros(0, np.int64))
        left, right = map(pa.Table.from_batches, sides)
        _, (a, b) = unify([left.column("value"), right.column("value")])
        order = np.argsort(b, kind="stable")
        low, high = (np.searchsorted(b[order], a, side=side) for side in ("left", "right"))
        of_left = np.repeat(np.arange(len(a)), high - low)
        place = np.arange(len(of_left)) - np.repeat(np.cumsum(high - low) - (high - low), high - low)
        of_right = order[np.repeat(low, high - low) + place]
        apart = left.column("event_time").to_numpy()[of_left] - right.column("event_time").to_numpy()[of_right]
        near = np.abs(apart) <= self.reach_ms
        of_left, of_right = of_left[near], of_right[near]
        values, counts = np.unique(left.column("value").to_numpy()[of_left], return_counts=True)
        loads = {"letter": np.array([float(ord(value[0])) for value in values]), "load": counts.astype(float)}
        return Matches(of_left, of_right, loads=loads)

    def errors(self, approximate: pa.Table, exact: pa.Table) -> pa.RecordBatch:
        identity = self.answers.identity
        missing = identity.find(exact, approximate) < 0
        rows = exact.select(list(identity.columns)).append_column("error", pa.array(missing.astype(float)))
        return single_batch(rows)

    def quality(self, approximate: pa.Table, exact: pa.Table) -> float:
        error = np.asarray(self.errors(approximate, exact).column("error"))
        return float(1 - error.mean()) if len(error) else 1.0

    def _answers(self, left: pa.Table, right: pa.Table) -> pa.RecordBatch:
        columns: list[Any] = [
            left.column("id"),
            right.column("id"),
            left.column("event_time"),
            right.column("event_time"),
        ]
        columns.append(pa.repeat(pa.scalar(2, pa.int64()), left.num_rows))
        return single_batch(pa.table(columns, schema=self.answer))
