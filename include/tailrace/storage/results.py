"""Reads a query's answers: the latest version of each, with its coverage. No Spark."""

from __future__ import annotations

from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import Any

import numpy as np
import pyarrow as pa

from tailrace.answers.model import AnswerModel
from tailrace.answers.versions import as_corrections, as_streamed, without_retracted
from tailrace.ground.matching import select
from tailrace.ground.ranges import Ints, Ranges, coarsen_ranges
from tailrace.ground.time_limits import BEFORE_ALL
from tailrace.ground.times import in_ms
from tailrace.kinds import build
from tailrace.query.query import Query
from tailrace.storage.answer_range import ALL, AnswerRange
from tailrace.storage.checkpoint import require_begun
from tailrace.storage.layout import Layout
from tailrace.storage.table_schemas import schemas
from tailrace.storage.tables import Tables, within_any
from tailrace.storage.warehouses import Warehouse

Part = Ranges | AnswerRange | None
"""The answers to be read: by the ranges (low, high] of their horizon, by an `AnswerRange`, or all."""

_MAX_RANGES = 16  # in one condition on a table; of more, the nearest are merged


@dataclass(frozen=True)
class AnswerTables:
    """The answers in a query's tables `results` and `corrections`; times are integer milliseconds."""

    tables: Tables
    model: AnswerModel

    def streamed(self, part: Part = None) -> pa.Table:
        """Return the stream's answers, uncorrected: all, or a part's with some others."""
        return as_streamed(self._read("results", part))

    def versions(self, part: Part = None) -> pa.Table:
        """Return all versions, the stream's and the corrections' (column `corrected`); a part as in `streamed`."""
        streamed = self.streamed(part)
        if not self.tables.has("corrections"):  # nothing was ever corrected
            return streamed
        where = self._where("corrections", part)
        if isinstance(part, AnswerRange) and where is not None:
            in_part = [streamed, self.tables.read("corrections", where=where)]
            elsewhere = part.versions_elsewhere(self.model, in_part)
            where = where if elsewhere is None else where | elsewhere
        corrected = as_corrections(self.tables.read("corrections", where=where))
        return pa.concat_tables([streamed, corrected], promote_options="default")

    def ends(self, ends: Ranges) -> Ints:
        """Return the horizons in ranges (low, high], and some others: one for each row of any version."""
        names = [name for name in ("results", "corrections") if self.tables.has(name)]
        columns, where = self.model.horizon_columns, self._condition(ends)
        return np.concatenate([self.model.horizon(self.tables.read(name, columns, where)) for name in names])

    def _read(self, name: str, part: Part) -> pa.Table:
        return self.tables.read(name, where=self._where(name, part))

    def _where(self, name: str, part: Part) -> Any:
        """Return the condition on rows of a part; None for all."""
        if isinstance(part, AnswerRange):
            return None if part == ALL else part.condition(self.model, self.tables.schema(name))
        return None if part is None else self._condition(part)

    def _condition(self, ends: Ranges) -> Any:
        """Return the condition that a time, perhaps the horizon, lies in or near one of the ranges (low, high]."""
        low, high = _as_lists(coarsen_ranges(ends, _MAX_RANGES))
        return reduce(or_, (within_any(name, low, high) for name in self.model.horizon_columns))

    def latest(self, part: Part = None) -> pa.Table:
        """Return the latest version of each answer, without retracted ones; a part as in `streamed`."""
        return without_retracted(self.model.identity.latest(self.versions(part)))

    def late(self, events: Ranges) -> pa.Table:
        """Rows of the table `late`: all whose event time, or pane's start, is in one of the ranges, and some others."""
        low, high = coarsen_ranges(events, _MAX_RANGES)
        return self.tables.read("late", where=within_any(self.model.late_time, *_as_lists((low - 1, high - 1))))

    def with_coverage(self, answers: pa.Table, part: AnswerRange = ALL) -> pa.Table:
        """Add coverage = tuples / (tuples + those late for the answer so far), and sort as readers get it.

        `answers` has one version of each, of those in `part`.
        """
        tuples, missing = answers["tuples"].to_numpy(), self.missing(answers, part)
        answers = answers.append_column("coverage", pa.array(tuples / (tuples + missing)))
        return answers.sort_by([(name, "ascending") for name in self.model.order])

    def missing(self, answers: pa.Table, part: AnswerRange) -> Ints:
        """Return the number of late tuples that each of these answers of a part lacks; each has one version."""
        none = np.zeros(answers.num_rows, np.int64)
        if not self.model.can_lack_tuples or not answers.num_rows:
            return none
        where = None if part == ALL else part.late_condition(self.model, answers, self.tables.schema("late"))
        columns = ["key", self.model.late_time, "frontier", "tuples", "arrived"]
        late = self.model.explode_late(self.tables.read("late", columns, where), "tuples", "arrived")
        if not late.num_rows:
            return none
        number, late_number = self.model.identity.number(answers, late)
        # A stream's answer lacks all late tuples; a correction holds those that arrived by its cut-off, its as_of.
        held = np.where(answers["corrected"].to_numpy(), answers["as_of"].to_numpy(), BEFORE_ALL)
        count = 1 + max(number.max(initial=-1), late_number.max(initial=-1))
        held_until = np.full(count, BEFORE_ALL)
        held_until[number] = held
        is_missing = late["arrived"].to_numpy() > held_until[late_number]
        return np.bincount(late_number[is_missing], late["tuples"].to_numpy()[is_missing], count)[number]


def read_answers(
    query: Query, warehouse: Warehouse, streamed: bool, part: AnswerRange = ALL
) -> tuple[pa.Table, list[str]]:
    """Read a query's answers with coverage, in the order of their model; returns them and the columns for users.

    Parameters
    ----------
    streamed : bool
        True: the answers as the stream gave them; False: the latest version of each.
    part : AnswerRange
        The answers that are read; files of others are not opened.

    Raises
    ------
    Refused
        When the query never ran here, or the part is none.
    Damaged
        When a table, or a file of it, is lost.
    """
    part = part.of(query)
    layout = Layout.of(warehouse, query.name)
    kind, tables = build(query), Tables(layout)
    require_begun(layout, query)
    shown = [name for name in kind.answer.names if name != "tuples" and not (query.key_names and name == "key")]
    columns = [*shown, "tuples", "coverage", "k_ms", "as_of"]
    if not tables.has("metrics"):  # the table that is created last: no batch has begun
        empty = in_ms(schemas(kind)["results"].empty_table())
        return empty.append_column("coverage", pa.array([], pa.float64())), columns
    answers = AnswerTables(tables, kind.answers)
    rows = answers.streamed(part) if streamed else answers.latest(part)
    return answers.with_coverage(select(rows, part.contains(kind.answers, rows)), part), columns


def _as_lists(ranges: Ranges) -> tuple[list[int], list[int]]:
    return ranges[0].tolist(), ranges[1].tolist()
