"""The panel `promise`: the promise about answers, the measured errors, and coverage with its threshold."""

from __future__ import annotations

import math
from typing import Annotated, Any

import pyarrow as pa
import pyarrow.compute as pc

from tailrace.correction.promise_state import PromiseState
from tailrace.correction.quality import Promise, bucket_ms
from tailrace.ground.duration import format_time
from tailrace.ground.errors import Refused
from tailrace.kind.column_errors import MeasuredByColumn
from tailrace.kind.protocol import windowed
from tailrace.panels.arrival_range import HOUR_MS, TimesRequest, greatest_ms, read_metrics
from tailrace.panels.panel import Panel, PanelAnswer, Shown
from tailrace.panels.pieces import Pieces
from tailrace.panels.query_view import QueryView
from tailrace.panels.right_answers import Right, read_right
from tailrace.panels.series import POINTS, downsample, thinning_of
from tailrace.panels.settings_changes import SAME_SETTINGS, read_changes
from tailrace.query.loading import load
from tailrace.storage.tables import Tables, within
from tailrace.tables.correction import QUALITY

NEVER_LATE = "a join with a table answers each tuple as it comes: none is late, and nothing is promised"
NOT_MEASURED = "nothing is measured yet: a correction measures the errors of the streamed answers"

_COMMITTED = "metrics", "committed"


class Promised(Shown):
    """The promise of the declared policy: P(error ≥ `error`) ≤ `risk`, or 1 − the mean error is at least `accuracy`.

    None is not promised. `of` names the promised columns of answers; None: each number, or answers as a whole.
    """

    error: float | None
    risk: float | None
    accuracy: float | None
    of: list[str] | None


class QualitySeries(Shown):
    """The measured errors of buckets of answers, by event time; a point with several buckets shows the worst.

    Attributes
    ----------
    share : list
        The share of answers that were off by at least the promised error, or by 5 % without a promise.
    worst_error : list
        Also None if an answer's error was infinite.
    answers, corrected, missing : list
        The numbers of streamed answers, of corrected ones among them, and of answers that only a correction added.
    """

    start: Annotated[list[int], "min"]
    end: Annotated[list[int], "max"]
    share: Annotated[list[float | None], "max"]
    mean_error: Annotated[list[float | None], "max"]
    worst_error: Annotated[list[float | None], "max"]
    answers: Annotated[list[int], "sum"]
    corrected: Annotated[list[int], "sum"]
    missing: Annotated[list[int], "sum"]
    mean_k_ms: Annotated[list[float | None], "mean"]


_SERIES = thinning_of(QualitySeries)


class AnswerQuality(Shown):
    """The measured errors of a column of answers, with the promise at the newest measurement."""

    answer: str | None
    series: QualitySeries
    error: float | None
    risk: float | None
    accuracy: float | None


class Coverage(Shown):
    """λ over all windows closed by an arrival time (the least of a point), and λ_thr if the policy has one.

    A point has the least `coverage` and the greatest `threshold` of its batches; `threshold_now` is the newest.
    """

    at: list[int]
    coverage: list[float | None]
    threshold: list[float | None]
    threshold_now: float | None


_NO_COVERAGE = Coverage(at=[], coverage=[], threshold=[], threshold_now=None)


class PromiseAnswer(PanelAnswer):
    """The answer of the panel; `word` is the state as named in pages."""

    state: str
    word: str
    detail: str
    promised: Promised
    answers: list[AnswerQuality]
    coverage: Coverage
    right: Right | None


class PromiseRequest(TimesRequest):
    """A request for a range of event time, by default the newest buckets, as many as a chart has points."""


