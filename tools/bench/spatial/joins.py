"""Joins of two streams in process: throughput, waiting time and copies by every setting (figures 12 to 15)."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from bench.in_process import TimedTask, batches_of
from bench.local_engine import LocalEngine, MemoryFormat, pipeline_in_memory
from bench.progress import Echo, Row
from bench.rounds import Passes, interleaved, median_ratio, medians
from bench.spatial.balance import SHARES, Balance
from bench.spatial.same_twice import same_twice, with_again
from bench.spatial.streams import empty_streams, meeting_query
from tailrace.engine.chunk_stores import ChunkFiles
from tailrace.query.query import Query

JOINS, METHODS = ("interval", "window"), ("indexed", "native")

TUPLES, LONG_TUPLES = 20_000, 60_000
"""The tuples of either stream, with and without `native`."""

MINUTES, BATCH_MS = 2.0, 60_000
"""The length of an interval or window, and the length of a batch."""

PARALLELISM = (1, 2)
TASKS = (1, 2, 4, 8, 16)
"""The numbers of tasks of `indexed` with `native` beside it, and of `indexed` alone."""

LENGTHS = (0.5, 1.0, 2.0, 5.0)
"""Lengths of an interval or window, in minutes."""

GRIDS = (1, 4, 16, 64, 256)
BIN_MINUTES = 5.0
"""The length of the interval in the comparison of bins (section 3.2, experiment d)."""

BINS_S = (20, 60, 150, 300, 600, 1200)

Streams = Mapping[str, pa.Table]


class Compared(NamedTuple):
    """The rows of all settings, and a row about the first of them, which ran twice."""

    rows: list[Row]
    twice: list[Row]


def by_parallelism(streams: Streams, rounds: int, echo: Echo) -> Compared:
    """Run both joins with both methods, on one task and on two (figure 12)."""
    return _compared(_settings(join=JOINS, tasks=PARALLELISM, method=METHODS), streams, rounds, echo)


def by_tasks(streams: Streams, rounds: int, echo: Echo) -> Compared:
    """Run both joins on 1 to 16 tasks (figure 12)."""
    return _compared(_settings(join=JOINS, tasks=TASKS), streams, rounds, echo)


def by_length(streams: Streams, rounds: int, echo: Echo) -> Compared:
    """Run both joins with both methods and different lengths of the interval or window (figure 13)."""
    return _of_one_task(_compared(_settings(join=JOINS, minutes=LENGTHS, method=METHODS), streams, rounds, echo))


def by_grid(streams: Streams, rounds: int, echo: Echo) -> Compared:
    """Run both joins on two tasks with different numbers of cells along a side (figure 14)."""
    return _compared(_settings(join=JOINS, tasks=PARALLELISM[-1:], grid=GRIDS), streams, rounds, echo)


def by_bin(streams: Streams, rounds: int, echo: Echo) -> Compared:
    """Run the join by interval with different lengths of the bins in which tuples are stored (figure 15)."""
    bins = [f"{seconds} s" for seconds in BINS_S]
    return _of_one_task(_compared(_settings(join=JOINS[:1], minutes=[BIN_MINUTES], bin=bins), streams, rounds, echo))


def _of_one_task(compared: Compared) -> Compared:
    """Remove the figures about several tasks."""
    rows = [{name: value for name, value in row.items() if name not in SHARES} for row in compared.rows]
    return Compared(rows, compared.twice)


def _settings(**values: Sequence[Any]) -> list[Row]:
    """Return all combinations of values, with the last name's changing first."""
    return [dict(zip(values, each, strict=True)) for each in product(*values.values())]


