"""Finds the newest answers of a query by the statistics of its tables' files, without reading older files."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from tailrace.answers.model import AnswerModel
from tailrace.ground.arrow import matching
from tailrace.ground.arrow.answer_columns import RETRACTED
from tailrace.ground.arrow.columns import Ints
from tailrace.ground.arrow.matching import select
from tailrace.ground.errors import refuse
from tailrace.ground.time_limits import AFTER_ALL, BEFORE_ALL
from tailrace.panels.answer_versions import row_key
from tailrace.panels.query_view import QueryView
from tailrace.storage.answer_range import AnswerRange
from tailrace.storage.tables import within

HORIZON = "horizon"

AT_ONCE = 500_000  # rows in memory while the newest are selected
MANY = 1_000_000  # rows of files

MOST_SKIPPED = 1_000_000
"""The most answers with the same horizon that a list can page through, as each page reads them again."""


@dataclass(frozen=True)
class Cursor:
    """A position in the list of answers, newest first: the answers after it are at most as new.

    Attributes
    ----------
    horizon : int
        In ms.
    skipped : int
        The number of answers with this horizon before the position.
    """

    horizon: int = AFTER_ALL
    skipped: int = 0

    def __str__(self) -> str:
        return f"{self.horizon}.{self.skipped}"

    @staticmethod
    def parse(text: str) -> Cursor:
        """Read the text of a cursor; refuse another text."""
        horizon, _, skipped = text.partition(".")
        try:
            cursor = Cursor(int(horizon), int(skipped))
        except ValueError:
            cursor = Cursor(skipped=-1)
        if not (BEFORE_ALL < cursor.horizon <= AFTER_ALL and 0 <= cursor.skipped < AFTER_ALL):
            raise refuse(f"before {text[:40]}", "it is no place in the list of answers", "`next` of the list before")
        if cursor.skipped > MOST_SKIPPED:
            fault = f"more than {MOST_SKIPPED:,} answers with its time stand before it"
            raise refuse(f"before {text[:40]}", fault, "the answers of a key, or of another range of event time")
        return cursor

    def behind(self, horizons: Ints) -> Cursor:
        """Return the position after the answers that follow this position, given their horizons in order."""
        last = int(horizons[-1])
        same = int(np.count_nonzero(horizons == last))
        return Cursor(last, same + (self.skipped if last == self.horizon else 0))


class _File(NamedTuple):
    """A file of answers with horizons in [low, high]; without statistics, the range is unbounded."""

    high: int
    low: int
    rows: int


def newest_answers(view: QueryView, part: AnswerRange, after: Cursor, least: int, most: int) -> tuple[pa.Table, bool]:
    """Return the identities of the newest answers with their horizons, newest first; retracted ones are included.

    Answers with the same horizon are ordered by keys or ids. A pair with several times, because of a repeated id, is
    listed for each of its horizons, so that a position does not depend on where the list begins.

    Parameters
    ----------
    part : AnswerRange
        The answers to list.
    after : Cursor
        The position at which the list begins.
    least, most : int
        Return up to `most` answers; once over 1 M rows were read, `least` suffice.

    Returns
    -------
    answers : Table
    is_all : bool
        Whether the part has no older answers.
    """
    model, wanted = view.kind.answers, most + after.skipped
    names = [name for name in ("results", "corrections") if view.tables.has(name)]
    files = [file for name in names for file in _files(view, name) if file.low <= after.horizon]
    answers = pa.concat_tables([_nothing(view, name) for name in names])
    is_all = True
    for low, high, rows_read in _ranges(
        sorted(files, reverse=True), after.horizon, max(part.start - 1, BEFORE_ALL), wanted
    ):
        for name in names:
            for rows in _read(view, name, part, low, high):
                answers = pa.concat_tables([answers, rows])
                if answers.num_rows > AT_ONCE + wanted:
                    answers = _newest(model, answers, wanted)
        answers = _newest(model, answers, wanted)
        if answers.num_rows >= wanted or (rows_read > MANY and answers.num_rows >= least + after.skipped):
            is_all = False
            break
    answers = answers.sort_by(_order(model))
    is_skipped = (answers[HORIZON].to_numpy() == after.horizon) & (np.arange(answers.num_rows) < after.skipped)
    return select(answers, ~is_skipped).slice(0, most), is_all


def _ranges(files: list[_File], high: int, floor: int, wanted: int) -> Iterator[tuple[int, int, int]]:
    """Yield ranges (low, high] of horizons down to `floor`, each with about twice as many rows of files as the last.

    `files` are sorted by descending `high`.
    """
    index = rows = 0
    while high > floor:
        while index < len(files) and rows < wanted:
            rows += files[index].rows
            index += 1
        low = max(min(files[index].high, high) if index < len(files) else BEFORE_ALL, floor)
        if low < high:
            yield low, high, rows
            high = low
        wanted = 2 * max(wanted, rows)


def _files(view: QueryView, name: str) -> Iterator[_File]:
    """Yield the files of a table of answers, with their ranges of horizons from the table's log."""
    actions = pa.table(view.tables.open(name).get_add_actions(flatten=True))
    columns = view.kind.answers.horizon_columns
    ends = {}
    for end, otherwise in (("min", BEFORE_ALL), ("max", AFTER_ALL)):
        there = [f"{end}.{column}" for column in columns if f"{end}.{column}" in actions.column_names]
        times = [actions[each].cast(pa.timestamp("ms", "UTC"), safe=False).cast(pa.int64()) for each in there]
        known = [pc.fill_null(each, otherwise).to_numpy() for each in times if len(there) == len(columns)]
        ends[end] = np.max(known, axis=0) if known else np.full(actions.num_rows, otherwise)
    rows = pc.fill_null(actions["num_records"], 0).to_numpy() if actions.num_rows else np.zeros(0, np.int64)
    for high, low, number in zip(ends["max"].tolist(), ends["min"].tolist(), rows.tolist(), strict=True):
        yield _File(high, low, number)


