"""The panel `frontier`: frontier, arrival and wall clock over time, and K with the changes that moved it."""

from __future__ import annotations

from itertools import pairwise
from typing import Annotated

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds

from tailrace.ground.duration import format_time
from tailrace.ground.errors import Damaged, Refused
from tailrace.panels.arrival_range import NOTHING_YET, ArrivalAnswer, ArrivalRequest, read_metrics
from tailrace.panels.delays import DelayQuantiles, read_delays
from tailrace.panels.panel import Panel, Shown
from tailrace.panels.pieces import Pieces
from tailrace.panels.query_view import QueryView
from tailrace.panels.series import SeriesChart, charts_of, downsample, thinning_of, within_limits
from tailrace.panels.settings_changes import QUIET, Change, read_changes, within_range
from tailrace.panels.wall_clock import WallClock, read_wall_clock
from tailrace.storage.tables import Tables
from tailrace.tables.stream import METRICS

MOST_CHANGES = 200


class FrontierSeries(Shown):
    """The progress of the stream; each point has the newest, the worst or the sum over its batches.

    Attributes
    ----------
    at : list of int
        The arrival time committed.
    k_ms, least_k_ms : list
        The greatest and the least slack K.
    coverage : list
        The least λ over all windows closed by then.
    rows, late : list
        The numbers of all tuples, and of late tuples, since the previous point.
    latency_ms : list
        The mean stream time from an answer's horizon to the answer, for the slowest batch and task.
    """

    at: list[int]
    frontier: Annotated[list[int | None], "max"]  # it and t_max never decrease
    t_max: Annotated[list[int | None], "max"]
    k_ms: Annotated[list[int | None], "max"]
    least_k_ms: Annotated[list[int | None], "min"]
    coverage: Annotated[
        list[float | None],
        "min",
        SeriesChart(title="Coverage", unit="share", summary="Share of the tuples that windows held when they closed"),
    ]
    late: Annotated[list[int | None], "sum", SeriesChart(title="Late rows", unit="count", style="bars", tone="warn")]
    rows: Annotated[list[int | None], "sum", SeriesChart(title="Rows", unit="count", style="bars", tone="soft")]
    latency_ms: Annotated[
        list[float | None],
        "max",
        SeriesChart(title="Latency of answers", unit="duration", none="No answers in this range."),
    ]


_SERIES = thinning_of(FrontierSeries)


class FrontierAnswer(ArrivalAnswer):
    """The answer of the panel; `delays` covers the newest tuples up to the end of the range.

    Attributes
    ----------
    k_ms : int or None
        The slack K after the newest batch of the range.
    k_changes : int or None
        The number of batches in the range that changed K.
    charts : dict
        The series that have a chart of their own, by name.
    """

    k_ms: int | None = None
    k_changes: int | None = None
    series: FrontierSeries
    charts: dict[str, SeriesChart] = charts_of(FrontierSeries)
    wall: WallClock
    changes: list[Change]
    delays: DelayQuantiles | None = None


def read(view: QueryView, request: ArrivalRequest) -> FrontierAnswer:
    """Read the panel."""
    ends = request.ends(view.tables)
    if ends is None:
        nothing = FrontierSeries(**{name: [] for name in ("at", *_SERIES)})
        return FrontierAnswer(series=nothing, wall=WallClock(at=[], emitted_at=[]), changes=[], note=NOTHING_YET)
    rows = read_metrics(view.tables, ["batch", "committed", *(name for name in _SERIES if name != "least_k_ms")], ends)
    rows = rows.append_column("least_k_ms", rows["k_ms"])
    pieces, no_wall = Pieces(), WallClock(at=[], emitted_at=[])
    tick_ms = view.query.tick_ms
    every = pieces.read("changes", lambda: read_changes(view.tables, tick_ms, ends[0]), list[Change]())
    changes, (k_ms, k_changes) = within_range(every, *ends), _k_of(view.tables, rows)
    notes = [] if rows.num_rows else ["no batch has committed arrival times in this range"]
    if request.to is None:
        notes += [
            f"{each.what} holds from {format_time(each.at)} on, and that tick is not complete"
            for each in every
            if each.at is not None and each.at + tick_ms > ends[1] and each.what != QUIET
        ]
    if len(changes) > MOST_CHANGES:
        notes.append(f"the newest {MOST_CHANGES} of {len(changes):,} changes of the settings are shown")
    delays, unknown = pieces.read("delays", lambda: _delays(view, ends[1]), (None, list[str]()))
    return FrontierAnswer(
        from_=ends[0],
        to=ends[1],
        k_ms=k_ms,
        k_changes=k_changes,
        series=FrontierSeries(**downsample(_printable(rows), "committed", _SERIES)),
        wall=pieces.read("wall", lambda: read_wall_clock(view.tables, *ends), no_wall),
        changes=changes[-MOST_CHANGES:],
        delays=delays,
        note="; ".join([*notes, *unknown]) or None,
        damaged=pieces.damaged,
    )


def _k_of(tables: Tables, rows: pa.Table) -> tuple[int | None, int]:
    """Return K after the newest of consecutive batches, and how many batches changed K."""
    batch, first = np.unique(rows["batch"].to_numpy(), return_index=True)  # all tasks have the same K
    of_batch = rows["k_ms"].take(pa.array(first)).to_pylist()
    if not of_batch:
        return None, 0
    before = tables.read_or_empty(METRICS, ["k_ms"], ds.field("batch") == int(batch[0]) - 1)["k_ms"]
    known = [k for k in (*before.to_pylist()[:1], *of_batch) if k is not None]
    return of_batch[-1], sum(k != other for k, other in pairwise(known))


def _printable(rows: pa.Table) -> pa.Table:
    for name in ("frontier", "t_max"):
        rows = rows.set_column(rows.schema.get_field_index(name), name, within_limits(rows[name]))
    return rows


def _delays(view: QueryView, until: int) -> tuple[DelayQuantiles | None, list[str]]:
    """Measure the delays; if the source can't be read, return the reason."""
    try:
        return read_delays(view, until), []
    except Damaged:
        raise
    except Refused as refused:
        fault = f"{refused.problems[0].where}: {refused.problems[0].fault}"
    except OSError as error:
        fault = f"{error.filename}: {error.strerror}" if error.strerror else str(error)
    return None, [f"the delays are unknown, as the source can't be read: {fault}"]


PANEL = Panel("frontier", ArrivalRequest, read, ("metrics", "facts", "results", "segments"))
