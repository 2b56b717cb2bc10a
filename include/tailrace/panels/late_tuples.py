"""The late tuples that one answer of the stream missed: their arrival, and their position in the source."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from operator import or_

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tailrace.answers.by_pair import PairAnswers
from tailrace.answers.by_session import BySession
from tailrace.answers.identity import SIDES
from tailrace.ground.arrow.matching import select
from tailrace.ground.errors import SourceChanged
from tailrace.ground.time_limits import AFTER_ALL
from tailrace.panels.late_reading import OF_ROW, TooManyRows, tuples_of
from tailrace.panels.pieces import Pieces
from tailrace.panels.query_view import QueryView
from tailrace.storage.tables import within
from tailrace.tables.every import ANSWER_TIMES


@dataclass(frozen=True)
class LateTuples:
    """The late tuples of an answer.

    Attributes
    ----------
    rows : Table
        Rows of the table `late`: `stream`, `tick`, `tuples`, `arrived`, and the columns that identify a tuple.
    tuples : Table
        The tuples in order of arrival, from history: `stream`, `id`, `event_time`, `arrival_time`, `arrived`, `file`,
        `position` (in the file), and the values by the source's columns, each named with `VALUE`.
    fault : str or None
        The reason why history was not read.
    """

    rows: pa.Table
    tuples: pa.Table
    fault: str | None = None

    @property
    def total(self) -> int:
        return int(pc.sum(self.rows["tuples"], min_count=0).as_py())


_NOTHING = pa.table({name: pa.array([], pa.int64()) for name in ("tuples", "arrived")})


def late_tuples(view: QueryView, answer: pa.Table, is_streamed: bool, pieces: Pieces) -> LateTuples | None:
    """Read the late tuples that an answer missed, from the files of history that may contain them.

    Return None where the table `late` is damaged; if another one is, tuples are counted but not listed.

    Parameters
    ----------
    answer : Table
        Its identity, one row.
    is_streamed : bool
        Whether the stream wrote it; a streamed pair missed no tuple.
    """
    is_pair = isinstance(view.kind.answers, PairAnswers)
    if not (view.query.has_late_tuples and view.tables.has("late")) or (is_pair and is_streamed):
        return LateTuples(_NOTHING, _NOTHING)
    read = _late_of_pair if is_pair else _late_of_window
    rows = pieces.read("late late_columns late_total summary versions", lambda: read(view, answer), None)
    if rows is None:
        return None
    return pieces.read(
        "late late_columns summary", lambda: _with_tuples(view, answer, rows), LateTuples(rows, _NOTHING)
    )


def _with_tuples(view: QueryView, answer: pa.Table, rows: pa.Table) -> LateTuples:
    """Read the tuples of rows of `late` that an answer missed."""
    manifest = view.layout.manifest()
    if not rows.num_rows or manifest is None:
        return LateTuples(rows, _NOTHING)
    times = [answer[name][0].as_py() for name in answer.column_names if name in ANSWER_TIMES]
    margin_ms = view.kind.answers.late_margin_ms
    ranges = np.array([min(times) - margin_ms]), np.array([max(times) + margin_ms + 1])
    parts = []
    try:
        for reader in view.readers(manifest):
            mine = select(rows, rows["stream"].to_numpy(zero_copy_only=False) == reader.name)
            if mine.num_rows:
                parts.append(tuples_of(view, reader, mine, ranges))
    except SourceChanged as changed:
        problem = changed.problems[0]
        return LateTuples(rows, _NOTHING, f"{problem.where}: {problem.fault}")
    except TooManyRows:
        return LateTuples(rows, _NOTHING, "too many tuples lie near it in history to look for them here")
    tuples = pa.concat_tables(parts, promote_options="default")
    return LateTuples(rows, tuples.sort_by([("arrival_time", "ascending"), ("position", "ascending")]))


def _late_of_window(view: QueryView, answer: pa.Table) -> pa.Table:
    """Return the rows of `late` that a window missed."""
    model = view.kind.answers
    start, end = (answer[name][0].as_py() for name in ("window_start", "window_end"))
    names, margin_ms = (*OF_ROW, "pane_start"), model.late_margin_ms
    where = within(model.late_time, start - margin_ms - 1, end + margin_ms - 1)
    if not isinstance(model, BySession):  # a session may also lack tuples that touch one of its own
        where &= within("frontier", end - 1, AFTER_ALL)
    late = view.tables.read("late", (*names, "key", "frontier"), where)
    missed = model.explode_late(late, *names, among=answer)
    return select(missed, model.identity.find(missed, answer) >= 0).select([*names, "key"])


def _late_of_pair(view: QueryView, answer: pa.Table) -> pa.Table:
    """Return the rows of `late` for a pair's two tuples; for a pair in a window, only if they came after it closed."""
    row = answer.to_pylist()[0]
    times = [row[f"{side}_time"] for side in SIDES]
    names, near = (*OF_ROW, "id", "event_time"), (within("event_time", time - 1, time) for time in times)
    late = view.tables.read("late", (*names, "frontier"), reduce(or_, near))
    if "window_end" in row:
        late = late.filter(pc.greater_equal(late["frontier"], row["window_end"]))
    ids = late["id"].cast(pa.string())
    is_mine = [
        reduce(
            pc.and_,
            (pc.equal(late["stream"], side), pc.equal(late["event_time"], time), pc.equal(ids, str(row[f"{side}_id"]))),
        )
        for side, time in zip(SIDES, times, strict=True)
    ]
    return late.filter(pc.or_(*is_mine)).select(names)
