"""The rows of a batch for the tables, with times still in integer milliseconds."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa

from tailrace.answers.model import AnswerModel
from tailrace.answers.versions import without_retracted
from tailrace.disorder.clock import Frontier, StreamClock
from tailrace.disorder.total_coverage import TotalCoverage
from tailrace.engine.batch_header import BatchHeader
from tailrace.engine.tick_buffer import TickBuffer
from tailrace.ground.duration import format_time
from tailrace.ground.facts import Fact
from tailrace.ground.time_limits import BEFORE_ALL, EARLIEST_MS
from tailrace.kind.step import Step
from tailrace.partition.feedback_balancing import load_imbalance
from tailrace.tables.stream import CLASSES, FACTS, METRICS, SEGMENTS
from tailrace.windows.windows import Windows

_ANSWERED_AT = "answered at"
"""An extra column of answers; its name has a space, which no column of an answer has."""

WITHHELD = "withheld"
"""The name, among the counts of `metrics`, of the number of windows whose answers do not meet the query's `having`."""


def results(step: Step, frontier: Frontier) -> pa.RecordBatch:
    """Return the answers, each with K, as_of and the facts of the tick that decided it."""
    answers = step.answers
    stamps = {"k_ms": frontier.k_ms, "as_of": frontier.end, "facts_version": frontier.version}
    for name, values in stamps.items():
        answers = answers.append_column(name, pa.array(values[step.decided_at]))
    return answers


def late(rows: Sequence[pa.RecordBatch], own: pa.Schema, frontier: Frontier, streams: Sequence[str]) -> pa.RecordBatch:
    """Return the late tuples of each stream, which missed the answers that were due by `frontier`.

    `arrived` is the end of the tick; `own` is the schema of the kind's own columns.
    """
    parts = []
    for stream, part in zip(streams, rows, strict=True):
        tick = part.column("tick")
        common = {"stream": pa.array([stream] * part.num_rows, pa.string()), "tick": tick}
        common |= {"tuples": part.column("tuples"), "frontier": part.column("frontier")}
        common |= {"arrived": pa.array(frontier.end[frontier.index(np.asarray(tick))])}
        columns = common | {field.name: part.column(field.name).cast(field.type) for field in own}
        parts.append(pa.RecordBatch.from_pydict(columns))
    return pa.concat_batches(parts)


def quiet(clock: StreamClock, from_tick: int | None) -> Fact:
    """Return the fact that the streams were silent until open windows closed.

    Tuples that come for these windows later are late.
    """
    assert clock.in_force is not None
    assert from_tick is not None
    evidence = f"quiet: windows are closed up to {format_time(clock.frontier)}"
    return replace(clock.in_force, since=from_tick, evidence=evidence)


def facts(stamped: Iterable[Fact]) -> pa.RecordBatch:
    """Return the facts of this batch.

    Settings hold from a tick, partition plans and tables from a segment of the log.
    """
    rows = [
        {"about": fact.about, "version": fact.version, "value": json.dumps(fact.value), "evidence": fact.evidence}
        | dict.fromkeys(("from_tick", "from_segment"))
        | {"from_tick" if fact.about == "settings" else "from_segment": fact.since}
        for fact in stamped
    ]
    return FACTS.batch(rows)


def segments(batch: int, segment_rows: list[dict[str, Any]]) -> pa.RecordBatch:
    """Return rows of the table `segments`: each segment read, with the newest tick before it."""
    id_type = pa.string() if any(isinstance(segment_row["min_id"], str) for segment_row in segment_rows) else pa.int64()
    records = [{"batch": batch} | segment_row for segment_row in segment_rows]
    rows = [{name: record[name] for name in SEGMENTS.columns} for record in records]
    return SEGMENTS.batch(rows, min_id=id_type, max_id=id_type)


