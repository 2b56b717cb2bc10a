"""The stateless stage: a segment of the log is read, checked, cut into ticks, combined, and addressed to tasks."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from tailrace import wire
from tailrace.columns import group_sums
from tailrace.disorder import ticks
from tailrace.kinds import Kind
from tailrace.partition.by_key import task_of
from tailrace.streams.check import Checked, Columns, check
from tailrace.streams.segments import Segment, Types, formats

Message = tuple[int, str, bytes]
"""A row through Spark: the task it goes to, what it is, its bytes."""


@dataclass(frozen=True)
class Content:
    """A segment as it was read: its tuples with their ticks, as far as the segment alone tells, and its rejects.

    `tuples` has, beside what `check` gives, `tick`; `summary` is the statistics of these ticks.
    """

    tuples: pa.RecordBatch
    summary: ticks.Ticks
    quarantine: pa.RecordBatch


@dataclass(frozen=True)
class Stage:
    """What a reader needs to know of a query: a frozen value, sent to every worker."""

    kind: Kind
    stream: str
    format: str
    columns: Columns
    types: Types
    tick_ms: int
    tasks: int

    def content(self, segment: Segment) -> Content:
        """Read and check a segment."""
        raw = formats()[self.format].read(segment, self.types)
        checked = check(raw.table, self.columns, raw.row, self.kind.key_type, segment.ingested_ms)
        tuples = checked.tuples
        arrival, row, event = (np.asarray(tuples.column(name)) for name in ("arrival_time", "row", "event_time"))
        tick, end = ticks.number(arrival, segment.position + row, self.tick_ms)
        quarantine = self._quarantine(segment, checked, raw.row, {b.row: (b.reason, b.record) for b in raw.broken})
        return Content(tuples.append_column("tick", pa.array(tick)), ticks.summarise(tick, end, event), quarantine)

    def messages(self, segment: Segment) -> list[Message]:
        """What every task is told of a segment: its own partials, and the query's statistics."""
        content = self.content(segment)
        partials = self.kind.combine(content.tuples)
        counts = self._counts(partials)
        owner = task_of(partials.column("key").dictionary, self.tasks)
        about = segment.to_json() | {"accepted": content.tuples.num_rows, "quarantined": content.quarantine.num_rows}
        shared = {"ticks": content.summary.to_arrow(), "counts": counts}
        found: list[Message] = [
            (task, "segment", wire.pack({"partials": _of_keys(partials, owner == task), **shared}, **about))
            for task in range(self.tasks)
        ]
        if content.quarantine.num_rows:
            found.append((segment.ordinal % self.tasks, "quarantine", wire.pack({"quarantine": content.quarantine})))
        return found

    def _counts(self, partials: pa.RecordBatch) -> pa.RecordBatch:
        """How many tuples each tick brought to each pane, over all keys: what coverage is computed from."""
        tick, pane, tuples = (np.asarray(partials.column(name)) for name in ("tick", "pane", "tuples"))
        ticks_there, tick_rank = np.unique(tick, return_inverse=True)
        panes_there, pane_rank = np.unique(pane, return_inverse=True)
        code, (tuples,) = group_sums(tick_rank * max(len(panes_there), 1) + pane_rank, tuples)
        tick_rank, pane_rank = np.divmod(code, max(len(panes_there), 1))
        columns = [ticks_there[tick_rank], panes_there[pane_rank], tuples]
        return pa.RecordBatch.from_arrays(list(map(pa.array, columns)), names=["tick", "pane", "count"])

    def _quarantine(
        self, segment: Segment, checked: Checked, row: np.ndarray, broken: dict[int, tuple[str, str]]
    ) -> pa.RecordBatch:
        """The rejects: where each stands, why it was rejected, and the record as it came."""
        rejected = row[checked.rejected].tolist()
        texts = formats()[self.format].records(segment, rejected) if rejected else []
        rejects = broken | dict(zip(rejected, zip(checked.reasons, texts)))
        rows = sorted(rejects)
        return pa.RecordBatch.from_pydict(
            {
                "stream": pa.array([self.stream] * len(rows), pa.string()),
                "position": pa.array([f"{segment.path}#{segment.first_row + place}" for place in rows], pa.string()),
                "arrival_time": pa.array([segment.ingested_ms] * len(rows), pa.int64()),
                "reason": pa.array([rejects[place][0] for place in rows], pa.string()),
                "record": pa.array([rejects[place][1] for place in rows], pa.string()),
            }
        )


def _of_keys(partials: pa.RecordBatch, mine: np.ndarray) -> pa.RecordBatch:
    """The rows of some of the keys, and only these in their dictionary."""
    code, keys = np.asarray(partials.column("key").indices), partials.column("key").dictionary
    rows = mine[code] if len(mine) else np.zeros(len(code), bool)
    code = (np.cumsum(mine) - 1)[code[rows]].astype(np.int32) if rows.any() else code[:0]
    own = pa.DictionaryArray.from_arrays(pa.array(code), keys.filter(pa.array(mine)))
    return partials.filter(pa.array(rows)).set_column(0, "key", own)
