"""The panel `late`: late and waiting rows, and the stream that holds back the frontier.

Rows are shown over time, by partition and by file.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tailrace.correction.uncorrected import count_uncorrected
from tailrace.ground.time_limits import BEFORE_ALL
from tailrace.ground.words import counted
from tailrace.panels.arrival_range import NOTHING_YET, ArrivalAnswer, ArrivalRequest, read_metrics
from tailrace.panels.panel import Panel, Shown
from tailrace.panels.pieces import Pieces
from tailrace.panels.query_view import QueryView
from tailrace.panels.series import downsample
from tailrace.panels.source_progress import MOST_FILES, FileProgress, PartitionProgress, files_of, partitions_of
from tailrace.panels.stream_progress import SourceProgress, late_by_tick, read_streams
from tailrace.panels.waiting_rows import COLUMNS, waiting_by_batch

NEVER_LATE = "a join with a table answers each tuple as it comes: none is late, and none waits"


class LateSeries(Shown):
    """By committed arrival time: the late tuples since the previous point, and the most waiting rows."""

    at: list[int]
    late: list[int | None]
    waiting: list[int | None]


class LateAnswer(ArrivalAnswer):
    """The answer of the panel.

    Attributes
    ----------
    waiting_rows : int or None
        The rows that wait now: accepted, but in incomplete ticks. Null where a table is damaged.
    late_rows : int
        The late tuples of the batches in the range; `series`, `partitions` and `files` count the same ones.
    uncorrected_rows : int or None
        The uncorrected late tuples of all times. Null where a table is damaged.
    holding : str or None
        The reason why the frontier or the ticks are held back now; None without one.
    files : list
        The newest files from which rows were read in the range.
    """

    series: LateSeries = LateSeries(at=[], late=[], waiting=[])
    waiting_rows: int | None = 0
    late_rows: int = 0
    uncorrected_rows: int | None = 0
    partitions: tuple[PartitionProgress, ...] = ()
    holding: str | None = None
    files: tuple[FileProgress, ...] = ()


def read(view: QueryView, request: ArrivalRequest) -> LateAnswer:
    """Read the panel."""
    tables, ends = view.tables, request.ends(view.tables)
    if ends is None or not tables.has("segments"):
        return LateAnswer(note=NOTHING_YET)
    pieces, unknown = Pieces(), SourceProgress([], None, [])
    metrics = read_metrics(tables, [*COLUMNS, "committed", "late"])
    waiting = pieces.read(
        "series waiting_rows partitions files holding", lambda: waiting_by_batch(tables, metrics), None
    )
    of_row = pa.nulls(metrics.num_rows, pa.int64())
    if waiting is not None:
        if not view.query.has_late_tuples:
            waiting = np.zeros_like(waiting)  # a join with a table has no waiting ticks
        of_row = pa.array(waiting[metrics["batch"].to_numpy()])
    metrics = metrics.append_column("waiting", of_row)
    is_in_range = pc.and_(pc.greater(metrics["committed"], ends[0]), pc.less_equal(metrics["committed"], ends[1]))
    rows = metrics.filter(is_in_range)
    notes = [] if view.query.has_late_tuples else [NEVER_LATE]
    late = pieces.read("partitions files", lambda: late_by_tick(tables, _of_batches(metrics, ends), notes), None)
    progress = unknown
    if waiting is not None:
        now = len(waiting), int(waiting[-1])
        progress = pieces.read("partitions files holding", lambda: read_streams(view, late, *now), unknown)
    tick_ms, late_rows = view.query.tick_ms, pc.sum(rows["late"]).as_py() or 0
    files = [file for stream in progress.streams for file in files_of(stream, tick_ms, ends)]
    partitions = [one for stream in progress.streams for one in partitions_of(stream, view.query, tick_ms, ends)]
    if late is not None and partitions and (rest := late_rows - sum(one.late or 0 for one in partitions)) > 0:
        late_tuples = counted(rest, "late tuple")
        notes.append(f"{late_tuples} in none of these partitions: several have rows of the tick, or it is not shown")
    return LateAnswer(
        from_=ends[0],
        to=ends[1],
        series=LateSeries(**downsample(rows, "committed", {"late": "sum", "waiting": "max"})),
        waiting_rows=None if waiting is None else int(waiting[-1]),
        late_rows=late_rows,
        uncorrected_rows=pieces.read("uncorrected_rows", lambda: count_uncorrected(tables), None),
        partitions=tuple(partitions),
        holding=progress.holding,
        files=tuple(sorted(files, key=lambda file: file.last or 0, reverse=True)[:MOST_FILES]),
        note="; ".join([*notes, *progress.notes]) or None,
        damaged=pieces.damaged,
    )


def _of_batches(metrics: pa.Table, ends: tuple[int, int]) -> tuple[int, int]:
    """Return the range (from, to] of arrival that the batches took in, as a batch may begin long before it commits."""
    before = metrics.filter(pc.less_equal(metrics["committed"], ends[0]))["committed"]
    low = pc.max(before).as_py()
    return BEFORE_ALL if low is None else low, ends[1]


PANEL = Panel("late", ArrivalRequest, read, ("metrics", "segments", "late", "correction_runs"))
