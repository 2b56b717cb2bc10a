"""Reads the progress of a stream from its tables. No Spark."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from tailrace.engine.progress import Progress
from tailrace.ground.time_limits import EARLIEST_MS
from tailrace.storage.tables import Tables
from tailrace.tables.stream import CLASSES

TOTALS = {"metrics": ("rows", "late", "answers", "repeats"), "segments": ("quarantined", "filtered", "unmatched")}
"""Counters over a stream's life, by their table."""

NEWEST = ("committed", "frontier", "t_max", "k_ms", "coverage")
"""The columns of `metrics` with the stream's progress after the newest batch; equal in all tasks."""

_COLUMNS = ["committed", "newest_tick", "complete_tick", "frontier", "flushed", "reached", "newest_event"]


def read_progress(tables: Tables) -> Progress | None:
    """Read the progress; None where the table `metrics` does not exist yet."""
    if not tables.has("metrics"):
        return None
    last = tables.greatest("metrics", "batch")
    if last is None:
        return Progress(0, EARLIEST_MS, False)
    return Progress.from_metrics(tables.read("metrics", _COLUMNS, ds.field("batch") == last).to_pylist())


def frontier_at(tables: Tables, until_ms: int) -> int:
    """Return the frontier (watermark, ms) of the newest batch that committed arrival times up to at most `until_ms`.

    Return the earliest time before any such batch.
    """
    metrics = tables.read("metrics", ["committed", "frontier"])
    frontier = metrics.filter(pc.less_equal(metrics["committed"], until_ms))["frontier"]
    return pc.max(frontier).as_py() if frontier.length() - frontier.null_count else EARLIEST_MS


def read_newest(tables: Tables, batches: int) -> dict[str, Any]:
    """Return the columns `NEWEST` after a stream's first batches; empty before any, and if they are not recorded."""
    if not batches or not tables.has("metrics"):
        return {}
    rows = tables.read("metrics", list(NEWEST), ds.field("batch") == batches - 1).to_pylist()
    return rows[-1] if rows else {}


def read_totals(tables: Tables, batches: int) -> dict[str, int]:
    """Return the totals of `TOTALS` over the first batches of a stream."""
    totals = {name: 0 for names in TOTALS.values() for name in names}
    for table, names in TOTALS.items():
        if tables.has(table):
            counts = tables.read(table, list(names), ds.field("batch") < batches)
            totals |= {name: pc.sum(counts.column(name), min_count=0).as_py() for name in names}
    return totals


def held_back(tables: Tables) -> int:
    """Return the number of accepted rows in incomplete ticks, which wait until more comes."""
    if not (tables.has("segments") and tables.has("metrics")):
        return 0
    accepted = pc.sum(tables.read("segments", ["accepted"])["accepted"], min_count=0).as_py()
    in_ticks = tables.read("metrics", list(CLASSES), ds.field("task") == 0)  # equal in all tasks
    return int(accepted - sum(pc.sum(in_ticks[name], min_count=0).as_py() for name in CLASSES))


class EndOfRun(NamedTuple):
    """The frontier (ms) after the end of a bounded run, which closed all windows, and without that end: t_max - K."""

    frontier: int
    unflushed: int


def end_of_run(tables: Tables, batch: int) -> EndOfRun | None:
    """Return the end of a bounded run if a batch was its last one; otherwise None."""
    columns = ["frontier", "t_max", "k_ms"]
    metrics = tables.read("metrics", columns, (ds.field("batch") == batch) & ds.field("flushed"))
    last: dict[str, int | None] = {name: pc.max(metrics[name]).as_py() for name in columns}
    frontier, t_max, k_ms = (last[name] for name in columns)
    if frontier is None:
        return None
    return EndOfRun(frontier, EARLIEST_MS if t_max is None or k_ms is None else t_max - k_ms)


def committed_until(tables: Tables) -> int | None:
    """Return the arrival time in ms up to which stream and history have committed; None before any commit."""
    progress = read_progress(tables)
    return None if progress is None or not progress.until else progress.until


def quiet_closings(tables: Tables) -> list[tuple[int, int, int]]:
    """Find the batches that closed windows without ticks, because the stream was silent; in order.

    Returns
    -------
    list of (committed, before, after)
        The arrival time that was committed before the batch, and F before and after it, in ms. It closed the windows
        that end in (before, after].
    """
    answered = (ds.field("ticks") == 0) & ((ds.field("answers") > 0) | ds.field("counts").is_valid())  # or withheld
    batches = np.unique(tables.read("metrics", ["batch"], answered)["batch"].to_numpy())
    if not len(batches):
        return []
    wanted = ds.field("batch").isin(pa.array(np.union1d(batches, batches - 1)))
    rows = tables.read("metrics", ["batch", "committed", "frontier"], wanted)
    rows = rows.group_by("batch").aggregate([("committed", "max"), ("frontier", "max")])
    progress = {row["batch"]: (row["committed_max"], row["frontier_max"]) for row in rows.to_pylist()}
    closings = []
    for batch in batches.tolist():
        committed, before = progress.get(batch - 1, (None, None))
        if committed is not None and before is not None:
            closings.append((committed, before, progress[batch][1]))
    return closings
