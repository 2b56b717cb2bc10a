"""The operator of each method in process, on one core: tuples a second, and the candidates that it holds."""

from __future__ import annotations

import statistics
import time
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from tailrace.bench.progress import Row, Tell
from tailrace.bench.topk.runs import SIZE_MS, SLIDE_MS, TICK_MS, K
from tailrace.disorder import ticks
from tailrace.disorder.clock import Clock, Frontier
from tailrace.generators.replay import START_MS
from tailrace.ground.time_limits import BEFORE_ALL
from tailrace.topk.kind import TopK
from tailrace.topk.methods import LIST, METHODS
from tailrace.topk.partials import combine
from tailrace.windows.sliding import Sliding

TAU_MS, WAIT = 1_000, '{"policy": "k_slack", "k": "2 s"}'
CASES = {
    "100,000 a second, one group": (100_000, 1, None),
    "100,000 a second, 100 keys": (100_000, 100, None),
    "1,000 a second, one group": (1_000, 1, None),
    "100,000 a second, one group, 7 scores": (100_000, 1, 7),
}
"""Tuples a second of event time, how many keys, and how many different scores there are; None: hardly two alike."""

_AT_ONCE, _MOST_S = 500_000, 200
_CONTESTANTS = METHODS | {"list": LIST}
_KEPT = ("panes", "strays", "candidates")


@dataclass(frozen=True)
class _Batch:
    """Tuples in order of arrival, of ticks that are complete; and the clock over these."""

    tuples: pa.RecordBatch
    frontier: Frontier


def speeds(rows: int, rounds: int, tell: Tell) -> list[Row]:
    """Each case by each method, interleaved, the first round dropped, medians.

    Parameters
    ----------
    rows : int
        In a case; those with few tuples a second have no more than the stream brings in 200 s.
    """
    found: list[Row] = []
    for name, (rate, keys, scores) in CASES.items():
        batches = _batches(min(rows, rate * _MOST_S), rate, keys, scores)
        passes: dict[str, list[Row]] = {method: [] for method in _CONTESTANTS}
        for number in range(rounds + 1):
            for method in _CONTESTANTS:
                one = _pass(method, batches)
                tell(
                    f"{name}, round {number}{' (dropped)' if not number else ''}: {method:<8} {one['tuples/s']:,.0f}/s"
                )
                passes[method] += [one] if number else []
        for method, mine in passes.items():
            found.append({"case": name, "method": method} | {k: statistics.median(p[k] for p in mine) for k in mine[0]})
    return found


def _batches(rows: int, rate: int, keys: int, scores: int | None) -> list[_Batch]:
    rng = np.random.default_rng(1)
    event = START_MS + np.arange(rows) * 1000 // rate
    arrival = event + rng.exponential(TAU_MS, rows).astype(np.int64)
    order = np.argsort(arrival, kind="stable")
    event, (tick, end) = event[order], ticks.number(arrival[order], np.arange(rows), TICK_MS)
    score = rng.normal(size=rows) if scores is None else rng.integers(scores, size=rows).astype(float)
    names = pa.array([f"s{key:04d}" for key in range(keys)])
    key = names.take(pa.array(rng.integers(keys, size=rows)))
    columns = {"event_time": event, "tick": tick, "id": order, "score": score}
    tuples = pa.RecordBatch.from_pydict({name: pa.array(column) for name, column in columns.items()} | {"key": key})
    cuts = np.unique([*np.searchsorted(tick, tick[np.arange(0, rows, _AT_ONCE)]).tolist(), rows])
    clock, found = Clock(), []
    clock.stamp(WAIT, BEFORE_ALL)
    for first, last in zip(cuts[:-1].tolist(), cuts[1:].tolist(), strict=True):
        mine = slice(first, last)
        frontier = clock.advance(ticks.summarise(tick[mine], end[mine], event[mine]))
        found.append(_Batch(tuples.slice(first, last - first), frontier))
    return found


def _pass(method: str, batches: list[_Batch]) -> Row:
    """All of the batches; the candidates are counted between them."""
    windows, many = Sliding(SIZE_MS, SLIDE_MS), sum(one.tuples.num_rows for one in batches)
    kind = TopK(windows, K, True, {"score": "score"}, pa.string(), pa.int64())
    running = _CONTESTANTS[method](windows, kind.best, kind.key_type)
    state, combine_s, step_s, held, groups = running.start(), 0.0, 0.0, list[float](), 1
    for batch in batches:
        began = time.perf_counter()
        partials = pa.Table.from_batches([combine(windows, kind.best, batch.tuples, across=not running.moves)])
        combined = time.perf_counter()
        state, _, _ = running.step(state, partials, batch.frontier)
        combine_s, step_s = combine_s + combined - began, step_s + time.perf_counter() - combined
        groups = max(groups, len(partials.column("key").chunk(0).dictionary))
        kept = sum(part.num_rows for name, part in state.to_arrow().items() if name in _KEPT)
        held.append(kept / groups / _open(windows, batch.frontier))
    return {
        "tuples/s": many / (combine_s + step_s),
        "combine ns": 1e9 * combine_s / many,
        "step ns": 1e9 * step_s / many,
        "candidates a window": max(held),
    }


def _open(windows: Sliding, frontier: Frontier) -> int:
    """How many windows are open that hold tuples, of one key."""
    last = int(windows.last_end(np.array([int(frontier.t_max[-1])]))[0])
    return (last - int(windows.end_until(frontier.last))) // windows.slide_ms
