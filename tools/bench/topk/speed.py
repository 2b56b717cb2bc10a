"""Benchmark of each method's operator in process, on one core: tuples a second, and stored candidates.

Batches, ticks and frontier (the watermark) come from `LocalEngine`, which runs the query of method `adaptive` once over
the stream. Only the operator is timed, over these batches: messages, restarts and tables cost every method the same,
and would hide the differences.
"""

from __future__ import annotations

import statistics
import time
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from bench.local_engine import LocalEngine, MemoryFormat, pipeline_in_memory
from bench.progress import Echo, Row
from bench.topk.paper_query import query
from generators.replay import START_MS
from tailrace.disorder.clock import Frontier
from tailrace.topk.kind import TopK
from tailrace.topk.methods import METHODS
from tailrace.topk.partials import combine
from tailrace.windows.windows import Windows

TAU_MS, WAIT = 1_000, {"policy": "k_slack", "k": "2 s"}
CASES = {
    "100,000 a second, one group": (100_000, 1, None),
    "100,000 a second, 100 keys": (100_000, 100, None),
    "1,000 a second, one group": (1_000, 1, None),
    "100,000 a second, one group, 7 scores": (100_000, 1, 7),
}
"""By case: tuples a second of event time, keys, and distinct scores (None: nearly all distinct)."""

_BATCH_ROWS, _MAX_STREAM_S = 500_000, 200
_CANDIDATE_TABLES = ("panes", "strays", "candidates")


@dataclass(frozen=True)
class _Batch:
    """Tuples of complete ticks in order of arrival, and the frontier over these ticks."""

    tuples: pa.RecordBatch
    frontier: Frontier


@dataclass(frozen=True)
class _Batches:
    """The batches of a stream, and the kind of its query."""

    kind: TopK
    batches: list[_Batch]


def speeds(rows: int, rounds: int, echo: Echo) -> list[Row]:
    """Measure each case by each method, interleaved; return medians of the rounds, without the first.

    Parameters
    ----------
    rows : int
        Rows of a case; one with few tuples a second has no more than 200 s of its stream.
    """
    results: list[Row] = []
    for name, (rate, keys, scores) in CASES.items():
        batches = _batches(min(rows, rate * _MAX_STREAM_S), rate, keys, scores)
        passes: dict[str, list[Row]] = {method: [] for method in METHODS}
        for number in range(rounds + 1):
            for method in METHODS:
                row = _pass(method, batches)
                echo(
                    f"{name}, round {number}{' (dropped)' if not number else ''}: {method:<8} {row['tuples/s']:,.0f}/s"
                )
                passes[method] += [row] if number else []
        for method, method_passes in passes.items():
            results.append(
                {"case": name, "method": method}
                | {k: statistics.median(p[k] for p in method_passes) for k in method_passes[0]}
            )
    return results


def _batches(rows: int, rate: int, keys: int, scores: int | None) -> _Batches:
    topk_query = query(WAIT, key="key")
    (name,), memory = topk_query.streams, MemoryFormat({"stream": _table(rows, rate, keys, scores)})
    pipeline = pipeline_in_memory(topk_query, {name: memory})
    (reader,), (whole,) = pipeline.readers, memory.segments(name)
    tick = np.asarray(reader.read(whole).tuples.column("tick"))
    cuts = np.searchsorted(tick, tick[np.arange(0, rows, _BATCH_ROWS)])
    engine, batches = LocalEngine(pipeline, restarts=False), []
    for segment in memory.segments(name, cuts.tolist()):
        engine.batch(topk_query.policy, [segment], complete=True)
        batches.append(_Batch(reader.read(segment).tuples, engine.frontier))
    assert isinstance(pipeline.kind, TopK)
    return _Batches(pipeline.kind, batches)


def _table(rows: int, rate: int, keys: int, scores: int | None) -> pa.Table:
    rng = np.random.default_rng(1)
    event = START_MS + np.arange(rows) * 1000 // rate
    arrival = event + rng.exponential(TAU_MS, rows).astype(np.int64)
    order = np.argsort(arrival, kind="stable")
    score = rng.normal(size=rows) if scores is None else rng.integers(scores, size=rows).astype(float)
    names = pa.array([f"s{key:04d}" for key in range(keys)])
    key = names.take(pa.array(rng.integers(keys, size=rows)))
    columns = {"event_time": event[order], "arrival_time": arrival[order], "id": order, "value": score}
    return pa.table(columns | {"key": key})


def _pass(method: str, stream: _Batches) -> Row:
    """Run a method over all batches, and count its candidates after each."""
    kind, windows, batches = stream.kind, stream.kind.windows, stream.batches
    tuple_count = sum(batch.tuples.num_rows for batch in batches)
    operator = METHODS[method](windows, kind.summary, kind.key_type)
    state, combine_s, step_s, candidates, groups = operator.start(), 0.0, 0.0, list[float](), 1
    for batch in batches:
        start_s = time.perf_counter()
        partials = pa.Table.from_batches([combine(windows, kind.summary, batch.tuples, across=not operator.moves)])
        combine_end_s = time.perf_counter()
        state, _, _ = operator.step(state, partials, batch.frontier)
        combine_s, step_s = combine_s + combine_end_s - start_s, step_s + time.perf_counter() - combine_end_s
        groups = max(groups, len(partials.column("key").chunk(0).dictionary))
        candidate_count = sum(part.num_rows for name, part in state.to_arrow().items() if name in _CANDIDATE_TABLES)
        candidates.append(candidate_count / groups / _open_windows(windows, batch.frontier))
    return {
        "tuples/s": tuple_count / (combine_s + step_s),
        "combine ns": 1e9 * combine_s / tuple_count,
        "step ns": 1e9 * step_s / tuple_count,
        "candidates a window": max(candidates),
    }


def _open_windows(windows: Windows, frontier: Frontier) -> int:
    """Return the number of open windows of one key that hold tuples."""
    last = int(windows.last_end(np.array([int(frontier.t_max[-1])]))[0])
    return windows.number(last) - windows.number(windows.end_until(frontier.last))
