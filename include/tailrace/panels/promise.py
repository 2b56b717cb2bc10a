"""The panel `promise`: what is promised of answers, the errors that were measured, and coverage with its threshold."""

from __future__ import annotations

import math
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from tailrace.correction.promise_state import PromiseState, read_measured
from tailrace.correction.quality import Promise, bucket_ms
from tailrace.kind.column_errors import MeasuredByColumn
from tailrace.kind.protocol import windowed
from tailrace.panels.arrival_range import HOUR_MS, TimesRequest, greatest_ms, read_metrics
from tailrace.panels.panel import Panel, PanelAnswer, Shown
from tailrace.panels.query_view import QueryView
from tailrace.panels.right_answers import Right, read_right
from tailrace.panels.series import POINTS, How, downsample
from tailrace.storage.tables import Tables, within

NEVER_LATE = "a join with a table answers each tuple as it comes: none is late, and nothing is promised"
NOT_MEASURED = "nothing is measured yet: a correction measures the errors of the streamed answers"

_SERIES: dict[str, How] = {
    "start": "min",
    "end": "max",
    "share": "max",
    "mean_error": "max",
    "worst_error": "max",
    "answers": "sum",
    "corrected": "sum",
    "missing": "sum",
    "mean_k_ms": "mean",
}


class Promised(Shown):
    """The promise of the declared policy: P(error ≥ `error`) ≤ `risk`, or 1 − the mean error is at least `accuracy`.

    None is not promised. `of` names the columns of answers that it is for; None: each number, or answers as wholes.
    """

    error: float | None
    risk: float | None
    accuracy: float | None
    of: list[str] | None


class QualitySeries(Shown):
    """The measured errors of buckets of answers, by event time; of a point with several buckets the worst.

    Attributes
    ----------
    share : list
        The share of answers that were off: by the promised error or more, or 5 % where none is promised.
    worst_error : list
        None, too, where an answer was off by more than any number.
    answers, corrected, missing : list
        The streamed answers, those among them that were corrected, and those that only a correction gave.
    """

    start: list[int]
    end: list[int]
    share: list[float | None]
    mean_error: list[float | None]
    worst_error: list[float | None]
    answers: list[int]
    corrected: list[int]
    missing: list[int]
    mean_k_ms: list[float | None]


class AnswerQuality(Shown):
    """The measured errors of a column of answers, with the promise that was newest when they were measured."""

    answer: str | None
    series: QualitySeries
    error: float | None
    risk: float | None
    accuracy: float | None


class Coverage(Shown):
    """λ over all windows that had closed by an arrival time, the least of a point; and λ_thr, where the policy has one.

    `threshold` is the greatest of a point; None for batches of a release that did not record it. `threshold_now` is the
    newest one.
    """

    at: list[int]
    coverage: list[float | None]
    threshold: list[float | None]
    threshold_now: float | None


class PromiseAnswer(PanelAnswer):
    """The answer of the panel."""

    state: str
    detail: str
    promised: Promised
    answers: list[AnswerQuality]
    coverage: Coverage
    right: Right | None


class PromiseRequest(TimesRequest):
    """A request for a range of event time: by default the newest buckets, as many as a chart has points."""


def read(view: QueryView, request: PromiseRequest) -> PromiseAnswer:
    """Read the panel."""
    state = PromiseState.read(view.layout)
    promise = Promise.of_policy(view.query.policy)
    promised = Promised(
        error=promise.error, risk=promise.risk, accuracy=promise.accuracy, of=promise.of and list(promise.of)
    )
    ends = _ends(view, request)
    notes = []
    answers: list[AnswerQuality] = []
    right = None
    if not view.query.has_late_tuples:
        notes.append(NEVER_LATE)
    elif ends is None:
        notes.append(NOT_MEASURED)
    else:
        rows = read_measured(view.tables, within("bucket_start", *ends))
        answers = _by_answer(view, rows)
        if not rows.num_rows:
            notes.append("no answers of this range were measured")
        else:
            right, unknown = read_right(view, rows)
            notes += [unknown] if unknown else []
    return PromiseAnswer(
        state=state.state,
        detail=state.detail,
        promised=promised,
        answers=answers,
        coverage=_coverage(view, request, ends),
        right=right,
        note="; ".join(notes) or None,
    )


def _ends(view: QueryView, request: PromiseRequest) -> tuple[int, int] | None:
    """Return the range (from, to] of the buckets' starts; None where nothing was measured."""
    newest = greatest_ms(view.tables, "quality", "bucket_start")
    if newest is None or not view.query.has_late_tuples:
        return None
    to = newest if request.to is None else request.to
    if request.from_ is not None:
        return request.from_ - 1, max(to, request.from_)
    return to - POINTS * bucket_ms(windowed(view.kind).windows.slide_ms), to


def _by_answer(view: QueryView, rows: pa.Table) -> list[AnswerQuality]:
    """Return the measured errors of each column of answers, in the order of the query."""
    names = pc.unique(rows["answer"]).to_pylist()
    if isinstance(view.kind, MeasuredByColumn):
        order = {name: place for place, name in enumerate(view.kind.names)}
        names.sort(key=lambda name: order.get(name, len(order)))
    rows = rows.append_column("start", rows["bucket_start"]).append_column("end", rows["bucket_end"])
    found = []
    for name in names:
        is_of = pc.is_null(rows["answer"]) if name is None else pc.fill_null(pc.equal(rows["answer"], name), False)
        mine = rows.filter(is_of)
        place = pc.index(mine["bucket_start"], pc.max(mine["bucket_start"])).as_py()
        newest: dict[str, Any] = mine.slice(place, 1).to_pylist()[0]
        series = downsample(mine, "bucket_start", _SERIES)
        del series["at"]
        promise = {each: newest[each] for each in ("error", "risk", "accuracy")}
        found.append(AnswerQuality(answer=name, series=QualitySeries(**series), **promise))
    return found


def _coverage(view: QueryView, request: PromiseRequest, ends: tuple[int, int] | None) -> Coverage:
    """Return the coverage over the same range, taken as arrival time, and up to the newest where it has no end."""
    newest = greatest_ms(view.tables, "metrics", "committed")
    if newest is None:
        return Coverage(at=[], coverage=[], threshold=[], threshold_now=None)
    to = newest if request.to is None else request.to
    low = request.from_ if request.from_ is not None else min(to - HOUR_MS, ends[0] if ends else to)
    rows = read_metrics(view.tables, ["committed", "coverage", "threshold"], (low, to))
    series = downsample(rows, "committed", {"coverage": "min", "threshold": "max"})
    return Coverage(**series, threshold_now=_threshold_now(view.tables, newest))


def _threshold_now(tables: Tables, committed: int) -> float | None:
    """Return the threshold of the newest batch that recorded one, in the hour up to what is committed."""
    rows = read_metrics(tables, ["batch", "threshold"], (committed - HOUR_MS, committed)).drop_null()
    newest: float | None = rows.sort_by("batch")["threshold"][-1].as_py() if rows.num_rows else None
    return None if newest is None or not math.isfinite(newest) else newest


PANEL = Panel(
    "promise", PromiseRequest, read, ("quality", "metrics", "results", "late", "corrections", "correction_runs")
)
