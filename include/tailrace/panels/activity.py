"""The panel `activity`: what a stream's drivers did over wall-clock time, with their restarts and problems."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import groupby, pairwise
from statistics import median
from typing import Annotated, Any, Literal

import pyarrow as pa
from pydantic import ConfigDict, Field

from tailrace.panels.arrival_range import HOUR_MS, TimesRequest, greatest_ms
from tailrace.panels.panel import Panel, PanelAnswer, Shown
from tailrace.panels.query_view import QueryView
from tailrace.panels.series import POINTS, downsample, thinning_of
from tailrace.storage.status import CUT_SHORT, OVER, SILENT_MS, Status, wall_ms
from tailrace.storage.tables import Tables, within
from tailrace.tables.stream import ACTIVITY

MOST_EVENTS = 200
DAY_MS = 86_400_000
_RECENT_POINTS = 60
_APART_MS = 150_000  # two observations of a living driver are a minute apart


class RecentActivity(Shown):
    """The activity over wall-clock time for a small chart: each point has the mean or the worst since the point before.

    Attributes
    ----------
    at : list of int
        The wall-clock time of the observation.
    rows_s : list
        Tuples a second.
    rows_left : list
        The backlog: rows known in the source that no batch had read.
    behind_ms : list
        Wall clock less the arrival time that was committed.
    """

    at: list[int]
    rows_s: Annotated[list[float | None], "mean"]
    rows_left: Annotated[list[int | None], "max"]
    behind_ms: Annotated[list[int | None], "max"]


class ActivitySeries(RecentActivity):
    """The activity over wall-clock time, with the driver's pace and resources.

    Attributes
    ----------
    speed : list
        Stream time a second: 1 keeps pace with arrival, more catches up, less falls behind.
    batch_ms : list
        The longest batch.
    cores : list
        CPU time a second of the driver's processes.
    memory : list
        Their resident memory, bytes.
    """

    speed: Annotated[list[float | None], "mean"]
    batch_ms: Annotated[list[int | None], "max"]
    cores: Annotated[list[float | None], "mean"]
    memory: Annotated[list[int | None], "max"]


_SERIES = thinning_of(ActivitySeries)
_TYPES = {name: pa.float64() if how == "mean" else pa.int64() for name, how in ({"at": "max"} | _SERIES).items()}

What = Literal["began", "ended", "interrupted", "failed", "died", "problem"]
_DEATHS = ("died", "failed")


class ActivityEvent(Shown):
    """A driver's begin or end, or a problem.

    Attributes
    ----------
    at : int
        When it was; for a death, when the driver was last seen.
    until : int or None
        The end of a problem; null if it is not over, and for other events.
    what : str
        `began`; `ended` (as requested, or at the end of its source), `interrupted`, `failed` or `died` (without a
        report); `problem`.
    text : str or None
        The state in which a driver ended, the reason of a failure, or the problem.
    """

    at: int
    until: int | None = None
    what: What
    text: str | None = None


class ActivityAnswer(PanelAnswer):
    """The activity in the wall-clock time (`from_`, `to`], by default the newest day; events are newest first.

    `events_total` and `deaths` also count events that are not shown; `deaths` are the drivers that failed, or ended
    without a report. `newest` has the last two observations, as a point of `series` may stand for many.
    """

    model_config = ConfigDict(serialize_by_alias=True)

    from_: int | None = Field(default=None, serialization_alias="from")
    to: int | None = None
    series: ActivitySeries
    events: list[ActivityEvent]
    events_total: int
    deaths: int
    newest: ActivitySeries | None = None


def read(view: QueryView, request: TimesRequest) -> ActivityAnswer:
    """Read the panel."""
    to = greatest_ms(view.tables, "activity", "made_at") if request.to is None else request.to
    if to is None:
        nothing = {"series": series_of([]), "events": [], "events_total": 0, "deaths": 0}
        return ActivityAnswer(**nothing, note="nothing is on record yet: a live driver reports each minute")
    from_ = to - DAY_MS if request.from_ is None else request.from_
    observed = read_observed(view.tables, from_, max(to, from_))
    has_gone = bool(observed) and _has_gone(view, observed[-1])
    events = [event for event in events_of(observed, has_gone) if event.at > from_]  # a driver may have begun before
    events.sort(key=lambda event: event.at, reverse=True)
    return ActivityAnswer(
        from_=from_,
        to=max(to, from_),
        series=series_of(observed),
        newest=series_of(observed[-2:]) if len(observed) > 1 else None,
        events=events[:MOST_EVENTS],
        events_total=len(events),
        deaths=sum(event.what in _DEATHS for event in events),
        note=None if observed else "no driver has run in this range",
    )


def _has_gone(view: QueryView, last: dict[str, Any]) -> bool:
    """Test whether the driver of the last observation of a range is gone without having reported its end."""
    if read_observed(view.tables, last["made_at"], last["made_at"] + _APART_MS):
        return False
    reported = Status.read(view.layout)
    if reported is not None and reported.started_ms == last["started_at"]:  # perhaps it can't write this table
        return reported.state not in OVER and wall_ms() - reported.at_ms >= SILENT_MS
    return bool(wall_ms() - last["made_at"] >= _APART_MS)


def read_recent(tables: Tables, now_ms: int) -> RecentActivity | None:
    """Read the activity of the last hour; None without any."""
    observed = read_observed(tables, now_ms - HOUR_MS, now_ms)
    if not observed:
        return None
    series = series_of(observed, _RECENT_POINTS)
    return RecentActivity(**{name: getattr(series, name) for name in RecentActivity.model_fields})


def read_observed(tables: Tables, low: int, high: int) -> list[dict[str, Any]]:
    """Read the observations in (low, high], ms, in order of time."""
    rows = tables.read_or_empty(ACTIVITY, where=within("made_at", low, high))
    observed: list[dict[str, Any]] = rows.sort_by("made_at").to_pylist()
    return observed


def series_of(observed: list[dict[str, Any]], points: int = POINTS) -> ActivitySeries:
    """Return the series of observations, given in order of time; lines break where observations are missing."""
    rows = [_point(before, row) for before, row in zip([None, *observed], observed, strict=False)]
    series = downsample(pa.Table.from_pylist(rows, pa.schema(_TYPES.items())), "at", _SERIES, points)
    gaps = [later - at for at, later in pairwise(series["at"])]
    longest = max(_APART_MS, 1.5 * median(gaps)) if gaps else 0
    for index in reversed([index for index, gap in enumerate(gaps, 1) if gap > longest]):
        for name, values in series.items():
            values.insert(index, series["at"][index - 1] + 1 if name == "at" else None)
    return ActivitySeries(**series)


def _point(before: dict[str, Any] | None, row: dict[str, Any]) -> dict[str, Any]:
    committed = row["committed"]
    point = {"at": row["made_at"]} | {name: row[name] for name in ("rows_left", "batch_ms", "memory")}
    point["behind_ms"] = None if committed is None else max(row["made_at"] - committed, 0)
    passed_ms = 0 if before is None else row["made_at"] - before["made_at"]
    if before is None or not 0 < passed_ms <= _APART_MS:
        return point
    for name, total in (("rows_s", "rows"), ("speed", "committed"), ("cores", "cpu_ms")):
        known = before[total] is not None and row[total] is not None
        is_one = total != "cpu_ms" or before["started_at"] == row["started_at"]
        rate = (row[total] - before[total]) / passed_ms if known and is_one else -1.0
        point[name] = rate if rate >= 0 else None  # a total falls where a clock was set back
    if point["rows_s"] is not None:
        point["rows_s"] *= 1000
    return point


def events_of(observed: list[dict[str, Any]], has_gone: bool = False) -> list[ActivityEvent]:
    """Return the events in some observations; `has_gone` says that the driver of the last one is gone."""
    events = list[ActivityEvent]()
    by_driver = sorted(observed, key=lambda row: (row["started_at"], row["made_at"]))
    drivers = [list(rows) for _, rows in groupby(by_driver, key=lambda row: row["started_at"])]
    for number, rows in enumerate(drivers, 1):
        events += _of_driver(rows, has_gone or number < len(drivers))
    return events


def _of_driver(rows: list[dict[str, Any]], has_gone: bool) -> Iterator[ActivityEvent]:
    """Yield the events that one driver's observations show."""
    last = rows[-1]
    reason = None
    if last["state"] == "failed":  # its problem is the reason of the end
        reason, rows = last["problem"], [*rows[:-1], last | {"problem": None}]
    is_over = last["state"] in OVER
    yield ActivityEvent(at=rows[0]["started_at"], what="began")
    stretches = [(problem, list(same)) for problem, same in groupby(rows, key=lambda row: row["problem"])]
    ends = [same[0]["made_at"] for _, same in stretches[1:]]
    for (problem, same), end in zip(stretches, [*ends, last["made_at"] if is_over or has_gone else None], strict=True):
        if problem is not None:
            yield ActivityEvent(at=same[0]["made_at"], until=end, what="problem", text=problem)
    if is_over:
        what: What = last["state"] if last["state"] in CUT_SHORT else "ended"
        yield ActivityEvent(at=last["made_at"], what=what, text=reason or last["state"])
    elif has_gone:
        yield ActivityEvent(at=last["made_at"], what="died")


PANEL = Panel("activity", TimesRequest, read, ("activity",))