def task_counts(
    model: AnswerModel, partials: Sequence[pa.RecordBatch], accepted: int, step: Step, frontier: Frontier
) -> dict[str, Any]:
    """Return the counts of a task, given its partials and the number of `accepted` tuples in the batch.

    `latency_ms` is the mean stream time from the horizon of an answer (a window's end, a pair's later time) to the
    answer. `load` is the task's work if its kind measures it, otherwise its share of the batch's tuples.
    """
    rows = sum(map(total, partials))
    answered_at = pa.array(frontier.end[step.decided_at])
    windows = model.first_rows(step.answers.append_column(_ANSWERED_AT, answered_at))
    answers = without_retracted(windows)
    withheld = {WITHHELD: windows.num_rows - answers.num_rows} if windows.num_rows > answers.num_rows else {}
    waited_ms = int((np.asarray(answers.column(_ANSWERED_AT)) - model.horizon(answers)).sum())
    counts: dict[str, Any] = {"rows": rows, "partials": sum(map(len, partials)), "late": sum(map(total, step.late))}
    counts |= {"answers": answers.num_rows, "latency_ms": _mean(waited_ms, answers.num_rows)}
    share = rows / accepted if accepted else None
    counts |= {"load": float(step.loads["load"].sum()) if step.loads else share}
    loads = {name: values.tolist() for name, values in step.loads.items()}
    return counts | {"loads": loads or None, "counts": {**step.counts, **withheld} or None}


def enrichment_counts(records: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """Return the counts of a batch of an enrichment, which answers segments while it reads them."""
    rows, answers, waited_ms = (
        sum(record.get(name, 0) for record in records) for name in ("accepted", "answers", "waited_ms")
    )
    none = dict.fromkeys(("load", "loads")) | dict.fromkeys(("partials", "repeats", "late", *CLASSES), 0)
    none["filtered"] = sum(record["filtered"] for record in records)
    counts = sum((Counter(record.get("counts", {})) for record in records), Counter[str]())
    return none | {"rows": rows, "answers": answers, "latency_ms": _mean(waited_ms, answers), "counts": counts or None}


def _mean(total_ms: int, count: int) -> float | None:
    return total_ms / count if count else None


def arrival_classes(windows: Windows, counts: pa.Table, frontier: Frontier) -> dict[str, Any]:
    """Count the tuples of all keys by arrival class (paper 002, section 1.3); F is t_max − K.

    A tuple is `buffered` if it came before the frontier reached its pane, `in_process` if one of its windows was open,
    else `expired`.

    `counts` has the tuples that each complete tick brought to each pane. A tuple may be both late and in process: it
    counts in its windows that are still open.
    """
    pane, tick, count = (counts.column(name).to_numpy() for name in ("pane", "tick", "count"))
    before = frontier.before(frontier.index(tick))
    arrival_class = np.where(pane >= before, 0, np.where(windows.last_end(pane) > before, 1, 2))
    counts_of_classes = np.bincount(arrival_class, count, minlength=3).astype(np.int64).tolist()
    return dict(zip(CLASSES, counts_of_classes, strict=True))


def clock_columns(clock: StreamClock, coverage: TotalCoverage, pending: TickBuffer) -> dict[str, Any]:
    """Return the progress of the query, computed by the clock; `pending` are the tuples of incomplete ticks."""
    frontier = max(clock.frontier, EARLIEST_MS)  # F = t_max − K may lie before any window
    times = {
        "t_max": clock.t_max if clock.t_max > BEFORE_ALL else None,  # no tick was complete, or a stream had none
        "frontier": frontier if clock.frontier > BEFORE_ALL else None,
    }
    progress = {"committed": pending.committed, "newest_tick": pending.newest_tick, "reached": pending.reached}
    progress |= {"newest_event": clock.furthest if clock.furthest > BEFORE_ALL else None}
    progress |= {"complete_tick": clock.tick if clock.tick > BEFORE_ALL else None}
    return times | progress | {"k_ms": clock.k_ms, "coverage": coverage.share, "threshold": clock.coverage_threshold}


def metrics(head: BatchHeader, task: int, measured: dict[str, Any]) -> pa.RecordBatch:
    """Return one row: the figures of a task at the end of a batch."""
    row = {"batch": head.batch, "task": task, "flushed": head.ends, "imbalance": None} | measured
    return METRICS.batch([row])


def with_imbalance(metrics: pa.Table) -> pa.Table:
    """Set the column `imbalance` in a batch's rows, one a task: the excess of the greatest load over the mean."""
    loads = metrics.column("load").drop_null().to_numpy()
    imbalance = load_imbalance(loads) if len(loads) else None
    column = pa.array([imbalance] * metrics.num_rows, pa.float64())
    return metrics.set_column(metrics.schema.get_field_index("imbalance"), "imbalance", column)


def total(rows: pa.RecordBatch | pa.Table) -> int:
    """Return the number of tuples that rows stand for."""
    return int(np.asarray(rows.column("tuples")).sum())
