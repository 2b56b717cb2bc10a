"""The panel `late`: late and waiting rows over time, by partition and file, and what holds the frontier back."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tailrace.correction.uncorrected import corrected_intervals, uncovered
from tailrace.ground.time_limits import LATEST_MS
from tailrace.panels.arrival_range import NOTHING_YET, ArrivalAnswer, ArrivalRequest, read_metrics
from tailrace.panels.panel import Panel, Shown
from tailrace.panels.query_view import QueryView
from tailrace.panels.series import downsample
from tailrace.panels.source_progress import MOST_FILES, FileProgress, PartitionProgress, files_of, partitions_of
from tailrace.panels.stream_progress import read_streams
from tailrace.panels.uncorrected_answers import count_late
from tailrace.panels.waiting_rows import COLUMNS, waiting_by_batch
from tailrace.storage.tables import Tables

NEVER_LATE = "a join with a table answers each tuple as it comes: none is late, and none waits"


class LateSeries(Shown):
    """By arrival time committed: the late tuples since the point before, and the most rows that waited."""

    at: list[int]
    late: list[int | None]
    waiting: list[int]


class LateAnswer(ArrivalAnswer):
    """The answer of the panel.

    Attributes
    ----------
    waiting_rows : int
        The rows that wait now: accepted, and in no complete tick.
    late_rows : int
        The late tuples of the range.
    uncorrected_rows : int
        The late tuples that no correction has taken in, of any time.
    holding : str or None
        What holds the frontier or the ticks back now; None where nothing does.
    files : list
        The newest ones of which rows were read in the range.
    """

    series: LateSeries = LateSeries(at=[], late=[], waiting=[])
    waiting_rows: int = 0
    late_rows: int = 0
    uncorrected_rows: int = 0
    partitions: tuple[PartitionProgress, ...] = ()
    holding: str | None = None
    files: tuple[FileProgress, ...] = ()


def read(view: QueryView, request: ArrivalRequest) -> LateAnswer:
    """Read the panel."""
    tables, ends = view.tables, request.ends(view.tables)
    if ends is None or not tables.has("segments"):
        return LateAnswer(note=NOTHING_YET)
    metrics = read_metrics(tables, [*COLUMNS, "committed", "late"])
    waiting = waiting_by_batch(tables, metrics)
    if not view.query.has_late_tuples:
        waiting = np.zeros_like(waiting)  # it has no ticks that wait
    metrics = metrics.append_column("waiting", pa.array(waiting[metrics["batch"].to_numpy()]))
    is_in_range = pc.and_(pc.greater(metrics["committed"], ends[0]), pc.less_equal(metrics["committed"], ends[1]))
    rows = metrics.filter(is_in_range)
    progress = read_streams(view, ends, len(waiting), int(waiting[-1]))
    tick_ms = view.query.tick_ms
    files = [file for stream in progress.streams for file in files_of(stream, tick_ms, ends)]
    notes = [] if view.query.has_late_tuples else [NEVER_LATE]
    return LateAnswer(
        from_=ends[0],
        to=ends[1],
        series=LateSeries(**downsample(rows, "committed", {"late": "sum", "waiting": "max"})),
        waiting_rows=int(waiting[-1]),
        late_rows=pc.sum(rows["late"]).as_py() or 0,
        uncorrected_rows=_uncorrected(tables),
        partitions=tuple(
            one for stream in progress.streams for one in partitions_of(stream, view.query, tick_ms, ends)
        ),
        holding=progress.holding,
        files=tuple(sorted(files, key=lambda file: file.last or 0, reverse=True)[:MOST_FILES]),
        note="; ".join([*notes, *progress.notes]) or None,
    )


def _uncorrected(tables: Tables) -> int:
    """Return the number of late tuples whose arrival no correction of the ledger covers."""
    gaps = uncovered(corrected_intervals(tables), LATEST_MS)
    if not gaps or not tables.has("late"):
        return 0
    return int(count_late(tables, gaps).sum())


PANEL = Panel("late", ArrivalRequest, read, ("metrics", "segments", "late", "correction_runs"))
