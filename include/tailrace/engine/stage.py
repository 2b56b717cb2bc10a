"""The stateless stage: a segment of the log is read, checked, cut into ticks, combined, and addressed to tasks."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tailrace.disorder import ticks
from tailrace.disorder.tick_statistics import COUNTS
from tailrace.engine.batch_header import BatchHeader
from tailrace.ground import wire
from tailrace.ground.columns import group_sums, pair
from tailrace.ground.time_limits import EARLIEST_MS, LATEST_MS
from tailrace.kind.capabilities import sample_of
from tailrace.kind.protocol import Kind
from tailrace.kinds import build
from tailrace.partition.by_key import task_of
from tailrace.query.query import Query
from tailrace.sources import history
from tailrace.sources.check import Checked, Columns, check
from tailrace.sources.formats import FORMATS, is_history
from tailrace.sources.segments import Format, MalformedRecord, Segment, Types, is_integer

Message = tuple[int, str, bytes]
"""A row through Spark: the task it goes to, what it is, its bytes."""


@dataclass(frozen=True)
class SegmentContent:
    """A segment as it was read: its tuples with their ticks, as far as the segment alone tells, and its rejects.

    `tuples` has, beside what `check` gives, `position` (in the log), `tick` and `end` (of the tick); `summary` is the
    statistics of these ticks.
    """

    tuples: pa.RecordBatch
    summary: ticks.Ticks
    quarantine: pa.RecordBatch


def columns_of(query: Query) -> Columns:
    """What the query's stream must bring."""
    stream, kind = query.stream[1], build(query)
    first, last = kind.windows.within(EARLIEST_MS, LATEST_MS)
    names = stream.event_time, stream.arrival_time, stream.id, stream.key
    return Columns(*names, kind.columns, max(stream.bounds.earliest_ms, first), stream.bounds.ahead_ms, last)


def key_type_of(query: Query, types: Types) -> pa.DataType:
    """int64 for integers of any width, string for all else, also where the stream has no key."""
    key = query.stream[1].key
    return pa.int64() if key is not None and is_integer(types[key]) else pa.string()


def id_type_of(query: Query, types: Types) -> pa.DataType:
    """int64 for integers of any width, string for all else."""
    return pa.int64() if is_integer(types[query.stream[1].id]) else pa.string()


