"""A large warehouse for the console: 200 queries of 30 days, one of which has ten million answers.

That one has 100,000 rows of batches, and corrections, late tuples and rejected records to match; the others are copies
of what it was before, with 30 files a table. Rankings and joins (`large_kinds`) come beside them.
"""

from __future__ import annotations

import json
import os
import shutil
import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np

from kit.console import large_kinds as console_large_kinds
from kit.console import warehouse as console_warehouse
from kit.console.past import FILE_ROWS, HOUR_MS, Past
from kit.console.warehouse import MINUTE_MS, Warehouse

QUERIES, KEYS = 200, 1000
BIG = "speeds"
"""The query with large tables."""
_STEP_MS = 255_000  # from one window with answers to the next: ten million of them in all days


class _Speeds(Past):
    """The past of the query with ten million answers."""

    def keys(self, rows: int) -> np.ndarray:
        return np.array([f"s{key:04d}" for key in range(KEYS)])[self.draw.integers(0, KEYS, rows)]

    def build(self) -> None:
        """Write all of it."""
        self._batches(100_000)
        windows = np.arange(self.start // 5000 * 5000, self.end, _STEP_MS)
        per_file = FILE_ROWS // KEYS
        names = np.array([f"s{key:04d}" for key in range(KEYS)])
        for first in range(0, len(windows), per_file):
            starts = np.repeat(windows[first : first + per_file], KEYS)
            self._answers("results", starts, np.tile(names, len(starts) // KEYS), 3000)
        starts = np.sort(self.draw.choice(windows, 100_000))
        hours = (starts - starts[0]) // HOUR_MS
        self._answers("corrections", starts, self.keys(len(starts)), 2 * HOUR_MS, interval=self._interval(hours))
        at = np.arange(self.start, self.end, HOUR_MS)
        runs = {"arrived_from": at, "arrived_to": at + HOUR_MS, "started_at": at + 2 * HOUR_MS}
        self.add("correction_runs", len(at), interval=self._interval(np.arange(len(at))), as_of=at + HOUR_MS, **runs)
        at = self.times(300_000)
        self.add(
            "late",
            len(at),
            arrived=at,
            frontier=at - 3000,
            pane_start=at // 5000 * 5000 - MINUTE_MS,
            tick=at // 100,
            key=self.keys(len(at)),
        )
        at = np.arange(self.start // (10 * MINUTE_MS) * 10 * MINUTE_MS, self.end, 10 * MINUTE_MS)
        self.add(
            "quality",
            len(at),
            bucket_start=at,
            bucket_end=at + 10 * MINUTE_MS,
            off=np.arange(len(at)) % 30,
            answers=np.full(len(at), 10 * MINUTE_MS // _STEP_MS * KEYS),
            corrected=np.full(len(at), 23),
        )
        self.move_on("facts", 10_000, "version")
        self.add("facts", 10_000, version=np.arange(1, 10_001), from_tick=self.times(10_000) // 100)
        at = self.times(100_000)
        kinds = np.array([f"column value: not a number, but {word!r}" for word in "abcdefghij"])
        self.add(
            "quarantine",
            len(at),
            arrival_time=at,
            reason=kinds[np.arange(len(at)) % 10],
            stream=np.full(len(at), "readings"),
            position=np.arange(len(at)).astype(str),
            record=np.full(len(at), json.dumps({"value": "x" * 200})),
        )

    def _batches(self, rows: int) -> None:
        at = self.times(rows // 2).repeat(2)
        batch = np.arange(rows // 2).repeat(2)
        self.move_on("metrics", rows // 2, "batch")
        self.move_on("segments", rows // 2, "batch")
        self.add_metrics(batch, at)
        at = self.times(rows)
        path = np.array([f"/data/part-{number:06d}.parquet" for number in range(rows)])
        self.add(
            "segments",
            rows,
            batch=batch,
            ordinal=np.arange(rows) % 2,
            path=path,
            ingested_ms=at,
            before_tick=at // 100,
            min_event=at - 60_000,
            max_event=at,
        )

    def _answers(self, name: str, starts: np.ndarray, keys: np.ndarray, after_ms: int, **columns: Any) -> None:
        at = starts + 20_000 + after_ms
        self.add(
            name,
            len(starts),
            key=keys,
            window_start=starts,
            window_end=starts + 20_000,
            as_of=at,
            emitted_at=at,
            value=self.draw.normal(250, 40, len(starts)),
            tuples=self.draw.integers(80, 120, len(starts)),
            k_ms=self.draw.integers(2000, 8000, len(starts)),
            **columns,
        )

    def _interval(self, hours: np.ndarray) -> np.ndarray:
        bounds = [datetime.fromtimestamp(self.start // 1000 + 3600 * hour, UTC).isoformat() for hour in range(2000)]
        return np.array([f"arrival [{bounds[hour]}, {bounds[hour + 1]})" for hour in hours])


def build(home: Path) -> Warehouse:
    """Write the whole warehouse."""
    warehouse = Warehouse(home, int(time.time()) * 1000)
    console_warehouse.speeds(warehouse)
    for number in range(1, QUERIES):
        name = f"copy{number:03d}"
        shutil.copytree(warehouse.layout(BIG).home, warehouse.layout(name).home, copy_function=os.link)
        for file in (warehouse.layout(name).manifest_file, warehouse.layout(name).deployed):
            text = file.read_text()
            file.unlink()  # it is the other query's too
            file.write_text(text.replace(f'"{BIG}"', f'"{name}"').replace(f"name: {BIG}", f"name: {name}"))
        declared = (warehouse.queries / f"{BIG}.yaml").read_text()
        (warehouse.queries / f"{name}.yaml").write_text(declared.replace(f"name: {BIG}", f"name: {name}"))
    _Speeds(warehouse, BIG).build()
    console_large_kinds.build(warehouse)
    return warehouse
