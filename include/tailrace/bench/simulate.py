"""A query over a stream in memory, as its tasks would answer it: for the experiments, where Spark would add nothing.

The clock and the kind are those that run in Spark; all ticks are advanced in one call, since no answer depends on how
the stream is cut.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from tailrace.disorder import ticks
from tailrace.disorder.clock import Clock, Frontier
from tailrace.disorder.tick_statistics import COUNTS, TickContents
from tailrace.generators.delays import epoch_ms
from tailrace.ground.columns import group_sums, pair
from tailrace.ground.time_limits import BEFORE_ALL
from tailrace.kinds import build
from tailrace.query.query import Query

WINDOW = ["key", "window_end"]


@dataclass(frozen=True)
class Stream:
    """n tuples in order of arrival, with their ticks; `tuples` is as a kind's `combine` takes them."""

    tuples: pa.RecordBatch
    arrival_ms: NDArray[np.int64]

    @staticmethod
    def of(query: Query, table: pa.Table) -> Stream:
        """The query's columns of a table in order of arrival."""
        stream = query.stream[1]
        assert stream.arrival_time is not None
        event, arrival = (epoch_ms(table[name]) for name in (stream.event_time, stream.arrival_time))
        tick, _ = ticks.number(arrival, np.arange(len(arrival)), query.tick_ms)
        key = table[stream.key].combine_chunks() if stream.key else pa.nulls(len(arrival), pa.string())
        ids = table[stream.id].combine_chunks()
        columns = {"event_time": pa.array(event), "key": key, "tick": pa.array(tick), "id": ids}
        for part, name in build(query).columns.items():
            columns[part] = table[name].combine_chunks().cast(pa.float64())
        return Stream(pa.RecordBatch.from_pydict(columns), arrival)

    def column(self, name: str) -> NDArray[np.int64]:
        return np.asarray(self.tuples.column(name))


@dataclass(frozen=True)
class Simulated:
    """What a query answered.

    Attributes
    ----------
    frontier : Frontier
        The clock at each tick, and its end.
    exact, answers : DataFrame
        Of each window that holds a tuple, and as it was streamed; the latter with `k_ms` and `closed` (the end of the
        tick at which it closed; ms).
    windows : DataFrame
        Of each window that holds a tuple: `key`, `window_end`, `error`, and as it was streamed `k_ms` and `closed`,
        null where it was not.
    late : DataFrame
        Tuples that missed a window: `pane`, `tuples`, `total`, `frontier` (it missed those that end at or before it),
        `arrived` (ms).
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
        """The share of windows whose error is at least so large."""
        return float((self.windows["error"] >= error).mean())

    @property
    def mean_k_ms(self) -> float:
        """The mean of K over time, the ticks weighed by their lengths."""
        lengths = np.diff(self.frontier.end)
        return float(np.average(self.frontier.k_ms[1:], weights=lengths)) if lengths.sum() else 0.0


def simulate(query: Query, stream: Stream, stamped: Iterable[tuple[str, int]] = ()) -> Simulated:
    """Run the query's policy and kind over the whole stream, and close all windows at its end.

    Parameters
    ----------
    stamped : pairs of settings (JSON) and int
        Settings that are in force later: each from the first tick after the one given, in order.
    """
    kind = build(query, *(stream.tuples.schema.field(name).type for name in ("key", "id")))
    partials = pa.Table.from_batches([kind.combine(stream.tuples)])
    tick, event = stream.column("tick"), stream.column("event_time")
    _, end = ticks.number(stream.arrival_ms, np.arange(len(tick)), query.tick_ms)
    code, split = pair(tick, kind.windows.pane(event))
    code, (count,) = group_sums(code, np.ones(len(tick), np.int64))
    counts = pa.table([*split(code), count], schema=COUNTS)
    sample = pa.Table.from_batches([kind.sample(stream.tuples)])
    clock = Clock()
    for settings, newest in ((query.policy.model_dump_json(), BEFORE_ALL), *stamped):
        clock.stamp(settings, newest)
    brought = TickContents(kind.windows, counts, sample, kind.error_model)
    frontier = clock.advance(ticks.summarise(tick, end, event), brought)
    frontier = clock.close(frontier, int(kind.windows.last_end(np.array([clock.t_max]))[0]))
    _, answers, late = kind.step(kind.start(), partials, frontier)
    at = frontier.closing(np.asarray(answers.column("window_end")))
    streamed = answers.to_pandas().assign(k_ms=frontier.k_ms[at], closed=frontier.end[at])
    exact = kind.evaluate(stream.tuples)
    error = kind.errors(*(pa.Table.from_batches([part]) for part in (answers, exact))).to_pandas()
    once = streamed[[*WINDOW, "k_ms", "closed"]].drop_duplicates(WINDOW)
    windows = error[[*WINDOW, "error"]].merge(once, how="left", on=WINDOW)
    arrived = frontier.end[frontier.index(np.asarray(late.column("tick")))]
    missed = late.select(["pane", "tuples", "total", "frontier"]).to_pandas().assign(arrived=arrived)
    ordered = windows.sort_values(WINDOW, kind="stable", ignore_index=True)
    latency_ms = _latency(stream, kind.windows.ends(event, None, None), frontier)
    return Simulated(frontier, exact.to_pandas(), streamed, ordered, missed, latency_ms)


def _latency(stream: Stream, windows: tuple[NDArray[np.int64], NDArray[np.int64]], frontier: Frontier) -> float:
    row, end = windows
    before = frontier.before(frontier.index(stream.column("tick")))
    held = end > before[row]  # the others it missed
    closed = frontier.end[frontier.closing(end[held])]
    return float((closed - stream.arrival_ms[row[held]]).mean())
