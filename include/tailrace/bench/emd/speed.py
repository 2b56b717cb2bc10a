"""Speed of the join on a line in closed form: in process on one core, by θ and by |W|, and on Spark with two tasks."""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pyarrow as pa

from tailrace.bench.contestants import measured_run
from tailrace.bench.emd.films import as_streams, join_query
from tailrace.bench.progress import Row, Tell
from tailrace.engine.chunk_stores import ChunkFiles
from tailrace.engine.local import LocalEngine, MemoryFormat, stage_in_memory
from tailrace.generators.frame_histograms import darken
from tailrace.generators.generated_shots import shots
from tailrace.generators.histogram_stream import write
from tailrace.query.query import Query
from tailrace.sources.segments import Segment
from tailrace.spark.session import session
from tailrace.stream.run_options import RunOptions

RATE, WINDOW_S, DARKER, SPARK_TASKS = 1000, 5, 2, 2
"""Tuples a second of either stream, |W|, levels by which the right film is darker than the left, and tasks on Spark."""

THRESHOLDS = (0.5, 2.0)
"""θ in grey levels."""

WINDOWS_S = (5, 15, 60)
_MEASURED_S = 8  # of the stream, after the state is full
_SPARK_S = 30  # of the stream on Spark
_FILE_ROWS = 4000


def speeds(rows: int, rounds: int, tell: Tell) -> dict[str, list[Row]]:
    """Measure all of it: in process by θ (`speed`) and |W| (`state`), and on Spark (`spark`), of `rows` at most."""
    tables = {"speed": by_threshold(rounds, tell), "state": by_window(tell)}
    return tables | {"spark": on_spark(min(rows // RATE, _SPARK_S), rounds, tell)}


def by_threshold(rounds: int, tell: Tell) -> list[Row]:
    """Measure the whole engine in process by θ, at |W| = 5 s: tuples of R a second and core."""
    return [_in_process(threshold, WINDOW_S, rounds, tell) for threshold in THRESHOLDS]


def by_window(tell: Tell) -> list[Row]:
    """Measure a batch of one second by |W|: its CPU time, and the bytes of state that it writes and that are there."""
    return [_in_process(THRESHOLDS[0], seconds, 1, tell) for seconds in WINDOWS_S]


def on_spark(seconds: int, rounds: int, tell: Tell) -> list[Row]:
    """Measure bounded runs on Spark by θ: medians of `rounds`, after one that is dropped."""
    rows: list[Row] = []
    with tempfile.TemporaryDirectory(prefix="tailrace-bench-") as name, session("tailrace bench", SPARK_TASKS) as spark:
        directory = Path(name)
        for side, table in _streams(seconds).items():
            write(table.to_batches(max_chunksize=_FILE_ROWS), directory / side)
        for threshold in THRESHOLDS:
            passes = []
            for number in range(rounds + 1):
                out = directory / f"{threshold:g}-{number}"
                pace = measured_run(spark, _query(threshold, WINDOW_S, directory), out, RunOptions())
                passes += [pace] if number else []
                tell(f"Spark, θ {threshold:g}, round {number}: {pace.warm_rows / pace.warm_s / 2:,.0f} R-tuples/s")
            rates = [pace.warm_rows / pace.warm_s / 2 for pace in passes]
            rows.append(
                {"θ": threshold, "tasks": SPARK_TASKS, "rounds": rounds, "R-tuples/s": statistics.median(rates)}
            )
    return rows


def _query(threshold: float, window_s: int, directory: Path | None = None) -> Query:
    return join_query({"threshold": threshold}, f"{window_s} s", directory, SPARK_TASKS if directory else 1)


def _streams(seconds: int) -> dict[str, pa.Table]:
    film = shots(RATE * seconds, seed=1)
    return as_streams((film, darken(film, DARKER)), RATE)


def _in_process(threshold: float, window_s: int, rounds: int, tell: Tell) -> Row:
    """Run batches of one second until the state is full, and measure those that follow."""
    streams = _streams(2 * window_s + _MEASURED_S)
    passes = [_pass(_query(threshold, window_s), streams, 2 * window_s) for _ in range(rounds)]
    row = {name: statistics.median(each[name] for each in passes) for name in passes[0]}
    figures = f"{row['R-tuples/s']:,.0f} R-tuples/s, {row['batch ms']:.0f} ms a batch"
    tell(f"in process, θ {threshold:g}, |W| {window_s} s: {figures}")
    return {"θ": threshold, "W s": window_s} | row


def _pass(query: Query, streams: dict[str, pa.Table], warm_s: int) -> Row:
    formats = {name: MemoryFormat({name: table}) for name, table in streams.items()}
    engine = LocalEngine(stage_in_memory(query, formats))
    spent: list[dict[str, float]] = []
    with tempfile.TemporaryDirectory(prefix="tailrace-bench-") as name:
        store = ChunkFiles(Path(name))
        engine.tasks = [replace(task, store=store) for task in engine.tasks]
        known: dict[str, int] = {}
        for segments in _seconds(formats, streams):
            start = time.process_time()
            engine.batch(query.policy, segments)
            cpu_s = time.process_time() - start
            files = {file.name: file.stat().st_size for file in Path(name).iterdir()}
            packed = len(engine.states[0].pack(store))
            new = sum(size for file, size in files.items() if file not in known)
            spent.append({"cpu_s": cpu_s, "written": new + packed, "state": sum(files.values()) + packed})
            known = files
    last = spent[warm_s:]
    batch_s = sum(each["cpu_s"] for each in last) / len(last)
    return {
        "R-tuples/s": RATE / batch_s,
        "batch ms": 1000 * batch_s,
        "written MB": sum(each["written"] for each in last) / len(last) / 1e6,
        "state MB": sum(each["state"] for each in last) / len(last) / 1e6,
    }


def _seconds(formats: dict[str, MemoryFormat], streams: dict[str, pa.Table]) -> Sequence[list[Segment]]:
    """The segments of each second, one of either stream."""
    cuts = range(0, next(iter(streams.values())).num_rows, RATE)
    logs = [formats[name].segments(name, cuts) for name in streams]
    return [
        [replace(segment, ordinal=2 * number + side) for side, segment in enumerate(pair)]
        for number, pair in enumerate(zip(*logs, strict=True))
    ]