def read(view: QueryView, request: PromiseRequest) -> PromiseAnswer:
    """Read the panel."""
    pieces = Pieces()
    unread = PromiseState("unknown", "the measured errors can't be read")
    state = pieces.read("state word detail", lambda: PromiseState.read(view.tables), unread)
    promise = Promise.of_policy(view.query.policy)
    state = state.of_policy(promise.is_given)
    promised = Promised(
        error=promise.error, risk=promise.risk, accuracy=promise.accuracy, of=promise.of and list(promise.of)
    )
    ends = pieces.read("answers right", lambda: _ends(view, request), None)
    notes = _on_disk(view, promise)
    answers: list[AnswerQuality] = []
    right = None
    if not view.query.has_late_tuples:
        notes.append(NEVER_LATE)
    elif ends is not None:
        near, measured = within("bucket_start", *ends), QUALITY.empty()
        rows = pieces.read("answers right", lambda: view.tables.read("quality", where=near), measured)
        answers = _by_answer(view, rows)
        if rows.num_rows:
            right, unknown = pieces.read("right", lambda: read_right(view, rows), (None, None))
            notes += [unknown] if unknown else []
        elif not pieces.damaged:
            notes.append("no answers of this range were measured")
    elif not pieces.damaged:
        notes.append(NOT_MEASURED)
    if state.state != "unknown":
        notes += pieces.read("note", lambda: _settings_since(view), list[str]())
    return PromiseAnswer(
        state=state.state,
        word=state.word,
        detail=state.detail,
        promised=promised,
        answers=answers,
        coverage=pieces.read("coverage", lambda: _coverage(view, request, ends), _NO_COVERAGE),
        right=right,
        note="; ".join(notes) or None,
        damaged=pieces.damaged,
    )


def _on_disk(view: QueryView, in_force: Promise) -> list[str]:
    """Return in words the promise of the file on disk; empty if it is in force, or unknown."""
    if view.file is None:
        return []
    try:
        promise = Promise.of_policy(load(view.file).policy)
    except (Refused, OSError):  # the panel `settings` gives the reason
        return []
    return [] if promise == in_force else [f"the file on disk promises {promise}, from the next deployment on"]


def _settings_since(view: QueryView) -> list[str]:
    """Return in words since when the settings differ from the judged answers' settings.

    Empty if a correction covers later arrivals, as some of the judged answers may be from after the change.
    """
    as_of, committed = greatest_ms(view.tables, "correction_runs", "as_of"), greatest_ms(view.tables, *_COMMITTED)
    tick_ms = view.query.tick_ms
    if as_of is None or committed is None or not tick_ms:
        return []
    in_force = next(iter(read_changes(view.tables, tick_ms, committed - tick_ms)), None)
    if (
        in_force is None
        or in_force.at is None
        or in_force.what == SAME_SETTINGS
        or not as_of <= in_force.at <= committed - tick_ms
    ):
        return []
    return [f"the judged answers are from before {format_time(in_force.at)}, since when {in_force.what} holds"]


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
        order = {name: index for index, name in enumerate(view.kind.names)}
        names.sort(key=lambda name: order.get(name, len(order)))
    rows = rows.append_column("start", rows["bucket_start"]).append_column("end", rows["bucket_end"])
    promises = []
    for name in names:
        is_of = pc.is_null(rows["answer"]) if name is None else pc.fill_null(pc.equal(rows["answer"], name), False)
        mine = rows.filter(is_of)
        index = pc.index(mine["bucket_start"], pc.max(mine["bucket_start"])).as_py()
        newest: dict[str, Any] = mine.slice(index, 1).to_pylist()[0]
        series = downsample(mine, "bucket_start", _SERIES)
        del series["at"]
        promise = {each: newest[each] for each in ("error", "risk", "accuracy")}
        promises.append(AnswerQuality(answer=name, series=QualitySeries(**series), **promise))
    return promises


def _coverage(view: QueryView, request: PromiseRequest, ends: tuple[int, int] | None) -> Coverage:
    """Return the coverage over the same range of arrival time; up to the newest batch if the range has no end."""
    newest = greatest_ms(view.tables, *_COMMITTED)
    if newest is None:
        return _NO_COVERAGE
    to = newest if request.to is None else request.to
    low = request.from_ if request.from_ is not None else min(to - HOUR_MS, ends[0] if ends else to)
    rows = read_metrics(view.tables, ["committed", "coverage", "threshold"], (low, to))
    series = downsample(rows, "committed", {"coverage": "min", "threshold": "max"})
    return Coverage(**series, threshold_now=_threshold_now(view.tables, newest))


def _threshold_now(tables: Tables, committed: int) -> float | None:
    """Return the threshold of the newest batch that recorded one, within the last committed hour."""
    rows = read_metrics(tables, ["batch", "threshold"], (committed - HOUR_MS, committed)).drop_null()
    newest: float | None = rows.sort_by("batch")["threshold"][-1].as_py() if rows.num_rows else None
    return None if newest is None or not math.isfinite(newest) else newest


PANEL = Panel(
    "promise",
    PromiseRequest,
    read,
    ("quality", "metrics", "results", "late", "corrections", "correction_runs", "facts"),
    ("_stream/deployed.json",),
)
