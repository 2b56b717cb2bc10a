"""The stateful side of a query: one task, one batch at a time, in process or inside Spark's only stateful operator.

Each batch brings an entry (what holds from now on, and whether the run ends) and segments of the log. Every task sees
the statistics of all segments, runs the query's clock over the ticks that are complete, and steps its own partials.
The newest tick stays pending: more of it may come.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from tailrace import outputs, wire
from tailrace.arrivals import Arrivals
from tailrace.disorder.clock import Clock
from tailrace.disorder.coverage import Coverage
from tailrace.kinds import Kind
from tailrace.wire import Batches

_ROWS_AT_ONCE = 500_000


@dataclass(frozen=True)
class Task:
    """One of the tasks that a query is spread over."""

    kind: Kind
    stream: str
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
        entry = next(json.loads(data) for what, data in messages if what == "entry")
        segments = [wire.unpack(data) for what, data in messages if what == "segment"]
        segments.sort(key=lambda segment: segment[1]["ordinal"])
        memory = _Memory.start(self.kind) if kept is None else _Memory.restore(self.kind, kept)
        clock, coverage, newest = memory.clock, memory.coverage, memory.pending.newest[0]
        stamped = [clock.stamp(entry["settings"], newest)] if entry["settings"] is not None else []

        arrived, places = memory.pending.follow(segments)
        complete, pending = arrived.split(arrived.newest[0] + (1 if entry["flush"] else 0))
        frontier = clock.advance(complete.ticks)
        coverage.observe(self.kind.windows, complete.counts, frontier, entry["flush"])
        state, answers, late = self.kind.step(memory.state, complete.partials, frontier, entry["flush"])

        output: Batches = {
            "results": outputs.results(answers, frontier),
            "late": outputs.late(late, frontier, self.stream),
            "metrics": outputs.metrics(entry, self.index, segments, answers, late, frontier, clock, coverage),
        }
        if self.index == 0:  # what all tasks agree on is written once
            output |= {"facts": outputs.facts(stamped), "segments": outputs.segments(entry["batch"], places)}
        passing = [(what, data) for what, data in messages if what not in ("entry", "segment")]
        rows = [(table, wire.pack({table: part})) for table, batch in output.items() for part in _cut(batch)]
        return _Memory(clock, coverage, state, pending).pack(), passing + rows


def _cut(batch: pa.RecordBatch) -> list[pa.RecordBatch]:
    """The rows in parts that the JVM can take as one value each."""
    return [batch.slice(start, _ROWS_AT_ONCE) for start in range(0, batch.num_rows, _ROWS_AT_ONCE)]


@dataclass(frozen=True)
class _Memory:
    """All that a task keeps: the clock, the kind's state, and what came in the newest tick."""

    clock: Clock
    coverage: Coverage
    state: Any
    pending: Arrivals

    @staticmethod
    def start(kind: Kind) -> _Memory:
        return _Memory(Clock(), Coverage(), kind.start(), Arrivals.none(kind))

    @staticmethod
    def restore(kind: Kind, kept: bytes) -> _Memory:
        batches, values = wire.unpack(kept)
        state = {name.removeprefix("state."): batch for name, batch in batches.items() if name.startswith("state.")}
        clock, coverage = Clock.from_json(values["clock"]), Coverage.from_json(values["coverage"])
        return _Memory(clock, coverage, kind.restore(state), Arrivals.from_arrow(batches))

    def pack(self) -> bytes:
        state = {f"state.{name}": batch for name, batch in self.state.to_arrow().items()}
        kept = state | self.pending.to_arrow()
        return wire.pack(kept, clock=self.clock.to_json(), coverage=self.coverage.to_json())
