"""Simulation of a query over a stream in memory, for experiments that do not need Spark.

Pipeline, clock and kind are the same as in Spark, in `LocalEngine`. There is one task, so that the answers have one
order, and one batch, since no answer depends on how the stream is cut.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from bench.local_engine import LocalEngine, MemoryFormat, pipeline_in_memory
from tailrace.answers import identity
from tailrace.disorder.clock import Frontier
from tailrace.disorder.policies import settings_of
from tailrace.disorder.policy import SlackPolicy
from tailrace.engine.batch_header import BatchHeader
from tailrace.engine.next_facts import DECLARED
from tailrace.engine.pipeline import Pipeline
from tailrace.ground.facts import stamp
from tailrace.kind.inputs import ColumnTypes
from tailrace.kind.protocol import windowed
from tailrace.query.query import Query
from tailrace.sources.segments import Segment

WINDOW = list(identity.WINDOW.determining)


@dataclass(frozen=True)
class RecordedStream:
    """n records in order of arrival, and the tuples that a query makes of them, with their ticks."""

    table: pa.Table
    tuples: pa.RecordBatch

    @staticmethod
    def read(query: Query, table: pa.Table) -> RecordedStream:
        """Read a table in order of arrival, like the query.

        Raises
        ------
        ValueError
            When the query rejects a record.
        """
        pipeline, (segment,) = _source(query, table)
        content = pipeline.readers[0].read(segment)
        if content.quarantine.num_rows:
            reason = content.quarantine.column("reason")[0]
            raise ValueError(f"{content.quarantine.num_rows} records are rejected, the first one because of: {reason}")
        return RecordedStream(table, content.tuples)

    @property
    def types(self) -> ColumnTypes:
        """The types of the tuples' columns."""
        types = {field.name: field.type for field in self.tuples.schema}
        return ColumnTypes(types["key"], types["id"], types)

    @property
    def arrival_ms(self) -> NDArray[np.int64]:
        return self.column("arrival_time")

    def column(self, name: str) -> NDArray[np.int64]:
        return np.asarray(self.tuples.column(name))

    def first(self, n: int) -> RecordedStream:
        """Return the first n tuples."""
        return RecordedStream(self.table.slice(0, n), self.tuples.slice(0, n))


@dataclass(frozen=True)
class Simulated:
    """Answers of a simulated query, with their errors, late tuples and latency.

    Attributes
    ----------
    frontier : Frontier
        The frontier (the watermark) at each tick, and once more at the end, where it closes all windows.
    exact, answers : DataFrame
        The exact answers of all windows that hold a tuple, and the streamed answers; the latter with `k_ms` and
        `closed` (the end of the tick at which the window closed; ms).
    windows : DataFrame
        Each window that holds a tuple: `key`, `window_end`, `error`, and of its streamed answer `k_ms` and `closed`,
        null where there was none.
    late : DataFrame
        Tuples that missed a window: `pane_start`, `tuples`, `total`, `frontier` (they missed the windows that end at or
        before it), `arrived` (ms).
    latency_ms : float
        The mean time from the arrival of a tuple to the answer of a window that holds it (paper 002, section 2).
    """

    frontier: Frontier
    exact: pd.DataFrame
    answers: pd.DataFrame
    windows: pd.DataFrame
    late: pd.DataFrame
    latency_ms: float

    def off(self, error: float) -> float:
        """Return the share of windows whose error is at least `error`."""
        return float((self.windows["error"] >= error).mean())

    @property
    def mean_k_ms(self) -> float:
        """Mean of the slack K (allowed lateness) over time, with ticks weighted by their lengths."""
        lengths = np.diff(self.frontier.end)
        return float(np.average(self.frontier.k_ms[1:], weights=lengths)) if lengths.sum() else 0.0


def simulate(query: Query, stream: RecordedStream, later_settings: Iterable[tuple[SlackPolicy, int]] = ()) -> Simulated:
    """Run the query's policy and kind over the whole stream, and close all windows at its end.

    Parameters
    ----------
    later_settings : pairs of SlackPolicy and int
        Settings that come into force later: each from the first tick after the given one, in order.
    """
    pipeline, segments = _source(query, stream.table)
    facts = stamp((), "settings", settings_of(query.policy), 0, DECLARED)
    for policy, newest in later_settings:
        facts = stamp(facts, "settings", settings_of(policy), newest + 1, "found")
    engine, kind = LocalEngine(pipeline, restarts=False), windowed(pipeline.kind)
    engine.run(BatchHeader(0, facts, closes=True, ends=True), segments)
    frontier, step = engine.frontier, engine.newest[0].step
    answers, closing_index, (late,) = step.answers, step.decided_at, step.late
    streamed_answers = answers.to_pandas().assign(k_ms=frontier.k_ms[closing_index], closed=frontier.end[closing_index])
    exact = kind.evaluate(stream.tuples)
    error = kind.errors(*(pa.Table.from_batches([part]) for part in (answers, exact))).to_pandas()
    closings = streamed_answers[[*WINDOW, "k_ms", "closed"]].drop_duplicates(WINDOW)
    windows = error[[*WINDOW, "error"]].merge(closings, how="left", on=WINDOW)
    arrived_ms = frontier.end[frontier.index(np.asarray(late.column("tick")))]
    late_tuples = late.select(["pane_start", "tuples", "total", "frontier"]).to_pandas().assign(arrived=arrived_ms)
    sorted_windows = windows.sort_values(WINDOW, kind="stable", ignore_index=True)
    latency_ms = _latency(stream, kind.windows.ends(stream.column("event_time"), None, None), frontier)
    return Simulated(frontier, exact.to_pandas(), streamed_answers, sorted_windows, late_tuples, latency_ms)


def _source(query: Query, table: pa.Table) -> tuple[Pipeline, list[Segment]]:
    """Return the pipeline of one task that reads a table, and the log, which is one segment."""
    stream, memory = query.stream[0], MemoryFormat({"stream": table})
    return replace(pipeline_in_memory(query, {stream: memory}), tasks=1), memory.segments(stream)


def _latency(stream: RecordedStream, windows: tuple[NDArray[np.int64], NDArray[np.int64]], frontier: Frontier) -> float:
    row, end = windows
    before = frontier.before(frontier.index(stream.column("tick")))
    is_held = end > before[row]  # the tuple missed the others
    closed_ms = frontier.end[frontier.closing(end[is_held])]
    return float((closed_ms - stream.arrival_ms[row[is_held]]).mean())
