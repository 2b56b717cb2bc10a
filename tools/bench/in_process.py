"""Parts of in-process runs: tasks that measure their CPU time, and the segments of each stretch of arrival time."""

from __future__ import annotations

import time
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Self

import numpy as np
import pyarrow as pa

from bench.local_engine import MemoryFormat
from generators.delays import epoch_ms
from tailrace.engine.batch_header import BatchHeader
from tailrace.engine.query_clock import ClockBatch
from tailrace.engine.task import SegmentRows, Task, TaskBatch, TaskState
from tailrace.sources.segments import Segment


@dataclass(frozen=True)
class TimedTask(Task):
    """A task that measures the CPU time of its steps, in s."""

    step_s: list[float] = field(default_factory=list)

    @classmethod
    def from_task(cls, task: Task) -> Self:
        return cls(*(getattr(task, name) for name in Task.__dataclass_fields__))

    def step(self, before: TaskState, header: BatchHeader, clock: ClockBatch, rows: Sequence[SegmentRows]) -> TaskBatch:
        start = time.process_time()
        batch = super().step(before, header, clock, rows)
        self.step_s.append(time.process_time() - start)
        return batch


def batches_of(
    formats: Mapping[str, MemoryFormat], streams: Mapping[str, pa.Table], batch_ms: int
) -> Iterator[list[Segment]]:
    """Yield the segments of each batch of `batch_ms` of arrival, one for each stream that has tuples then."""
    cuts: dict[str, list[int]] = {}
    start_ms = min(int(epoch_ms(table["arrival_time"])[0]) for table in streams.values())
    for name, table in streams.items():
        batch = (epoch_ms(table["arrival_time"]) - start_ms) // batch_ms
        cuts[name] = np.searchsorted(batch, np.arange(batch[-1] + 2)).tolist()
    logs = {name: iter(formats[name].segments(name, cuts[name])) for name in streams}
    ordinal = 0
    for number in range(max(map(len, cuts.values())) - 1):
        segments = []
        for name, log in logs.items():
            if number + 1 < len(cuts[name]) and cuts[name][number] < cuts[name][number + 1]:
                segments.append(replace(next(log), ordinal=ordinal))
                ordinal += 1
        yield segments
