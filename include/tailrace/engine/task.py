"""The stateful side of a query: one task, one batch at a time, in process or inside Spark's only stateful operator.

Each batch brings its header (`BatchHeader`: the settings in force, heartbeats) and segments of the log. Every task
sees the statistics of all segments, runs the query's clock over the complete ticks, and steps its own partials. The
newest tick stays pending, more of it may come; until a heartbeat says that the source has passed it, or that the
stream is quiet. Of several streams, a tick is complete when all that are not idle have passed it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from tailrace.disorder.clock import Clock
from tailrace.disorder.coverage import Coverage
from tailrace.engine import output_tables
from tailrace.engine.batch_header import BatchHeader
from tailrace.engine.tick_buffer import TickBuffer
from tailrace.ground import wire
from tailrace.ground.wire import Batches
from tailrace.kind.capabilities import tick_contents
from tailrace.kind.protocol import Kind

_ROWS_AT_ONCE = 500_000


@dataclass(frozen=True)
class Task:
    """One of the tasks that a query is spread over."""

    kind: Kind
    streams: tuple[str, ...]
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
        memory = self._start() if kept is None else self._restore(kept)
        clock, coverage, facts = memory.clock, memory.coverage, list(head.stamped)
        clock.facts, clock.idle_ms = head.settings, head.idle_ms
        sides = [self.streams.index(about["stream"]) for _, about in segments]
        arrived, found = memory.arrived.append(
            [(side, batches) for side, (batches, _) in zip(sides, segments, strict=True)]
        )
        arrived = self._silent(arrived, head, clock.end)
        complete, pending = arrived.split()
        windows = self.kind.windows
        contents = tick_contents(self.kind, windows, complete.counts, complete.sample)
        frontier = clock.advance(complete.ticks, contents)
        if head.closes and clock.latest is not None:  # else there was no tuple yet, and nothing is open
            frontier = clock.close(frontier, self.kind.answers.due(int(clock.latest.max())))
            facts += [] if head.ends else [output_tables.quiet(clock, arrived.newest_tick)]
        coverage.observe(windows, complete.counts, frontier)
        step = self.kind.step(memory.state, complete.rows, frontier)

        measured = output_tables.task_counts(self.kind.answers, segments, len(complete.ticks), step, frontier)
        measured |= output_tables.clock_columns(clock, coverage, pending)
        measured |= output_tables.arrival_classes(windows, complete.counts, frontier)
        output: Batches = {
            "results": output_tables.results(step, frontier),
            "late": output_tables.late(step.late, self.kind.late, frontier, self.streams),
            "metrics": output_tables.metrics(head, self.index, measured),
        }
        if self.index == 0:  # what all tasks agree on is written once
            places = [
                about | {"before_tick": tick, "before_end": end}
                for (_, about), (tick, end) in zip(segments, found, strict=True)
            ]
            output |= {"facts": output_tables.facts(facts), "segments": output_tables.segments(head.batch, places)}
        passing = [(what, data) for what, data in messages if what not in ("entry", "segment")]
        rows = [(table, wire.pack({table: part})) for table, batch in output.items() for part in _cut(batch)]
        return _TaskState(clock, coverage, step.state, pending).pack(), passing + rows

    def _silent(self, arrived: TickBuffer, head: BatchHeader, last_end: int) -> TickBuffer:
        """What has arrived, with what the silence after it says."""
        heartbeats = {self.streams.index(name): arrival_ms for name, arrival_ms in head.heartbeats.items()}
        arrived = arrived.silent(heartbeats, map(self.streams.index, head.idle))
        return arrived.complete_all(last_end) if head.closes else arrived

    def _start(self) -> _TaskState:
        nothing = [self.kind.prepare(each.no_tuples, side) for side, each in enumerate(self.kind.inputs)]
        return _TaskState(Clock(), Coverage(), self.kind.start(), TickBuffer.empty(self.tick_ms, nothing))

    def _restore(self, kept: bytes) -> _TaskState:
        batches, values = wire.unpack(kept)
        return _TaskState(
            Clock.unpack(wire.under("clock.", batches), values["clock"]),
            Coverage.from_json(values["coverage"]),
            self.kind.restore(wire.under("state.", batches)),
            TickBuffer.from_arrow(self.tick_ms, wire.under("arrived.", batches), values["arrived"]),
        )


def _cut(batch: pa.RecordBatch) -> list[pa.RecordBatch]:
    """The rows in parts that the JVM can take as one value each."""
    return [batch.slice(start, _ROWS_AT_ONCE) for start in range(0, batch.num_rows, _ROWS_AT_ONCE)]


@dataclass(frozen=True)
class _TaskState:
    """All that a task keeps: the clock, the kind's state, and what came in ticks that are not complete."""

    clock: Clock
    coverage: Coverage
    state: Any
    arrived: TickBuffer

    def pack(self) -> bytes:
        clock, clock_values = self.clock.pack()
        arrived, arrived_values = self.arrived.to_arrow()
        parts = {"state": self.state.to_arrow(), "clock": clock, "arrived": arrived}
        batches = {f"{part}.{name}": batch for part, named in parts.items() for name, batch in named.items()}
        values = {"clock": clock_values, "coverage": self.coverage.to_json(), "arrived": arrived_values}
        return wire.pack(batches, **values)
