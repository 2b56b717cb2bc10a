"""A query in one process: the stage and the tasks that run in Spark, batch by batch, over files or tables in memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from tailrace.disorder.policy import SlackPolicy
from tailrace.engine.batch_header import DECLARED, BatchHeader, next_facts
from tailrace.engine.stage import Stage
from tailrace.engine.task import Task
from tailrace.ground import wire
from tailrace.ground.facts import Facts, stamp
from tailrace.sources.check import Columns
from tailrace.sources.segments import RawSegment, Segment, Types


@dataclass(frozen=True)
class MemoryFormat:
    """A format whose files are tables in memory, by their names."""

    tables: Mapping[str, pa.Table]

    suffixes = ("",)

    def whole(self, path: Path, still: bool) -> bool:
        return True

    def types(self, path: Path, columns: Columns) -> Types:
        schema = self.tables[str(path)].schema
        return {name: str(schema.field(name).type) for name in columns.named().values()}

    def split(self, path: Path) -> list[Segment]:
        rows = self.tables[str(path)].num_rows
        return [Segment(str(path), 0, rows, of_rows=rows)] if rows else []

    def read(self, segment: Segment, types: Types) -> RawSegment:
        return RawSegment(self._rows(segment), np.arange(segment.rows), [])

    def records(self, segment: Segment, rows: Sequence[int]) -> list[str]:
        return [str(self._rows(segment).slice(row, 1).to_pylist()[0]) for row in rows]

    def segments(self, stream: str) -> list[Segment]:
        """The log of a stream that has these tables one after the other."""
        log: list[Segment] = []
        position = 0
        for name in self.tables:
            for segment in self.split(Path(name)):
                log.append(replace(segment, ordinal=len(log), position=position, stream=stream))
                position += segment.rows
        return log

    def _rows(self, segment: Segment) -> pa.Table:
        return self.tables[segment.path].slice(segment.first_row, segment.rows)


class LocalEngine:
    """Runs the batches of a query, one after the other.

    All that a task keeps goes through bytes between two batches, as in Spark: each batch is a restart.

    Attributes
    ----------
    states : list of bytes or None
        The state of each task; None before its first batch.
    newest_tick : int or None
        The newest tick that a tuple or a heartbeat has reached.
    complete_tick : int or None
        The last complete tick.
    """

    def __init__(self, stage: Stage) -> None:
        self.stage = stage
        self.states: list[bytes | None] = [None] * stage.tasks
        self.newest_tick: int | None = None
        self.complete_tick: int | None = None
        self._batches = 0
        self._rows = 0
        self._facts: Facts = ()

    def batch(
        self,
        policy: SlackPolicy,
        segments: Sequence[Segment] = (),
        plan: Mapping[str, Any] | None = None,
        **silence: Any,
    ) -> dict[str, pa.Table]:
        """Plan a batch under a policy, as the driver does, and run it; returns the rows that it gives to each table.

        Parameters
        ----------
        plan : mapping, optional
            A new partition plan.
        silence
            The other attributes of `BatchHeader`: what follows the segments.
        """
        facts = next_facts(self._facts, policy, DECLARED, self.newest_tick, self.complete_tick, self._batches)
        if plan is not None:
            facts = stamp(facts, "plan", plan, self._rows, DECLARED, self._batches)
        rows = self.run(BatchHeader(self._batches, facts, **silence), segments)
        self._rows += sum(segment.rows for segment in segments)
        self._batches, self._facts = self._batches + 1, facts
        return rows

    def run(self, header: BatchHeader, segments: Sequence[Segment] = ()) -> dict[str, pa.Table]:
        """Run a batch; returns the rows that it gives to each table."""
        messages = [message for segment in segments for message in self.stage.messages(segment, header)]
        return self.deliver(header, messages)

    def deliver(self, header: BatchHeader, messages: Sequence[tuple[int, str, bytes]]) -> dict[str, pa.Table]:
        """Run a batch whose segments were read already, by what the stage made of them."""
        parts: dict[str, list[pa.RecordBatch]] = {}
        for index in range(self.stage.tasks):
            to_task = [(what, data) for task, what, data in messages if task == index]
            task = Task(self.stage.kind, self.stage.streams, self.stage.tick_ms, index)
            self.states[index], output = task.advance(self.states[index], [("entry", header.pack()), *to_task])
            for table, data in output:
                parts.setdefault(table, []).append(wire.unpack(data)[0][table])
        rows = {table: pa.Table.from_batches(batches) for table, batches in parts.items()}
        metrics = rows["metrics"].slice(0, 1).to_pylist()[0]  # ticks are alike in all tasks
        self.newest_tick, self.complete_tick = metrics["newest_tick"], metrics["complete_tick"]
        return rows
