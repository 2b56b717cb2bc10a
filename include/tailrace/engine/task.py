"""The stateful side of a query: one task, one batch at a time, in process or inside Spark's only stateful operator.

Each batch brings its header (`BatchHeader`: the settings in force, heartbeats) and segments of the log. Every task
sees the statistics of all segments, runs the query's clock over the complete ticks, and steps its own partials. The
newest tick stays pending, more of it may come; until a heartbeat says that the source has passed it, or that the
stream is quiet.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa

from tailrace.disorder.clock import Clock
from tailrace.disorder.coverage import Coverage
from tailrace.engine import output_tables
from tailrace.engine.batch_header import BatchHeader
from tailrace.engine.tick_buffer import TickBuffer
from tailrace.ground import wire
from tailrace.ground.time_limits import BEFORE_ALL
from tailrace.ground.wire import Batches
from tailrace.kind.capabilities import tick_contents
from tailrace.kind.protocol import Kind

_ROWS_AT_ONCE = 500_000


@dataclass(frozen=True)
class Task:
    """One of the tasks that a query is spread over."""

    kind: Kind
    stream: str
    tick_ms: int
    index: int

    def advance(
        self, kept: bytes | None, messages: Iterable[tuple[str, bytes]]
    ) -> tuple[bytes, list[tuple[str, bytes]]]:
        """Take in a batch.

        Parameters
        ----------
        kept : bytes or None
            What the call before returned; None at the start.
        messages : pairs of (what, bytes)
            One `entry` and any number of `segment`, in any order; whatever else there is goes to the tables as it is.

        Returns
        -------
        kept : bytes
        output : list of (table, bytes)
            Rows for the tables, each a packed record batch under the table's name.
        """
        messages = list(messages)
        head = next(BatchHeader.unpack(data) for what, data in messages if what == "entry")
        segments = [wire.unpack(data) for what, data in messages if what == "segment"]
        segments.sort(key=lambda segment: segment[1]["ordinal"])
        memory = _TaskState.start(self.kind) if kept is None else _TaskState.restore(self.kind, kept)
        clock, coverage, facts = memory.clock, memory.coverage, list(head.stamped)
        clock.facts = head.settings
        arrived, places = memory.pending.append(segments)
        arrived = self._silent(arrived, head, clock.end)
        complete, pending = arrived.split()
        windows = self.kind.windows
        brought = tick_contents(self.kind, windows, complete.counts, complete.sample)
        frontier = clock.advance(complete.ticks, brought)
        if head.closes and clock.version:  # else there was no tuple yet, and nothing is open
            frontier = clock.close(frontier, int(windows.last_end(np.array([clock.t_max]))[0]))
            facts += [] if head.ends else [output_tables.quiet(clock, arrived.newest[0])]
        coverage.observe(windows, complete.counts, frontier)
        step = self.kind.step(memory.state, complete.partials, frontier)

        measured = output_tables.task_counts(self.kind.answers, segments, len(complete.ticks), step, frontier)
        measured |= output_tables.clock_columns(clock, coverage, *self._taken_in(pending))
        measured |= output_tables.arrival_classes(windows, complete.counts, frontier)
        output: Batches = {
            "results": output_tables.results(step, frontier),
            "late": output_tables.late(step.late, frontier, self.stream),
            "metrics": output_tables.metrics(head, self.index, measured),
        }
        if self.index == 0:  # what all tasks agree on is written once
            output |= {"facts": output_tables.facts(facts), "segments": output_tables.segments(head.batch, places)}
        passing = [(what, data) for what, data in messages if what not in ("entry", "segment")]
        rows = [(table, wire.pack({table: part})) for table, batch in output.items() for part in _cut(batch)]
        return _TaskState(clock, coverage, step.state, pending).pack(), passing + rows

    def _silent(self, arrived: TickBuffer, head: BatchHeader, last_end: int) -> TickBuffer:
        """What has arrived, with what the silence after it says."""
        if head.heartbeat_ms is not None:
            arrived = arrived.heartbeat(head.heartbeat_ms, self.tick_ms)
        return arrived.complete_all(self.tick_ms, last_end) if head.closes else arrived

    def _taken_in(self, pending: TickBuffer) -> tuple[int | None, int | None]:
        """The point of arrival time up to which every tuple has been taken in, and the newest tick; None before any."""
        tick, end = pending.newest
        return (None, None) if end == BEFORE_ALL else (end - max(self.tick_ms, 1), tick)


def _cut(batch: pa.RecordBatch) -> list[pa.RecordBatch]:
    """The rows in parts that the JVM can take as one value each."""
    return [batch.slice(start, _ROWS_AT_ONCE) for start in range(0, batch.num_rows, _ROWS_AT_ONCE)]


@dataclass(frozen=True)
class _TaskState:
    """All that a task keeps: the clock, the kind's state, and what came in the newest tick."""

    clock: Clock
    coverage: Coverage
    state: Any
    pending: TickBuffer

    @staticmethod
    def start(kind: Kind) -> _TaskState:
        return _TaskState(Clock(), Coverage(), kind.start(), TickBuffer.empty(kind))

    @staticmethod
    def restore(kind: Kind, kept: bytes) -> _TaskState:
        batches, values = wire.unpack(kept)
        clock = Clock.unpack(_named("clock.", batches), values["clock"])
        coverage = Coverage.from_json(values["coverage"])
        newest, end = values["newest"]
        return _TaskState(
            clock, coverage, kind.restore(_named("state.", batches)), TickBuffer.from_arrow(batches, (newest, end))
        )

    def pack(self) -> bytes:
        state = {f"state.{name}": batch for name, batch in self.state.to_arrow().items()}
        clock, values = self.clock.pack()
        kept = state | {f"clock.{name}": batch for name, batch in clock.items()} | self.pending.to_arrow()
        values = {"clock": values, "coverage": self.coverage.to_json(), "newest": self.pending.newest}
        return wire.pack(kept, **values)


def _named(prefix: str, batches: Batches) -> Batches:
    """The batches whose names begin so, by the rest of their names."""
    return {name.removeprefix(prefix): batch for name, batch in batches.items() if name.startswith(prefix)}
