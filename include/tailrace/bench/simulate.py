"""Simulation of a query over a stream in memory, for experiments to which Spark would add nothing.

The answers are those of the query's tasks. The clock and the kind are those that run in Spark; all ticks are advanced
in one call, since no answer depends on how the stream is cut.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy.typing import NDArray

from tailrace.answers import identity
from tailrace.disorder import ticks
from tailrace.disorder.clock import Clock, Frontier
from tailrace.disorder.policies import settings_of
from tailrace.disorder.policy import SlackPolicy
from tailrace.disorder.tick_statistics import COUNTS
from tailrace.engine.batch_header import DECLARED
from tailrace.generators.delays import epoch_ms
from tailrace.ground.columns import group_sums, pair
from tailrace.ground.facts import stamp
from tailrace.kind.capabilities import sample_of, tick_contents
from tailrace.kind.inputs import NameTypes
from tailrace.kinds import build
from tailrace.query.query import Query

WINDOW = list(identity.WINDOW.determining)


@dataclass(frozen=True)
class Stream:
    """n tuples in order of arrival, with their ticks; `tuples` has the columns that a kind's `combine` takes."""

    tuples: pa.RecordBatch
    arrival_ms: NDArray[np.int64]

    @staticmethod
    def of(query: Query, table: pa.Table) -> Stream:
        """Take the query's columns from a table in order of arrival."""
        stream = query.stream[1]
        assert stream.arrival_time is not None
        event, arrival = (epoch_ms(table[name]) for name in (stream.event_time, stream.arrival_time))
        tick, _ = ticks.number(arrival, np.arange(len(arrival)), query.tick_ms)
        key = table[stream.key].combine_chunks() if stream.key else pa.nulls(len(arrival), pa.string())
        ids = table[stream.id].combine_chunks()
        columns = {"event_time": pa.array(event), "key": key, "tick": pa.array(tick), "id": ids}
        for part, name in build(query).inputs[0].columns.items():
            columns[part] = table[name].combine_chunks().cast(pa.float64())
        return Stream(pa.RecordBatch.from_pydict(columns), arrival)

    def column(self, name: str) -> NDArray[np.int64]:
        return np.asarray(self.tuples.column(name))


@dataclass(frozen=True)
class Simulated:
    """Answers of a simulated query, with their errors, late tuples and latency.

    Attributes
    ----------
    frontier : Frontier
        The frontier (the watermark) at each tick, and once more where it closes all windows.
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


def simulate(query: Query, stream: Stream, later_settings: Iterable[tuple[SlackPolicy, int]] = ()) -> Simulated:
    """Run the query's policy and kind over the whole stream, and close all windows at its end.

    Parameters
    ----------
    later_settings : pairs of SlackPolicy and int
        Settings that come into force later: each from the first tick after the given one, in order.
    """
    kind = build(query, [NameTypes(*(stream.tuples.schema.field(name).type for name in ("key", "id")))])
    partials = pa.Table.from_batches([kind.prepare(stream.tuples)])
    tick, event = stream.column("tick"), stream.column("event_time")
    _, end = ticks.number(stream.arrival_ms, np.arange(len(tick)), query.tick_ms)
    code, split = pair(tick, kind.windows.pane(event))
    code, (count,) = group_sums(code, np.ones(len(tick), np.int64))
    counts = pa.table([*split(code), count], schema=COUNTS)
    sample = pa.Table.from_batches([sample_of(kind, stream.tuples)])
    facts = stamp((), "settings", settings_of(query.policy), 0, DECLARED)
    for policy, newest in later_settings:
        facts = stamp(facts, "settings", settings_of(policy), newest + 1, "found")
    clock = Clock(facts=facts)
    contents = tick_contents(kind, kind.windows, counts, sample)
    frontier = clock.advance(ticks.summarise(tick, end, event), contents)
    frontier = clock.close(frontier, int(kind.windows.last_end(np.array([clock.t_max]))[0]))
    _, answers, closing_index, (late,) = kind.step(kind.start(), (partials,), frontier)
    streamed_answers = answers.to_pandas().assign(k_ms=frontier.k_ms[closing_index], closed=frontier.end[closing_index])
    exact = kind.evaluate(stream.tuples)
    error = kind.errors(*(pa.Table.from_batches([part]) for part in (answers, exact))).to_pandas()
    closings = streamed_answers[[*WINDOW, "k_ms", "closed"]].drop_duplicates(WINDOW)
    windows = error[[*WINDOW, "error"]].merge(closings, how="left", on=WINDOW)
    arrived_ms = frontier.end[frontier.index(np.asarray(late.column("tick")))]
    late_tuples = late.select(["pane_start", "tuples", "total", "frontier"]).to_pandas().assign(arrived=arrived_ms)
    sorted_windows = windows.sort_values(WINDOW, kind="stable", ignore_index=True)
    latency_ms = _latency(stream, kind.windows.ends(event, None, None), frontier)
    return Simulated(frontier, exact.to_pandas(), streamed_answers, sorted_windows, late_tuples, latency_ms)


def _latency(stream: Stream, windows: tuple[NDArray[np.int64], NDArray[np.int64]], frontier: Frontier) -> float:
    row, end = windows
    before = frontier.before(frontier.index(stream.column("tick")))
    is_held = end > before[row]  # the tuple missed the others
    closed_ms = frontier.end[frontier.closing(end[is_held])]
    return float((closed_ms - stream.arrival_ms[row[is_held]]).mean())
