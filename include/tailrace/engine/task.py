"""The stateful side of a query: one task, one batch at a time, in process or inside Spark's only stateful operator.

Each batch brings its header (`BatchHeader`: the settings in force, heartbeats) and segments of the log. Every task
sees the statistics of all segments, runs the query's clock over the complete ticks, and steps its own partials. The
newest tick stays pending, more of it may come; until a heartbeat says that the source has passed it, or that the
stream is quiet. Of several streams, a tick is complete when all that are not idle have passed it.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, NamedTuple

import pyarrow as pa

from tailrace.disorder.clock import Clock, Frontier
from tailrace.disorder.total_coverage import TotalCoverage
from tailrace.engine import output_tables
from tailrace.engine.batch_header import BatchHeader
from tailrace.engine.chunk_stores import ChunkStore, delete_unnamed, store_new
from tailrace.engine.repeats import Repeats, with_positions, without
from tailrace.engine.tick_buffer import CompleteTicks, TickBuffer
from tailrace.ground import wire
from tailrace.ground.columns import single_batch
from tailrace.ground.time_limits import AFTER_ALL
from tailrace.ground.wire import Batches
from tailrace.kind.capabilities import at_place, combined, tick_contents
from tailrace.kind.protocol import Kind
from tailrace.kind.step import Step
from tailrace.operators.chunk import ChunkedState
from tailrace.partition.routes import Place

_ROWS_AT_ONCE = 500_000


Message = tuple[str, bytes]
"""The kind of a message (or the table that its rows are for), and its bytes."""


@dataclass(frozen=True)
class TaskState:
    """The state of a task after a batch: the clock, the kind's state, the tick buffer, and the known ids."""

    batch: int
    clock: Clock
    coverage: TotalCoverage
    state: Any
    arrived: TickBuffer
    repeats: Repeats

    def pack(self, store: ChunkStore) -> bytes:
        """Serialize the state, and store its new chunks; `Task.restore` is the inverse."""
        chunks = store_new(store, self.state.chunks, self.batch) if isinstance(self.state, ChunkedState) else {}
        names = {part: [chunk.name for chunk in mine] for part, mine in chunks.items()}
        clock, clock_values = self.clock.pack()
        arrived, arrived_values = self.arrived.to_arrow()
        parts = {"state": self.state.to_arrow(), "clock": clock, "arrived": arrived, "repeats": self.repeats.to_arrow()}
        batches = {f"{part}.{name}": batch for part, named in parts.items() for name, batch in named.items()}
        values = {"clock": clock_values, "coverage": self.coverage.to_json(), "arrived": arrived_values}
        return wire.pack(batches, batch=self.batch, chunks=names, **values)


class TaskBatch(NamedTuple):
    """Result of a batch at a task.

    Attributes
    ----------
    state : TaskState
    output : list of (table, bytes)
        Rows for the tables, each a packed record batch under the table's name.
    frontier : Frontier
        The frontier (the watermark) at each tick that became complete, alike in all tasks.
    step : Step
        The kind's step over these ticks.
    """

    state: TaskState
    output: list[Message]
    frontier: Frontier
    step: Step


