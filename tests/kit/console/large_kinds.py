"""The past of the large warehouse's other kinds: rankings, near-duplicates, and three million meetings."""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import numpy as np
import pyarrow as pa

from kit.console import warehouse as console_warehouse
from kit.console.past import HOUR_MS, Past
from kit.console.warehouse import Warehouse

KEYS, BATCH_ROWS, PLANS = 20, 100_000, 10_000
_CELLS = 50  # with pairs, of a task's batch


def _rankings(past: Past) -> None:
    """A million rows of rankings, five a key and window; a fifth of them corrected."""
    _batches(past)
    for name, rows, after_ms in (("results", 1_000_000, 3000), ("corrections", 200_000, 2 * HOUR_MS)):
        end = past.times(rows // (5 * KEYS)).repeat(5 * KEYS) // 10_000 * 10_000
        columns = {"key": past.texts("s", 500 + np.arange(rows) // 5 % KEYS, 4), "rank": 1 + np.arange(rows) % 5}
        columns |= {"id": np.arange(rows), "window_start": end - 60_000, "window_end": end}
        columns |= {"as_of": end + after_ms, "emitted_at": end + after_ms}
        if name == "corrections":
            columns["interval"] = _intervals(past, end)
        past.add(name, rows, **columns)


def _copies(past: Past) -> None:
    """The work of batches by spans, the plans that it moved, and some pairs."""
    _batches(past, span=(4, 9), load=(0, 200), tuples=(0, 40))
    _plans(past, lambda number: {"bounds": [4, 5 + number % 4, 10], "hot": [7]})
    _pairs(past, 300_000, 1000)


def _meetings(past: Past) -> None:
    """The work of batches by cells, and three million pairs."""
    _batches(past, cell=(0, 1024), load=(1, 30))
    _plans(past, lambda number: {"bounds": [400 + number % 400]})
    _pairs(past, 3_000_000, 30_000)


def _pairs(past: Past, pairs: int, apart_ms: int) -> None:
    """Add pairs, a twentieth of them found by corrections alone, and the late tuples of these."""
    for name, rows, after_ms in (("results", pairs * 19 // 20, 12_000), ("corrections", pairs // 20, 2 * HOUR_MS)):
        left = past.times(rows)
        right = left + past.draw.integers(-apart_ms, apart_ms, rows)
        ids = {side: past.texts(f"{name[0]}-{side}-", np.arange(rows), 7) for side in ("left", "right")}
        as_of = np.maximum(left, right) + after_ms
        columns = {"left_time": left, "right_time": right, "left_id": ids["left"], "right_id": ids["right"]}
        columns |= {"distance": past.draw.uniform(0, 300, rows), "as_of": as_of, "emitted_at": as_of}
        if name == "corrections":
            columns["interval"] = _intervals(past, left)
            arrived = right + 60_000
            late = {"arrived": arrived, "tick": arrived // 100 - 1, "frontier": right + 40_000}
            past.add("late", rows, id=ids["right"], event_time=right, stream=np.full(rows, "right"), **late)
        past.add(name, rows, **columns)
    at = np.arange(past.start, past.end, HOUR_MS)
    runs = {"arrived_from": at, "arrived_to": at + HOUR_MS, "started_at": at + 2 * HOUR_MS}
    past.add("correction_runs", len(at), interval=_intervals(past, at), as_of=at + HOUR_MS, **runs)


def _batches(past: Past, **loads: tuple[int, int]) -> None:
    """Add rows of `metrics`, with loads drawn from ranges, and as many segments, all of one part of a file."""
    rows, at = BATCH_ROWS, past.times(BATCH_ROWS // 2).repeat(2)
    batch = np.arange(rows // 2).repeat(2)
    past.move_on("metrics", rows, "batch")
    past.move_on("segments", rows * 10_000, "position")
    past.move_on("segments", rows, "batch", "ordinal")
    columns = {} if not loads else {"loads": _loads(past, rows, loads)}
    past.add_metrics(batch, at, load=past.draw.uniform(0, 900, rows), **columns)
    streams = past.tables.read("segments", ["stream"])["stream"].unique().to_pylist()
    before = {"before_tick": at // 100, "before_end": at // 100 * 100 + 100, "ingested_ms": at}
    past.add(
        "segments",
        rows,
        batch=batch,
        ordinal=np.arange(rows),
        position=np.arange(rows) * 10_000,
        stream=np.array(streams)[np.arange(rows) % len(streams)],
        min_event=at - 60_000,
        max_event=at,
        **before,
    )


def _loads(past: Past, rows: int, ranges: dict[str, tuple[int, int]]) -> pa.Array:
    """Draw lists for the column `loads`: of each name as many numbers, from its range."""
    count, flat = rows * len(ranges), rows * len(ranges) * _CELLS
    numbers = [past.draw.integers(*ends, (rows, _CELLS)) for ends in ranges.values()]
    values = pa.array(np.stack(numbers, axis=1).astype(float).ravel())
    lists = pa.ListArray.from_arrays(pa.array(np.arange(0, flat + 1, _CELLS, dtype=np.int32)), values)
    offsets = pa.array(np.arange(0, count + 1, len(ranges), dtype=np.int32))
    return pa.MapArray.from_arrays(offsets, pa.array([*ranges] * rows), lists)


def _plans(past: Past, value: Callable[[int], dict[str, Any]]) -> None:
    """Add partition plans, one every tenth segment, each with its value by its number."""
    past.move_on("facts", BATCH_ROWS, "version", "from_segment")
    number = np.arange(PLANS)
    values = np.array([json.dumps(value(each)) for each in range(PLANS)])
    columns = {"version": number + 1, "from_segment": number * (BATCH_ROWS // PLANS), "value": values}
    columns |= {"about": np.full(PLANS, "plan"), "evidence": np.full(PLANS, "balanced by the load of the tasks")}
    past.add("facts", PLANS, from_tick=pa.nulls(PLANS, pa.int64()), **columns)


def _intervals(past: Past, at: np.ndarray) -> np.ndarray:
    """Return the hour of each time, as corrections of hours name it."""
    hour = (at - past.start) // HOUR_MS
    bounds = [datetime.fromtimestamp(past.start // 1000 + 3600 * each, UTC) for each in range(hour.max() + 2)]
    names = np.array([f"arrival [{low:%FT%TZ}, {high:%FT%TZ})" for low, high in itertools.pairwise(bounds)])
    return names[hour]


KINDS = {"trades": _rankings, "copies": _copies, "meetings": _meetings}
"""What adds the past of each query."""


def build(warehouse: Warehouse) -> None:
    """Run each query, and write its past."""
    for name, add in KINDS.items():
        getattr(console_warehouse, name)(warehouse)
        add(Past(warehouse, name))
