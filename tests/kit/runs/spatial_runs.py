"""Runs of a spatial join of two streams in process, through the whole engine, over streams in order of arrival."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from bench.local_engine import LocalEngine, MemoryFormat, pipeline_in_memory
from tailrace.disorder.policies import policy_of
from tailrace.engine.chunk_stores import ChunkFiles
from tailrace.query.declared import declared_query

SIDES = ("left", "right")
START_MS = 10**12 - 10**12 % 3_600_000
"""Where event times begin: a full hour."""

POINTS = {side: {"x": "x", "y": "y"} for side in SIDES}
TEXTS = {side: {"wkt": "wkt"} for side in SIDES}


def stream(side: int, times_ms: Sequence[int], **columns: Any) -> pa.Table:
    """A stream of tuples l0, l1, … or r0, r1, …; each arrives 1 ms after the one before, if not later."""
    times = START_MS + np.asarray(times_ms, np.int64)
    place = np.arange(len(times))
    arrival = np.maximum.accumulate(times - place) + place if len(times) else times
    ids = [f"{'lr'[side]}{number}" for number in place]
    return pa.table({"id": pa.array(ids, pa.string()), "event_time": times, "arrival_time": arrival} | columns)


@dataclass
class Run:
    """A join of a left and a right stream, of the section `spatial_join` of its query.

    `window`: (size, slide) in ms, of a window join. `cuts`: the arrival times, in ms from the start, before which
    batches end. `plans`: the bounds that a batch brings by its number. `directory`: state is stored in files in it.
    """

    section: dict
    streams: tuple[pa.Table, pa.Table]
    k_ms: int = 0
    window: tuple[int, int] | None = None
    cuts: Sequence[int] = ()
    tasks: int = 1
    plans: dict[int, list[float]] = field(default_factory=dict)
    restarts: bool = True
    directory: Path | None = None
    tick_ms: int = 1

    def answers(self, after_batch: Callable[[LocalEngine, int], None] = lambda engine, end_ms: None) -> list[dict]:
        """The answers, batch by batch; the last one closes the streams."""
        formats = {name: MemoryFormat({name: table}) for name, table in zip(SIDES, self.streams, strict=True)}
        engine = LocalEngine(pipeline_in_memory(self._query(), formats), self.restarts)
        if self.directory is not None:
            stores = [ChunkFiles(self.directory / str(task.index)) for task in engine.tasks]
            engine.tasks = [replace(task, store=store) for task, store in zip(engine.tasks, stores, strict=True)]
        policy = policy_of({"policy": "k_slack", "k": f"{self.k_ms} ms"})
        bounds = [-(10**9), *sorted(self.cuts), 10**9]
        rows_of = [
            np.searchsorted(np.asarray(table["arrival_time"]) - START_MS, bounds).tolist() for table in self.streams
        ]
        logs = [formats[name].segments(name, rows) for name, rows in zip(SIDES, rows_of, strict=True)]
        answers: list[dict] = []
        for number, (start, end) in enumerate(pairwise(zip(*rows_of, strict=True))):
            mine = [
                replace(segment, ordinal=2 * number + side)
                for side, log in enumerate(logs)
                for segment in log
                if start[side] <= segment.position < end[side]
            ]
            plan = {"bounds": self.plans[number]} if number in self.plans else None
            answers += _results(engine.batch(policy, mine, plan))
            after_batch(engine, bounds[number + 1])
        return answers + _results(engine.batch(policy, closes=True, ends=True))

    def _query(self) -> Any:
        source = {"source": {"format": "parquet", "path": "x"}, "event_time": "event_time", "id": "id"}
        window = self.window and {"window": {"size": f"{self.window[0]} ms", "slide": f"{self.window[1]} ms"}}
        return declared_query(
            {
                "name": "near",
                "kind": "spatial_join",
                "streams": dict.fromkeys(SIDES, source | {"arrival_time": "arrival_time"}),
                "spatial_join": {"join": "window" if self.window else "interval"} | self.section,
                "parallelism": self.tasks,
                "disorder": {"policy": "none", "tick": f"{self.tick_ms} ms"},
            }
            | (window or {})
        )


def interval(lower_ms: int, upper_ms: int) -> dict:
    """The part of a section that declares the interval."""
    return {"interval": {"lower": f"{lower_ms} ms", "upper": f"{upper_ms} ms"}}


def _results(rows: dict[str, pa.Table]) -> list[dict]:
    return rows["results"].to_pylist() if "results" in rows else []