@dataclass(frozen=True)
class Stage:
    """What a reader needs to know of a query: a frozen value, sent to every worker.

    Attributes
    ----------
    history : Path or None
        Where accepted tuples are kept, if the source is no durable log with arrival times itself.
    """

    kind: Kind
    stream: str
    format: Format
    columns: Columns
    types: Types
    tick_ms: int
    tasks: int
    history: Path | None

    @staticmethod
    def of(query: Query, types: Types, history: Path) -> Stage:
        """The stage of a declared query whose source has columns of these types."""
        name, stream = query.stream
        kind, columns = build(query, key_type_of(query, types), id_type_of(query, types)), columns_of(query)
        kept = None if is_history(stream.source.format, columns) else history
        return Stage(kind, name, FORMATS[stream.source.format], columns, types, query.tick_ms, query.parallelism, kept)

    def content(self, segment: Segment) -> SegmentContent:
        """Read and check a segment."""
        raw = self.format.read(segment, self.types)
        checked = check(raw.table, self.columns, raw.row, self.kind.key_type, segment.ingested_ms)
        arrival, row, event = (np.asarray(checked.tuples.column(n)) for n in ("arrival_time", "row", "event_time"))
        position = segment.position + row
        tick, end = ticks.number(arrival, position, self.tick_ms)
        tuples = checked.tuples
        for name, column in (("position", position), ("tick", tick), ("end", end)):
            tuples = tuples.append_column(name, pa.array(column))
        quarantine = self._quarantine(segment, checked, raw.row, raw.malformed)
        return SegmentContent(tuples, ticks.summarise(tick, end, event), quarantine)

    def messages(self, segment: Segment, header: BatchHeader) -> list[Message]:
        """Read a segment of a batch; returns the messages to the tasks: partials, statistics, and rows for tables."""
        content = self.content(segment)
        partials = self.kind.combine(content.tuples)
        counts = self._counts(partials)
        owner = task_of(partials.column("key").dictionary, self.tasks)
        about = segment.to_json() | {"accepted": content.tuples.num_rows, "quarantined": content.quarantine.num_rows}
        about |= _ranges(content.tuples)
        drawn = sample_of(self.kind, content.tuples if header.sample else content.tuples.slice(0, 0))
        shared = {"ticks": content.summary.to_arrow(), "counts": counts, "sample": drawn}
        found: list[Message] = [
            (task, "segment", wire.pack({"partials": _of_keys(partials, owner == task), **shared}, **about))
            for task in range(self.tasks)
        ]
        aside = {"quarantine": content.quarantine}
        if self.history is not None:
            aside["history"] = history.write(content.tuples, segment.ordinal, self.history)
        to = segment.ordinal % self.tasks  # any task would do: these only pass through
        return found + [(to, name, wire.pack({name: batch})) for name, batch in aside.items() if batch.num_rows]

    def _counts(self, partials: pa.RecordBatch) -> pa.RecordBatch:
        """How many tuples each tick brought to each pane, over all keys: what coverage is computed from."""
        tick, pane, tuples = (np.asarray(partials.column(name)) for name in ("tick", "pane", "tuples"))
        code, split = pair(tick, pane)
        code, (tuples,) = group_sums(code, tuples)
        columns = [*split(code), tuples]
        return pa.RecordBatch.from_arrays(list(map(pa.array, columns)), schema=COUNTS)

    def _quarantine(
        self, segment: Segment, checked: Checked, row: np.ndarray, broken: list[MalformedRecord]
    ) -> pa.RecordBatch:
        """The rejects: where each stands, when it came, why it was rejected, and the record as it came."""
        rejected = row[checked.rejected].tolist()
        texts = self.format.records(segment, rejected) if rejected else []
        rejects = [*zip(rejected, checked.arrivals, checked.reasons, texts, strict=True)]
        rejects += [(fault.row, segment.ingested_ms, fault.reason, fault.record) for fault in broken]
        rejects.sort(key=lambda reject: reject[0])
        return pa.RecordBatch.from_pydict(
            {
                "stream": pa.array([self.stream] * len(rejects), pa.string()),
                "position": pa.array([f"{segment.path}#{segment.first_row + r[0]}" for r in rejects], pa.string()),
                "arrival_time": pa.array([r[1] for r in rejects], pa.int64()),
                "reason": pa.array([r[2] for r in rejects], pa.string()),
                "record": pa.array([r[3] for r in rejects], pa.string()),
            }
        )


def _ranges(tuples: pa.RecordBatch) -> dict[str, Any]:
    """The least and the greatest event time and id: what tells later whether a segment need be read; None: no tuple."""
    found: dict[str, Any] = {}
    for what, column in (("event", "event_time"), ("id", "id")):
        ends = pc.min_max(tuples.column(column)).as_py()
        found |= {f"min_{what}": ends["min"], f"max_{what}": ends["max"]}
    return found


def _of_keys(partials: pa.RecordBatch, mine: np.ndarray) -> pa.RecordBatch:
    """The rows of some of the keys, and only these in their dictionary."""
    code, keys = np.asarray(partials.column("key").indices), partials.column("key").dictionary
    rows = mine[code] if len(mine) else np.zeros(len(code), bool)
    code = (np.cumsum(mine) - 1)[code[rows]].astype(np.int32) if rows.any() else code[:0]
    own = pa.DictionaryArray.from_arrays(pa.array(code), keys.filter(pa.array(mine)))
    return partials.filter(pa.array(rows)).set_column(0, "key", own)
