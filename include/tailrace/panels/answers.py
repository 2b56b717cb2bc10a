"""The panel of answers: the newest first, as streamed and as corrected."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pydantic import Field

from tailrace.answers.by_pair import PairAnswers
from tailrace.answers.model import AnswerModel
from tailrace.correction.uncorrected import Uncorrected
from tailrace.ground.arrow.answer_columns import RETRACTED
from tailrace.ground.arrow.columns import Ints
from tailrace.ground.arrow.matching import select
from tailrace.ground.errors import Damaged, Problem, Refused
from tailrace.ground.time_limits import AFTER_ALL, BEFORE_ALL, EARLIEST_MS, LATEST_MS
from tailrace.kind.protocol import windowed
from tailrace.panels.answer_chart import AnswerChart, chart_of
from tailrace.panels.answer_ids import AnswerId
from tailrace.panels.answer_versions import SideBySide, row_key, shown_columns
from tailrace.panels.cells import Cell, ShownColumn, cells_of
from tailrace.panels.newest_answers import HORIZON, Cursor, newest_answers
from tailrace.panels.panel import Panel, PanelAnswer, PanelRequest, Shown
from tailrace.panels.pieces import Pieces
from tailrace.panels.query_view import QueryView
from tailrace.panels.right_share import RightShare, right_share
from tailrace.storage.answer_range import AnswerRange

LOOKED_AT = 10_000  # the newest answers, for the keys, the chart and the share
_MOST_KEYS, _LONGEST_KEY = 200, 500
_NO_SHARE = RightShare(at=[], share=[])


class AnswersRequest(PanelRequest):
    """The answers to list: a range of event time (ms), a key, and the position in the list to start after."""

    start: int | None = Field(default=None, alias="from", ge=EARLIEST_MS, le=LATEST_MS)
    end: int | None = Field(default=None, alias="to", ge=EARLIEST_MS, le=LATEST_MS)
    key: str | None = None
    limit: int = Field(default=100, ge=1, le=1000)
    before: str | None = None


class AnswerRow(Shown):
    """A row of an answer; a ranking has several rows with one id.

    Attributes
    ----------
    streamed, latest : list or None
        The values as streamed, and of the latest version; None where missing.
    is_changed : bool
        Whether they differ, ignoring the last digits of doubles.
    coverage : float or None
        The share of the tuples so far that the latest version includes.
    k_ms : int or None
        The slack K (allowed lateness) with which it was streamed.
    """

    id: str
    streamed: list[Cell] | None
    latest: list[Cell] | None
    is_changed: bool
    coverage: float | None
    as_of: int
    tuples: int
    k_ms: int | None


class AnswersShown(PanelAnswer):
    """Answers, newest first.

    Attributes
    ----------
    next : str or None
        The position after these rows, for `before`; None at the end.
    keys : list of str
        Some keys of the newest answers.
    chart : AnswerChart or None
        None where answers have no numbers, or several keys.
    right : RightShare
        The share for the newest answers, at most 10,000.
    """

    columns: list[ShownColumn] = Field(default=[])
    rows: list[AnswerRow] = Field(default=[])
    next: str | None = None
    keys: list[str] = Field(default=[])
    chart: AnswerChart | None = None
    right: RightShare = _NO_SHARE


def read(view: QueryView, request: AnswersRequest) -> AnswersShown:
    """Read the newest answers of a part, and the chart, keys and share of its newest ten thousand."""
    if not view.tables.has("results"):
        return AnswersShown(note="There are no answers yet: the stream has not begun.")
    after = Cursor() if request.before is None else Cursor.parse(request.before)
    part = _part(view, request)
    answers, is_all = newest_answers(view, part, after, request.limit + 1, LOOKED_AT)
    if not answers.num_rows:
        is_all = (request.start, request.end, request.key, request.before) == (None,) * 4
        withholds = RETRACTED in view.tables.schema("results").names
        none = "No answer meets the query's having yet." if withholds else "There are no answers yet."
        return AnswersShown(note=none if is_all else "There are no answers here.")
    pieces, model, versions = Pieces(), view.kind.answers, view.answers.versions_of(answers)
    latest = model.identity.latest(versions)
    lacking = pieces.read("rows right", lambda: view.answers.missing(latest), None)
    missing = np.zeros(versions.num_rows, np.int64)
    if lacking is not None:
        missing = lacking[model.identity.find(versions, latest)]
    names = shown_columns(view, versions)
    compared = [name for name in names if name not in (*model.row_identity, *view.query.key_names)]
    sides = SideBySide.from_versions(model, versions, missing, compared)
    index = model.identity.find(sides.given(model.identity.columns), answers)
    ranks = [column.to_numpy() for column in sides.given(row_key(model)).columns]
    order = np.lexsort([*reversed(ranks), index])
    order = order[_is_listed_here(model, select(versions, part.contains(model, versions)), answers)[index[order]]]
    shown, until = _first_answers(index[order], request.limit, answers.num_rows)
    columns, rows = _rows(model, sides.take(order[:shown]), names, knows_missing=lacking is not None)
    note = pieces.read("note", lambda: _note(view, sides, answers, is_all), None)
    return AnswersShown(
        columns=columns,
        rows=rows,
        next=None if is_all and until == answers.num_rows else str(after.behind(answers[HORIZON].to_numpy()[:until])),
        keys=_keys(answers),
        chart=chart_of(model, sides, answers, compared),
        right=_NO_SHARE if lacking is None else right_share(model, versions, missing, compared),
        note=note,
        damaged=pieces.damaged,
    )


def _part(view: QueryView, request: AnswersRequest) -> AnswerRange:
    """Return the requested part; refuse an empty range, and an impossible key."""
    start = BEFORE_ALL if request.start is None else request.start
    end = AFTER_ALL if request.end is None else request.end
    try:
        part = AnswerRange(start, end, request.key).for_query(view.query)
        part.condition(view.kind.answers, view.tables.schema("results"))  # refuses a key of another type
        return part
    except Damaged:
        raise
    except Refused as refused:  # the refusal names the command's options
        problems = [Problem(each.where.replace("--", ""), each.fault, each.remedy) for each in refused.problems]
        raise Refused(problems) from None


def _is_listed_here(model: AnswerModel, versions: pa.Table, answers: pa.Table) -> NDArray[np.bool_]:
    """Test which listed answers are at their newest horizon, as a pair with a repeated id is listed several times."""
    newest = np.full(answers.num_rows, BEFORE_ALL)
    np.maximum.at(newest, model.identity.find(versions, answers), model.horizon(versions))
    return np.asarray(newest <= answers[HORIZON].to_numpy())


def _first_answers(index: Ints, limit: int, count: int) -> tuple[int, int]:
    """Return the number of rows to show (about `limit`), and of answers among `count`: complete ones, at least one.

    Only whole answers are shown, and at least one. `index` has the position of each row's answer in the list, in order.
    """
    if len(index) <= limit:
        return len(index), count
    until = max(int(index[limit]), int(index[0]) + 1)
    return int(np.searchsorted(index, until)), until


def _rows(
    model: AnswerModel, sides: SideBySide, names: list[str], *, knows_missing: bool
) -> tuple[list[ShownColumn], list[AnswerRow]]:
    columns, cells = cells_of(sides.sides(), names)
    streamed, latest = cells
    stamps = {name: sides.in_force[name].to_pylist() for name in ("as_of", "tuples", "k_ms")}
    coverage = sides.coverage()
    rows = [
        AnswerRow(
            id=str(AnswerId.from_identity(identity)),
            streamed=None if sides.streamed_index[row] < 0 else streamed[row],
            latest=None if sides.latest_index[row] < 0 else latest[row],
            is_changed=bool(sides.is_changed[row]),
            coverage=coverage[row] if knows_missing else None,
            **{name: values[row] for name, values in stamps.items()},
        )
        for row, identity in enumerate(sides.given(model.identity.columns).to_pylist())
    ]
    return columns, rows


def _keys(answers: pa.Table) -> list[str]:
    """Return sorted keys of the newest answers, except keys that are too long for an address."""
    if "key" not in answers.column_names:
        return []
    keys = answers["key"].unique().drop_null().cast(pa.string()).to_pylist()
    return sorted(key for key in keys[:_MOST_KEYS] if len(key) <= _LONGEST_KEY)


def _note(view: QueryView, sides: SideBySide, listed: pa.Table, is_all: bool) -> str | None:
    """Return the note on what the answers lack: late tuples that are not corrected yet, and older answers."""
    notes = []
    model = view.kind.answers
    if lacking := model.identity.first_rows(select(sides.given(model.identity.columns), sides.missing > 0)).num_rows:
        notes.append(f"{lacking:,} of these answers lack late tuples that are not corrected yet.")
    if isinstance(model, PairAnswers) and view.query.has_late_tuples and (late := _uncorrected_near(view, listed)):
        notes.append(f"{late:,} tuples that came late are not corrected yet: pairs of theirs may be missing.")
    if not is_all:
        notes.append(f"Keys, chart and share are of {listed.num_rows:,} answers; older ones follow.")
    return " ".join(notes) or None


def _uncorrected_near(view: QueryView, answers: pa.Table) -> int:
    """Return the number of uncorrected late tuples with event times like these pairs'."""
    uncorrected = Uncorrected.read(view.tables)
    if uncorrected is None:
        return 0
    horizon = answers[HORIZON].to_numpy()
    reach_ms = windowed(view.kind).windows.size_ms
    is_near = (uncorrected.event_time >= horizon.min() - reach_ms) & (uncorrected.event_time <= horizon.max())
    return int(is_near.sum())


PANEL = Panel("answers", AnswersRequest, read, ("results", "corrections", "late", "metrics", "correction_runs"))