def _compared(settings: Sequence[Row], streams: Streams, rounds: int, echo: Echo) -> Compared:
    """Run each setting once a round, and the first one twice.

    Rows have medians, for `indexed` the ratio to `native` if that ran, too, and ratios to one task.

    Raises
    ------
    RuntimeError
        When `indexed` and `native` do not find the same number of pairs.
    """
    first = _name(settings[0])
    contestants: dict[str, Callable[[], Row]] = {_name(each): partial(_run, each, streams) for each in settings}
    passes = interleaved(with_again(contestants, first), rounds, "tuples/s", echo)
    twice, rows = same_twice(passes, first, "tuples/s"), []
    for setting in settings:
        name = _name(setting)
        row = setting | medians(passes[name])
        if "method" in setting:
            row["× native"] = _ratio(name, _name(setting | {"method": METHODS[-1]}), passes, "tuples/s")
        one_task = _name(setting | {"tasks": PARALLELISM[0]})
        if "tasks" in setting and one_task in passes:
            row["× one task"] = _ratio(name, one_task, passes, "tuples/s")
            row["CPU × one task"] = _ratio(name, one_task, passes, "CPU µs/tuple")
        rows.append(row)
    return Compared(rows, [twice])


def _name(setting: Row) -> str:
    return ", ".join(f"{name} {value}" for name, value in setting.items())


def _ratio(name: str, base: str, passes: Passes, measure: str) -> float | None:
    """Return the ratio of a measure between two settings with the same pairs; None for a setting to itself."""
    mine, other = passes[name], passes[base]
    if mine[-1]["pairs"] != other[-1]["pairs"]:
        raise RuntimeError(f"{name}: {mine[-1]['pairs']:,} pairs, but {base} has {other[-1]['pairs']:,}")
    return None if mine is other else median_ratio(mine, other, measure)


def _run(setting: Row, streams: Streams) -> Row:
    """Run a join, and one with as many batches of two tuples, whose CPU time is subtracted from a tuple's."""
    section: dict[str, Any] = {name: setting[name] for name in ("method", "grid", "bin") if name in setting}
    minutes, tasks = setting.get("minutes", MINUTES), setting.get("tasks", 1)
    query = meeting_query(setting["join"], minutes, section, parallelism=tasks)
    row = run(query, streams)
    net_s = row["CPU s"] - run(query, empty_streams(row["batches"], BATCH_MS))["CPU s"]
    tuples = sum(table.num_rows for table in streams.values())
    return {"tuples/s": row["tuples/s"], "CPU µs/tuple": 1e6 * net_s / tuples} | row


def run(query: Query, streams: Streams) -> Row:
    """Run a query over streams in memory batch by batch, with its state in files, and return its figures.

    The tasks run one after the other. Throughput is limited by the busiest task, with its share of all other work:
    reading, routing, storing. `wait s` is the mean time, in stream time, from a pair's later arrival to its answer.
    """
    formats = {name: MemoryFormat({name: table}) for name, table in streams.items()}
    engine = LocalEngine(pipeline_in_memory(query, formats))
    timed = [TimedTask.from_task(task) for task in engine.tasks]
    balance, waited_ms, cpu_s = Balance(), 0.0, 0.0
    with tempfile.TemporaryDirectory(prefix="tailrace-bench-") as name:
        engine.tasks = [replace(task, store=ChunkFiles(Path(name) / str(task.index))) for task in timed]
        for segments in batches_of(formats, streams, BATCH_MS):
            start = time.process_time()
            tables = engine.batch(query.policy, segments, complete=True)
            cpu_s += time.process_time() - start
            balance.add(tables["metrics"])
            if "results" in tables:
                waited_ms += _waited_ms(tables["results"])
    step_s = np.sum([task.step_s for task in timed], axis=1)
    rows = sum(table.num_rows for table in streams.values())
    return {
        "tuples/s": float(rows / (step_s.max() + (cpu_s - step_s.sum()) / len(timed))),
        "CPU s": cpu_s,
        "batches": len(balance.batches),
        "wait s": waited_ms / max(balance.pairs, 1) / 1000,
    } | balance.figures(rows)


def _waited_ms(answers: pa.Table) -> float:
    """Return the sum over pairs of the time from the later tuple, which arrives at its event time, to the answer."""
    columns = (answers.column(name).cast(pa.int64()).to_numpy() for name in ("as_of", "left_time", "right_time"))
    answered, left, right = columns
    return float((answered - np.maximum(left, right)).sum())
