"""The clock of a query, which advances once per batch for all tasks.

From the statistics of the batch's segments and the batch's header it determines which ticks are complete, and the
frontier (the watermark) after each of them. The newest tick stays pending, as more of it may come, until a heartbeat
reports that the source has passed it or that the stream is silent. With several streams, a tick is complete when all
streams that are not idle have passed it. The result depends only on the previous state and the batch, so each process
that runs tasks can compute it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from tailrace.disorder.clock import Frontier, StreamClock
from tailrace.disorder.total_coverage import TotalCoverage
from tailrace.engine import output_tables
from tailrace.engine.batch_header import BatchHeader
from tailrace.engine.repeats import Repeats
from tailrace.engine.row_buffer import Cut
from tailrace.engine.tick_buffer import CompleteTicks, TickBuffer
from tailrace.ground.arrow import wire
from tailrace.ground.arrow.columns import Ints
from tailrace.ground.arrow.wire import Batches
from tailrace.ground.time_limits import AFTER_ALL
from tailrace.kind.capabilities import sample_schema, tick_contents
from tailrace.kind.protocol import Enrichment, Kind, windowed
from tailrace.windows.windows import Windows

SegmentStatistics = tuple[dict[str, Any], Batches]
"""The record of a segment, and its statistics: `ticks`, `counts`, `sample` and `ids`."""


@dataclass(frozen=True)
class ClockState:
    """The state of the clock after a batch: the clock itself, the statistics of pending ticks, and the known ids."""

    batch: int
    clock: StreamClock
    coverage: TotalCoverage
    arrived: TickBuffer
    repeats: Repeats

    def pack(self) -> bytes:
        """Serialize the state; `QueryClock.restore` is the inverse."""
        clock, clock_values = self.clock.pack()
        arrived, arrived_values = self.arrived.to_arrow()
        parts = {"clock": clock, "arrived": arrived, "repeats": self.repeats.to_arrow()}
        batches = {f"{part}.{name}": batch for part, named in parts.items() for name, batch in named.items()}
        values = {"clock": clock_values, "coverage": self.coverage.to_json(), "arrived": arrived_values}
        return wire.pack(batches, batch=self.batch, **values)


class ClockBatch(NamedTuple):
    """The result of the clock that a batch's tasks need.

    Attributes
    ----------
    frontier : Frontier
        The frontier at each tick that became complete.
    least_tick : dict
        The least tick that a segment's rows can belong to, by the segment's ordinal.
    cuts : tuple of Cut
        Where the complete ticks end in each stream.
    repeats : tuple of ndarray, or None
        The positions of each stream's repeats among the tuples of complete ticks; None where repeats are not dropped.
    accepted, filtered : int
        The numbers of tuples in the batch's segments, and of records that `where` left out.
    columns : dict
        The values in `metrics` that describe the whole query, and so are equal in all rows of a batch.
    output : Batches
        The batch's rows of `facts` and `segments`; for an enrichment also its row of `metrics`.
    """

    frontier: Frontier
    least_tick: Mapping[int, int]
    cuts: tuple[Cut, ...]
    repeats: tuple[Ints, ...] | None
    accepted: int
    filtered: int
    columns: Mapping[str, Any]
    output: Batches


@dataclass(frozen=True)
class QueryClock:
    """Advances the clock of a declared query by batches.

    Attributes
    ----------
    deduplicates : bool
        Whether tuples with a repeated id are found.
    """

    kind: Kind
    streams: tuple[str, ...]
    tick_ms: int
    deduplicates: bool = False

    def step(
        self, before: ClockState, header: BatchHeader, segments: Sequence[SegmentStatistics]
    ) -> tuple[ClockState, ClockBatch]:
        """Advance a state by a batch, whose segments may be in any order; the state must not be used again."""
        segments = sorted(segments, key=lambda segment: segment[0]["ordinal"])
        records = [record for record, _ in segments]
        clock, coverage, windows = before.clock, before.coverage, self._windows
        clock.facts, clock.idle_ms = header.settings, header.idle_ms
        newest = (record["max_event"] for record in records)
        clock.furthest = max([clock.furthest, *(event_ms for event_ms in newest if event_ms is not None)])
        sides = [self.streams.index(record["stream"]) for record in records]
        arrived, least = before.arrived.append(
            [(side, statistics) for side, (_, statistics) in zip(sides, segments, strict=True)]
        )
        arrived = self._silent(arrived, header, clock.end)
        complete, pending = arrived.split()
        contents = None
        if windows is not None:
            contents = tick_contents(self.kind, windows, complete.counts, complete.sample)
        frontier, is_quiet = self._close(clock, header, clock.advance(complete.ticks, contents))
        facts = [*header.stamped, *([output_tables.quiet(clock, arrived.newest_tick)] if is_quiet else [])]
        columns: dict[str, Any] = {"ticks": len(complete.ticks)}
        if windows is not None:
            coverage.observe(windows, complete.counts, frontier)
            columns |= output_tables.arrival_classes(windows, complete.counts, frontier)
        columns |= output_tables.clock_columns(clock, coverage, pending)
        repeats, positions = before.repeats, None
        if self.deduplicates:
            repeats, positions = self._repeats(before.repeats, complete, frontier)
        read = [
            record | {"before_tick": tick, "before_end": end}
            for record, (tick, end) in zip(records, least, strict=True)
        ]
        output = {"facts": output_tables.facts(facts), "segments": output_tables.segments(header.batch, read)}
        if windows is None:  # without tasks, the clock writes the batch's row of `metrics`
            measured = output_tables.enrichment_counts(records) | columns
            output["metrics"] = output_tables.metrics(header, 0, measured)
        batch = ClockBatch(
            frontier,
            {record["ordinal"]: record["before_tick"] for record in read},
            complete.cuts,
            positions,
            sum(record["accepted"] for record in records),
            sum(record["filtered"] for record in records),
            columns,
            output,
        )
        return ClockState(header.batch, clock, coverage, pending, repeats), batch

    @property
    def _windows(self) -> Windows | None:
        """The windows in which tuples wait; None for an enrichment, whose tuples do not wait."""
        return None if isinstance(self.kind, Enrichment) else windowed(self.kind).windows

    def _close(self, clock: StreamClock, header: BatchHeader, frontier: Frontier) -> tuple[Frontier, bool]:
        """Close the open windows if the header says so; return the frontier, and whether silence has moved it."""
        if not header.closes or clock.latest is None:  # without a tuple so far, nothing is open
            return frontier, False
        passed_ms = AFTER_ALL if header.ends else max(header.heartbeats.values(), default=AFTER_ALL)
        until, before_silence = self.kind.answers.close_frontier(clock.last_closing(passed_ms)), clock.frontier
        return clock.close(frontier, until), not header.ends and clock.frontier > before_silence

    def _repeats(
        self, repeats: Repeats, complete: CompleteTicks, frontier: Frontier
    ) -> tuple[Repeats, tuple[Ints, ...]]:
        """Find the repeats among the tuples of complete ticks; return the ids known from then on, and the positions."""
        known, positions = [], []
        for side, (ids, before) in enumerate(zip(complete.ids, repeats.known, strict=True)):
            event_time, tick = (ids.column(name).to_numpy() for name in ("event_time", "tick"))
            until, at_tick = self.kind.answers.expiry_frontier(event_time, side), frontier.before(frontier.index(tick))
            after, position = before.observe(ids, until, at_tick, frontier.last)
            known.append(after)
            positions.append(position)
        return Repeats(tuple(known)), tuple(positions)

    def _silent(self, arrived: TickBuffer, header: BatchHeader, last_end: int) -> TickBuffer:
        """Apply the heartbeats, idle streams and closing of a batch header to the tick buffer."""
        heartbeats = {self.streams.index(name): arrival_ms for name, arrival_ms in header.heartbeats.items()}
        arrived = arrived.silent(heartbeats, map(self.streams.index, header.idle))
        return arrived.complete_all(last_end) if header.closes else arrived

    def restore(self, state: bytes | None) -> ClockState:
        """Restore a state from its bytes; None stands for the initial state."""
        if state is None:
            id_types = [each.column_types.id for each in self.kind.inputs]
            arrived = TickBuffer.empty(self.tick_ms, id_types, sample_schema(self.kind))
            return ClockState(-1, StreamClock(), TotalCoverage(), arrived, Repeats.none(id_types))
        batches, values = wire.unpack(state)
        return ClockState(
            values["batch"],
            StreamClock.unpack(wire.under("clock.", batches), values["clock"]),
            TotalCoverage.from_json(values["coverage"]),
            TickBuffer.from_arrow(self.tick_ms, wire.under("arrived.", batches), values["arrived"]),
            Repeats.from_arrow(wire.under("repeats.", batches)),
        )