def _read(view: QueryView, name: str, part: AnswerRange, low: int, high: int) -> Iterator[pa.Table]:
    """Read the identities of the part's answers with a horizon in (low, high], some at a time."""
    model = view.kind.answers
    where = reduce(or_, (within(column, low, high) for column in model.horizon_columns))
    if (of_part := part.condition(model, view.tables.schema(name))) is not None:
        where = where & of_part
    for column in row_key(model):  # for a ranking, the first row represents all
        where = where & (ds.field(column) == 1)
    if name == "results" and RETRACTED in view.tables.schema(name).names:
        where = where & ~ds.field(RETRACTED)
    for batch in view.tables.batches(name, [*model.identity.columns], where):
        rows = _with_horizon(model, batch)
        horizon = rows[HORIZON].to_numpy()
        yield select(rows, (horizon > low) & (horizon <= high) & part.contains(model, rows))


def _newest(model: AnswerModel, rows: pa.Table, count: int) -> pa.Table:
    """Select the `count` newest answers, each once for each of its horizons."""
    taken = count
    while True:
        some = rows
        if taken < rows.num_rows:
            some = rows.take(pc.select_k_unstable(rows, taken, sort_keys=_order(model)))
        (number,) = matching.number_rows([some], [*model.identity.determining, HORIZON])
        answers = some.take(pa.array(matching.first_indices(number)))
        if answers.num_rows >= count or some is rows:
            return answers
        taken *= 2


def _order(model: AnswerModel) -> list[tuple[str, str]]:
    names = [name for name in model.identity.determining if name not in model.horizon_columns]
    return [(HORIZON, "descending"), *((name, "ascending") for name in names)]


def _nothing(view: QueryView, name: str) -> pa.Table:
    model = view.kind.answers
    return _with_horizon(model, view.tables.empty(name, model.identity.columns))


def _with_horizon(model: AnswerModel, rows: pa.Table) -> pa.Table:
    return rows.append_column(HORIZON, pa.array(model.horizon(rows), pa.int64()))
