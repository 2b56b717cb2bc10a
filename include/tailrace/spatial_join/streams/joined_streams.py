"""Common base of the two kinds of spatial joins of streams, by interval and by window."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, Self

import pyarrow as pa

from tailrace.ground.arrow.columns import Floats
from tailrace.kind.column_use import of_side
from tailrace.kind.explanation import KindExplanation
from tailrace.kind.inputs import Input
from tailrace.kind.joined_pairs import JoinedPairs
from tailrace.partition.routes import Partition, TaskSlot
from tailrace.spatial_join.streams.stream_join import StreamJoin

SHORTEST_FEEDBACK_MS = 10_000


@dataclass(frozen=True, kw_only=True)
class JoinedStreams(JoinedPairs):
    """Pairs of related geometries of two streams; a kind adds the condition on event times.

    Attributes
    ----------
    join : StreamJoin
    explanation : Explanation
    task_slot : TaskSlot or None
        The task that the kind runs in; None where there is only one.
    """

    join: StreamJoin
    explanation: KindExplanation
    task_slot: TaskSlot | None = None

    @property
    def inputs(self) -> tuple[Input, ...]:
        sides = enumerate(zip(self.join.inputs, self.column_types, strict=True))
        return tuple(
            Input(of_side(self.uses, side), geometry.check, geometry.check_file, types)
            for side, (geometry, types) in sides
        )

    @property
    def partition(self) -> Partition:
        return self.join.partition

    @property
    def feedback_ms(self) -> int:
        """The lifetime of rows; shorter periods would keep many plans in force at once."""
        return max(self.reach_ms, SHORTEST_FEEDBACK_MS)

    def next_plan(
        self, plan: Mapping[str, Any] | None, loads: Mapping[str, Floats], tasks: int
    ) -> Mapping[str, Any] | None:
        return self.join.next_plan(plan, loads, tasks)

    def for_task(self, task_slot: TaskSlot) -> Self:
        return replace(self, task_slot=task_slot)

    def prepare(self, tuples: pa.RecordBatch, side: int = 0) -> pa.RecordBatch:
        geometry, count = self.join.inputs[side], tuples.num_rows
        own = ["id", *self.times, "tick"]
        columns = [tuples.column(name) for name in own]
        columns += [pa.repeat(pa.scalar(value, pa.int64()), count) for value in (1, 0)]
        carried = self.inputs[side].carried
        columns += [*geometry.rows(tuples), *(tuples.column(name) for name in carried)]
        names = [*own, "tuples", "plan", *geometry.schema.names, *carried]
        return pa.RecordBatch.from_arrays(columns, names=names)
