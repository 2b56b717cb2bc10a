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
from tailrace.ground.ranges import Ints, Ranges, coarsen_ranges
from tailrace.ground.time_limits import BEFORE_ALL
from tailrace.ground.times import in_ms
from tailrace.kinds import build
from tailrace.query.query import Query
from tailrace.storage.checkpoint import readable
from tailrace.storage.layout import Layout
from tailrace.storage.table_schemas import schemas
from tailrace.storage.tables import Tables, within_any
from tailrace.storage.warehouses import Warehouse

_MAX_RANGES = 16  # in one condition on a table; of more, the nearest are merged


@dataclass(frozen=True)
class AnswerTables:
    """The answers in a query's tables `results` and `corrections`; times are integer milliseconds."""

    tables: Tables
    model: AnswerModel

    def streamed(self, ends: Ranges | None = None) -> pa.Table:
        """The stream's answers, uncorrected: all, or those whose horizon lies in (low, high], and some others."""
        return as_streamed(self._read("results", ends))

    def versions(self, ends: Ranges | None = None) -> pa.Table:
        """All versions, the stream's and the corrections' (column `corrected`); ranges as in `streamed`."""
        streamed = self.streamed(ends)
        try:
            corrected = as_corrections(self._read("corrections", ends))
        except FileNotFoundError:  # nothing was ever corrected
            return streamed
        return pa.concat_tables([streamed, corrected], promote_options="default")

    def ends(self, ends: Ranges) -> Ints:
        """The horizons in ranges (low, high], and some others: one for each row of any version."""
        names = [name for name in ("results", "corrections") if self.tables.has(name)]
        columns, where = self.model.horizon_columns, self._condition(ends)
        return np.concatenate([self.model.horizon(self.tables.read(name, columns, where)) for name in names])

    def _read(self, name: str, ends: Ranges | None) -> pa.Table:
        return self.tables.read(name, where=None if ends is None else self._condition(ends))

    def _condition(self, ends: Ranges) -> Any:
        """The condition that a time which may be the horizon lies in one of some ranges (low, high], or near one."""
        low, high = _as_lists(coarsen_ranges(ends, _MAX_RANGES))
        return reduce(or_, (within_any(name, low, high) for name in self.model.horizon_columns))

    def latest(self) -> pa.Table:
        """The latest version of each answer, without retracted ones."""
        return without_retracted(self.model.identity.latest(self.versions()))

    def late(self, events: Ranges) -> pa.Table:
        """Rows of the table `late`: all whose event time, or pane's start, is in one of the ranges, and some others."""
        low, high = coarsen_ranges(events, _MAX_RANGES)
        return self.tables.read("late", where=within_any(self.model.late_time, *_as_lists((low - 1, high - 1))))

    def with_coverage(self, answers: pa.Table) -> pa.Table:
        """Add coverage = tuples / (tuples + those late for the answer so far), and sort as readers get it.

        `answers` has one version of each.
        """
        tuples, missing = answers["tuples"].to_numpy(), self._missing(answers)
        answers = answers.append_column("coverage", pa.array(tuples / (tuples + missing)))
        return answers.sort_by([(name, "ascending") for name in self.model.order])

    def _missing(self, answers: pa.Table) -> Ints:
        """The number of late tuples that each of these answers lacks; each answer has one version."""
        none = np.zeros(answers.num_rows, np.int64)
        if not self.model.can_lack_tuples:
            return none
        late = self.model.missed(self.tables.read("late"), "tuples", "arrived")
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


def read_answers(query: Query, warehouse: Warehouse, streamed: bool) -> tuple[pa.Table, list[str]]:
    """Read a query's answers with coverage, in the order of their model; returns them and the columns for users.

    Parameters
    ----------
    streamed : bool
        True: the answers as the stream gave them; False: the latest version of each.
    """
    layout = Layout.of(warehouse, query.name)
    kind, tables = build(query), Tables(layout)
    readable(layout, query)
    columns = [name for name in kind.answer.names if name != "tuples"] + ["tuples", "coverage", "k_ms", "as_of"]
    try:
        answers = AnswerTables(tables, kind.answers)
        return answers.with_coverage(answers.streamed() if streamed else answers.latest()), columns
    except FileNotFoundError:  # the query never ran here, so it has no answers yet
        empty = in_ms(schemas(kind)["results"].empty_table())
        return empty.append_column("coverage", pa.array([], pa.float64())), columns


def _as_lists(ranges: Ranges) -> tuple[list[int], list[int]]:
    return ranges[0].tolist(), ranges[1].tolist()
