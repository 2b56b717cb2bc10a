"""The panel of answers: the newest first, as the stream gave them beside as they were corrected."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from pydantic import Field

from tailrace.answers.by_pair import PairAnswers
from tailrace.answers.model import AnswerModel
from tailrace.correction.uncorrected import Uncorrected
from tailrace.ground.columns import Ints
from tailrace.ground.errors import Problem, Refused
from tailrace.ground.matching import select
from tailrace.ground.time_limits import AFTER_ALL, BEFORE_ALL, EARLIEST_MS, LATEST_MS
from tailrace.kind.protocol import windowed
from tailrace.panels.answer_chart import AnswerChart, chart_of
from tailrace.panels.answer_ids import AnswerId
from tailrace.panels.answer_versions import SideBySide, missing_tuples, row_key, shown_columns, versions_of
from tailrace.panels.cells import Cell, ShownColumn, cells_of
from tailrace.panels.newest_answers import HORIZON, Cursor, newest_answers
from tailrace.panels.panel import Panel, PanelAnswer, PanelRequest, Shown
from tailrace.panels.query_view import QueryView
from tailrace.panels.right_share import RightShare, right_share
from tailrace.storage.answer_range import AnswerRange

_LOOKED_AT = 10_000  # of the newest answers: for the keys, the chart and the share
_MOST_KEYS, _LONGEST_KEY = 200, 500


class AnswersRequest(PanelRequest):
    """The answers to be listed: of a range of event time (ms), of a key, after a place in the list."""

    start: int | None = Field(default=None, alias="from", ge=EARLIEST_MS, le=LATEST_MS)
    end: int | None = Field(default=None, alias="to", ge=EARLIEST_MS, le=LATEST_MS)
    key: str | None = None
    limit: int = Field(default=100, ge=1, le=1000)
    before: str | None = None


class AnswerRow(Shown):
    """A row of an answer; a ranking has several, with one id.

    Attributes
    ----------
    streamed, latest : list or None
        As the stream gave it, and as its latest version has it. None: it did not, or has not.
    is_changed : bool
        Whether they differ; doubles may in their last digits.
    coverage : float or None
        The share of the tuples so far that the latest version has.
    k_ms : int or None
        The slack K (allowed lateness) with which the stream gave it.
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
        The place after these rows, for `before`; None where there are no more.
    keys : list of str
        Keys of the newest answers, some of them.
    chart : AnswerChart or None
        None where answers are no numbers, or not of one key.
    right : RightShare
        Of the newest answers, at most 10,000.
    """

    columns: list[ShownColumn] = Field(default=[])
    rows: list[AnswerRow] = Field(default=[])
    next: str | None = None
    keys: list[str] = Field(default=[])
    chart: AnswerChart | None = None
    right: RightShare = RightShare(at=[], share=[])


def read(view: QueryView, request: AnswersRequest) -> AnswersShown:
    """Read the newest answers of a part, and what the newest ten thousand of it show."""
    if not view.tables.has("results"):
        return AnswersShown(note="There are no answers yet: the stream has not begun.")
    after = Cursor() if request.before is None else Cursor.parse(request.before)
    part = _part(view, request)
    found, is_all = newest_answers(view, part, after, request.limit + 1, _LOOKED_AT)
    if not found.num_rows:
        is_all = (request.start, request.end, request.key, request.before) == (None,) * 4
        return AnswersShown(note="There are no answers yet." if is_all else "There are no answers here.")
    model, versions = view.kind.answers, versions_of(view, found)
    latest = model.identity.latest(versions)
    missing = missing_tuples(view, latest)[model.identity.find(versions, latest)]
    names = shown_columns(view, versions)
    compared = [name for name in names if name not in (*model.row_identity, *view.query.key_names)]
    sides = SideBySide.of(model, versions, missing, compared)
    place = model.identity.find(sides.given(model.identity.columns), found)
    ranks = [column.to_numpy() for column in sides.given(row_key(model)).columns]
    order = np.lexsort([*reversed(ranks), place])
    order = order[_is_listed_here(model, select(versions, part.contains(model, versions)), found)[place[order]]]
    shown, until = _first_answers(place[order], request.limit, found.num_rows)
    columns, rows = _rows(model, sides.take(order[:shown]), names)
    return AnswersShown(
        columns=columns,
        rows=rows,
        next=None if is_all and until == found.num_rows else str(after.behind(found[HORIZON].to_numpy()[:until])),
        keys=_keys(found),
        chart=chart_of(model, sides, found, compared),
        right=right_share(model, versions, missing, compared),
        note=_note(view, sides, found, is_all),
    )


def _part(view: QueryView, request: AnswersRequest) -> AnswerRange:
    """Return the part that is asked for; refuse an empty range, and a key that none can have."""
    start = BEFORE_ALL if request.start is None else request.start
    end = AFTER_ALL if request.end is None else request.end
    try:
        part = AnswerRange(start, end, request.key).of(view.query)
        part.condition(view.kind.answers, view.tables.schema("results"))  # refuses a key of another type
        return part
    except Refused as refused:  # it names the options of the command
        problems = [Problem(each.where.replace("--", ""), each.fault, each.remedy) for each in refused.problems]
        raise Refused(problems) from None


def _is_listed_here(model: AnswerModel, versions: pa.Table, found: pa.Table) -> NDArray[np.bool_]:
    """Test which answers of a list stand at their newest version: repeats of ids bring a pair at several times."""
    newest = np.full(found.num_rows, BEFORE_ALL)
    np.maximum.at(newest, model.identity.find(versions, found), model.horizon(versions))
    return np.asarray(newest <= found[HORIZON].to_numpy())


def _first_answers(place: Ints, limit: int, count: int) -> tuple[int, int]:
    """Return how many rows to show, about `limit`, and how many of the `count` answers: whole ones, one at least.

    `place` has the place of each row's answer in the list, ascending.
    """
    if len(place) <= limit:
        return len(place), count
    until = max(int(place[limit]), int(place[0]) + 1)
    return int(np.searchsorted(place, until)), until


def _rows(model: AnswerModel, sides: SideBySide, names: list[str]) -> tuple[list[ShownColumn], list[AnswerRow]]:
    columns, cells = cells_of(sides.sides(), names)
    streamed, latest = cells
    stamps = {name: sides.in_force[name].to_pylist() for name in ("as_of", "tuples", "k_ms")}
    coverage = sides.coverage()
    rows = [
        AnswerRow(
            id=str(AnswerId.of(identity)),
            streamed=None if sides.streamed_place[row] < 0 else streamed[row],
            latest=None if sides.latest_place[row] < 0 else latest[row],
            is_changed=bool(sides.is_changed[row]),
            coverage=coverage[row],
            **{name: values[row] for name, values in stamps.items()},
        )
        for row, identity in enumerate(sides.given(model.identity.columns).to_pylist())
    ]
    return columns, rows


def _keys(found: pa.Table) -> list[str]:
    """Return keys of the newest answers, sorted; not those that no address has room for."""
    if "key" not in found.column_names:
        return []
    keys = found["key"].unique().drop_null().to_pylist()
    return sorted(str(key) for key in keys[:_MOST_KEYS] if len(str(key)) <= _LONGEST_KEY)


def _note(view: QueryView, sides: SideBySide, found: pa.Table, is_all: bool) -> str | None:
    """Return what the answers do not show: late tuples that no correction has taken in, and older answers."""
    notes = []
    model = view.kind.answers
    if lacking := model.identity.first_rows(select(sides.given(model.identity.columns), sides.missing > 0)).num_rows:
        notes.append(f"{lacking:,} of these answers lack late tuples that are not corrected yet.")
    if isinstance(model, PairAnswers) and view.query.has_late_tuples and (late := _uncorrected_near(view, found)):
        notes.append(f"{late:,} tuples that came late are not corrected yet: pairs of theirs may be missing.")
    if not is_all:
        notes.append(f"Keys, chart and share are of {found.num_rows:,} answers; older ones follow.")
    return " ".join(notes) or None


def _uncorrected_near(view: QueryView, found: pa.Table) -> int:
    """Return the number of uncorrected late tuples of pairs like these, by their event times."""
    uncorrected = Uncorrected.read(view.layout)
    if uncorrected is None:
        return 0
    horizon = found[HORIZON].to_numpy()
    reach_ms = windowed(view.kind).windows.size_ms
    is_near = (uncorrected.event_time >= horizon.min() - reach_ms) & (uncorrected.event_time <= horizon.max())
    return int(is_near.sum())


PANEL = Panel("answers", AnswersRequest, read, ("results", "corrections", "late", "metrics", "correction_runs"))