@dataclass(frozen=True)
class Task:
    """One of the tasks that a query is spread over.

    Attributes
    ----------
    store : ChunkStore
        Of the chunks of its state.
    tasks : int
        The number of all tasks.
    plans_from : int
        The first batch whose partition plans count: those before it are of another number of tasks.
    """

    kind: Kind
    streams: tuple[str, ...]
    tick_ms: int
    index: int
    store: ChunkStore
    tasks: int = 1
    deduplicates: bool = False
    plans_from: int = 0

    def advance(self, state: bytes | None, messages: Iterable[Message]) -> tuple[bytes, list[Message]]:
        """Advance a packed state (None: the initial one) by a batch; returns the next one, and rows for the tables.

        Parameters and rows are those of `step`.
        """
        batch = self.step(self.restore(state), messages)
        return batch.state.pack(self.store), batch.output

    def step(self, before: TaskState, messages: Iterable[Message]) -> TaskBatch:
        """Advance a state, which must not be used again, by a batch.

        Parameters
        ----------
        messages : pairs of (what, bytes)
            One `entry` and any number of `segment`, in any order; whatever else there is goes to the tables as it is.
        """
        messages = list(messages)
        head = next(BatchHeader.unpack(data) for what, data in messages if what == "entry")
        segments = [wire.unpack(data) for what, data in messages if what == "segment"]
        segments.sort(key=lambda segment: segment[1]["ordinal"])
        clock, coverage, facts = before.clock, before.coverage, list(head.stamped)
        clock.facts, clock.idle_ms = head.settings, head.idle_ms
        newest = (about["max_event"] for _, about in segments)
        clock.furthest = max([clock.furthest, *(event_ms for event_ms in newest if event_ms is not None)])
        sides = [self.streams.index(about["stream"]) for _, about in segments]
        arrived, found = before.arrived.append(
            [(side, batches) for side, (batches, _) in zip(sides, segments, strict=True)]
        )
        arrived = self._silent(arrived, head, clock.end)
        complete, pending = arrived.split()
        windows = self.kind.windows
        contents = tick_contents(self.kind, windows, complete.counts, complete.sample)
        frontier = clock.advance(complete.ticks, contents)
        if head.closes and clock.latest is not None:  # else there was no tuple yet, and nothing is open
            passed_ms = AFTER_ALL if head.ends else max(head.heartbeats.values(), default=AFTER_ALL)
            due, before_silence = self.kind.answers.due(clock.last_closing(passed_ms)), clock.frontier
            frontier = clock.close(frontier, due)
            if not head.ends and clock.frontier > before_silence:
                facts.append(output_tables.quiet(clock, arrived.newest_tick))
        coverage.observe(windows, complete.counts, frontier)
        rows, repeats, repeated = complete.rows, before.repeats, 0
        if self.deduplicates:
            rows, repeats = self._without_repeats(complete, repeats, frontier)
            repeated = sum(map(output_tables.total, complete.rows)) - sum(map(output_tables.total, rows))
        kind = at_place(self.kind, Place(self.index, self.tasks, head.plans(self.plans_from)))
        step = kind.step(before.state, rows, frontier)

        abouts = [about for _, about in segments]
        written = [each for each in abouts if "answers" in each and each["ordinal"] % self.tasks == self.index]
        measured = output_tables.task_counts(self.kind.answers, segments, len(complete.ticks), step, frontier, written)
        measured |= {"repeats": repeated} | output_tables.clock_columns(clock, coverage, pending)
        measured |= output_tables.arrival_classes(windows, complete.counts, frontier)
        output: Batches = {
            "results": output_tables.results(step, frontier),
            "late": output_tables.late(step.late, self.kind.late, frontier, self.streams),
            "metrics": output_tables.metrics(head, self.index, measured),
        }
        if self.index == 0:  # what all tasks agree on is written once
            places = [
                about | {"before_tick": tick, "before_end": end}
                for about, (tick, end) in zip(abouts, found, strict=True)
            ]
            output |= {"facts": output_tables.facts(facts), "segments": output_tables.segments(head.batch, places)}
        passing = [(what, data) for what, data in messages if what not in ("entry", "segment")]
        packed = [(table, wire.pack({table: part})) for table, batch in output.items() for part in _cut(batch)]
        state = TaskState(head.batch, clock, coverage, step.state, pending, repeats)
        return TaskBatch(state, passing + packed, frontier, step)

    def _without_repeats(
        self, complete: CompleteTicks, repeats: Repeats, frontier: Frontier
    ) -> tuple[tuple[pa.Table, ...], Repeats]:
        """The rows of complete ticks without repeats, combined; and the ids that are known then."""
        rows, known = [], []
        for side, (mine, ids, before) in enumerate(zip(complete.rows, complete.ids, repeats.known, strict=True)):
            event_time, tick = (ids.column(name).to_numpy() for name in ("event_time", "tick"))
            until, at_tick = self.kind.answers.expires(event_time, side), frontier.before(frontier.index(tick))
            after, positions = before.observe(ids, until, at_tick, frontier.last)
            known.append(after)
            rows.append(pa.Table.from_batches([combined(self.kind, single_batch(without(mine, positions)))]))
        return tuple(rows), Repeats(tuple(known))

    def _silent(self, arrived: TickBuffer, head: BatchHeader, last_end: int) -> TickBuffer:
        """Apply the heartbeats, idle streams and closing of a batch header to the tick buffer."""
        heartbeats = {self.streams.index(name): arrival_ms for name, arrival_ms in head.heartbeats.items()}
        arrived = arrived.silent(heartbeats, map(self.streams.index, head.idle))
        return arrived.complete_all(last_end) if head.closes else arrived

    def restore(self, state: bytes | None) -> TaskState:
        """Restore a state from its bytes, and delete the chunks that it needs no more; None: the initial state."""
        if state is None:
            rows, id_types = [], [each.column_types.id for each in self.kind.inputs]
            for side, each in enumerate(self.kind.inputs):
                prepared = self.kind.prepare(each.no_tuples, side)
                rows.append(
                    with_positions(prepared, each.no_tuples) if self.deduplicates else combined(self.kind, prepared)
                )
            arrived = TickBuffer.empty(self.tick_ms, rows, id_types)
            return TaskState(-1, Clock(), TotalCoverage(), self.kind.start(), arrived, Repeats.none(id_types))
        batches, values = wire.unpack(state)
        names = values["chunks"]
        named = dict.fromkeys(name for mine in names.values() for name in mine)
        if names:  # it is a state with chunks; to list those that there are is a request in an object store
            with suppress(OSError):  # the next batch deletes them; this one does not need that
                delete_unnamed(self.store, named, values["batch"])
        stored = self.store.read(named)
        chunks = {part: tuple(stored[name] for name in mine) for part, mine in names.items()}
        return TaskState(
            values["batch"],
            Clock.unpack(wire.under("clock.", batches), values["clock"]),
            TotalCoverage.from_json(values["coverage"]),
            self.kind.restore(wire.under("state.", batches), chunks),
            TickBuffer.from_arrow(self.tick_ms, wire.under("arrived.", batches), values["arrived"]),
            Repeats.from_arrow(wire.under("repeats.", batches)),
        )


def _cut(batch: pa.RecordBatch) -> list[pa.RecordBatch]:
    """The rows in parts that the JVM can take as one value each."""
    return [batch.slice(start, _ROWS_AT_ONCE) for start in range(0, batch.num_rows, _ROWS_AT_ONCE)]
