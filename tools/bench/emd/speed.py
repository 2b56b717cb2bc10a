"""Speed of the join on a line in closed form in process on one core, by θ and by |W|."""

from __future__ import annotations

import statistics
import tempfile
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa

from bench.emd.films import LEVELS, UNIT, as_streams, join_query
from bench.local_engine import LocalEngine, MemoryFormat, pipeline_in_memory
from bench.progress import Echo, Row
from generators.frame_histograms import darken
from generators.generated_shots import shots
from tailrace.engine.chunk_stores import ChunkFiles
from tailrace.query.query import Query
from tailrace.sources.segments import Segment

RATE, WINDOW_S = 1000, 5
"""Tuples a second of either stream, and |W|."""


class Nearness(NamedTuple):
    """How near the pairs are: θ in grey levels, and the levels by which the right film is darker than the left."""

    threshold: float
    darker: int

    @property
    def row(self) -> Row:
        """The cells that name it, with θ also in the page's unit."""
        return {"θ levels": self.threshold, "θ units": self.threshold / UNIT, "darker by levels": self.darker}


NEAR, PAPERS = Nearness(0.5, 2), Nearness(32.0, LEVELS)
SETTINGS = (NEAR, Nearness(2.0, 2), PAPERS)
"""Two in which pairs are few, and the page's own θ = 0.5 of a copy as dark as the paper's."""

WINDOWS_S = (5, 15, 60)
_MEASURED_S = 8  # of the stream, after the state is full


def by_threshold(rounds: int, echo: Echo) -> list[Row]:
    """Measure the whole engine in process by θ, at |W| = 5 s: tuples of R a second and core."""
    return [_in_process(nearness, WINDOW_S, rounds, echo) for nearness in SETTINGS]


def by_window(echo: Echo) -> list[Row]:
    """Measure a batch of one second by |W|: its CPU time, and the bytes of state that it writes and that exist."""
    return [_in_process(NEAR, seconds, 1, echo) for seconds in WINDOWS_S]


def fast_query(threshold: float, window_s: int, directory: Path | None = None, tasks: int = 1) -> Query:
    """Return the join with θ in grey levels and |W| in s; its streams are in memory, or in files below a directory."""
    return join_query({"threshold": threshold}, f"{window_s} s", directory, tasks)


def film_streams(seconds: int, darker: int = NEAR.darker) -> dict[str, pa.Table]:
    """Generate a film and its darker copy, as streams of `RATE` tuples a second."""
    film = shots(RATE * seconds, seed=1)
    return as_streams((film, darken(film, darker)), RATE)


def _in_process(nearness: Nearness, window_s: int, rounds: int, echo: Echo) -> Row:
    """Run batches of one second until the state is full, and measure the following ones."""
    streams = film_streams(2 * window_s + _MEASURED_S, nearness.darker)
    passes = [_pass(fast_query(nearness.threshold, window_s), streams, 2 * window_s) for _ in range(rounds)]
    row = {name: statistics.median(each[name] for each in passes) for name in passes[0]}
    figures = f"{row['R-tuples/s']:,.0f} R-tuples/s, {row['batch ms']:.0f} ms a batch"
    echo(f"in process, {nearness}, |W| {window_s} s: {figures}")
    return {**nearness.row, "W s": window_s, "rounds": rounds} | row


def _pass(query: Query, streams: dict[str, pa.Table], warm_s: int) -> Row:
    formats = {name: MemoryFormat({name: table}) for name, table in streams.items()}
    engine = LocalEngine(pipeline_in_memory(query, formats))
    spent: list[dict[str, float]] = []
    with tempfile.TemporaryDirectory(prefix="tailrace-bench-") as name:
        store = ChunkFiles(Path(name))
        engine.tasks = [replace(task, store=store) for task in engine.tasks]
        known: dict[str, int] = {}
        for segments in _seconds(formats, streams):
            start = time.process_time()
            tables = engine.batch(query.policy, segments)
            cpu_s = time.process_time() - start
            files = {file.name: file.stat().st_size for file in Path(name).iterdir()}
            packed = len(engine.states[0].pack(store))
            new = sum(size for file, size in files.items() if file not in known)
            pairs = tables["results"].num_rows if "results" in tables else 0
            sizes = {"written": new + packed, "state": sum(files.values()) + packed}
            spent.append({"cpu_s": cpu_s, "pairs": pairs} | sizes)
            known = files
    last = spent[warm_s:]
    batch_s = sum(each["cpu_s"] for each in last) / len(last)
    return {
        "pairs a tuple": sum(each["pairs"] for each in last) / len(last) / RATE,
        "R-tuples/s": RATE / batch_s,
        "batch ms": 1000 * batch_s,
        "written MB": sum(each["written"] for each in last) / len(last) / 1e6,
        "state MB": sum(each["state"] for each in last) / len(last) / 1e6,
    }


def _seconds(formats: dict[str, MemoryFormat], streams: dict[str, pa.Table]) -> Sequence[list[Segment]]:
    """Return the segments of each second, one of either stream."""
    cuts = range(0, next(iter(streams.values())).num_rows, RATE)
    logs = [formats[name].segments(name, cuts) for name in streams]
    return [
        [replace(segment, ordinal=2 * number + side) for side, segment in enumerate(pair)]
        for number, pair in enumerate(zip(*logs, strict=True))
    ]
