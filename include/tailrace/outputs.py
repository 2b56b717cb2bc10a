"""The rows that a task gives to the tables, times still in integer milliseconds."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa

from tailrace.disorder.clock import Clock, Fact, Frontier
from tailrace.disorder.coverage import Coverage
from tailrace.wire import Batches


def results(answers: pa.RecordBatch, frontier: Frontier) -> pa.RecordBatch:
    """The answers, each with K, as_of and the facts of the tick at which its window closed."""
    at = frontier.closing(np.asarray(answers.column("window_end")))
    stamps = {"k_ms": frontier.k_ms, "as_of": frontier.end, "facts_version": frontier.version}
    for name, values in stamps.items():
        answers = answers.append_column(name, pa.array(values[at]))
    return answers


def late(rows: pa.RecordBatch, frontier: Frontier, stream: str) -> pa.RecordBatch:
    """Late tuples by key, pane and tick.

    `arrived` is the end of the tick; the windows that end at or before `frontier` missed them.
    """
    tick = rows.column("tick")
    return pa.RecordBatch.from_pydict(
        {
            "stream": pa.array([stream] * rows.num_rows, pa.string()),
            "key": rows.column("key"),
            "pane_start": rows.column("pane"),
            "tick": tick,
            "tuples": rows.column("tuples"),
            "arrived": pa.array(frontier.end[frontier.index(np.asarray(tick))]),
            "frontier": rows.column("frontier"),
        }
    )


def facts(stamped: list[Fact]) -> pa.RecordBatch:
    """What was stamped in this batch."""
    return pa.RecordBatch.from_pydict(
        {
            "version": pa.array([fact.version for fact in stamped], pa.int64()),
            "from_tick": pa.array([fact.from_tick for fact in stamped], pa.int64()),
            "settings": pa.array([fact.settings for fact in stamped], pa.string()),
            "evidence": pa.array(["declared"] * len(stamped), pa.string()),
        }
    )


def segments(batch: int, places: list[dict[str, Any]]) -> pa.RecordBatch:
    """What was read of the log, and the tick that each segment found when it came."""
    names = ["ordinal", "position", "first_row", "rows", "ingested_ms"]
    names += ["accepted", "quarantined", "before_tick", "before_end"]
    return pa.RecordBatch.from_pydict(
        {
            "batch": pa.array([batch] * len(places), pa.int64()),
            "path": pa.array([p["path"] for p in places], pa.string()),
        }
        | {name: pa.array([place[name] for place in places], pa.int64()) for name in names}
    )


def metrics(
    entry: dict[str, Any],
    task: int,
    arrived: list[tuple[Batches, dict[str, Any]]],
    answers: pa.RecordBatch,
    late: pa.RecordBatch,
    frontier: Frontier,
    clock: Clock,
    coverage: Coverage,
) -> pa.RecordBatch:
    """One row: how a task stood at the end of a batch.

    `committed` is the point of arrival time up to which every tuple has been taken in; `latency_ms` is the mean time,
    in stream time, from the end of a window to its answer.
    """
    rows = sum(_total(batches["partials"]) for batches, _ in arrived)
    accepted = sum(about["accepted"] for _, about in arrived)
    ends = np.asarray(answers.column("window_end"))
    waits = frontier.end[frontier.closing(ends)] - ends if len(ends) else ends
    started = clock.end > 0
    return pa.RecordBatch.from_pydict(
        {
            "batch": pa.array([entry["batch"]], pa.int64()),
            "task": pa.array([task], pa.int64()),
            "rows": pa.array([rows], pa.int64()),
            "late": pa.array([_total(late)], pa.int64()),
            "answers": pa.array([answers.num_rows], pa.int64()),
            "ticks": pa.array([len(frontier)], pa.int64()),
            "t_max": pa.array([clock.t_max if started else None], pa.int64()),
            "frontier": pa.array([clock.frontier if started else None], pa.int64()),
            "committed": pa.array([clock.end if started else None], pa.int64()),
            "k_ms": pa.array([clock.k_ms], pa.int64()),
            "coverage": pa.array([coverage.share], pa.float64()),
            "latency_ms": pa.array([float(waits.mean()) if len(waits) else None], pa.float64()),
            "load": pa.array([rows / accepted if accepted else None], pa.float64()),
            "flushed": pa.array([entry["flush"]], pa.bool_()),
        }
    )


def _total(rows: pa.RecordBatch) -> int:
    return int(np.asarray(rows.column("tuples")).sum())
