"""Reads a query's answers: the latest version of each, with its coverage. No Spark."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import reduce
from operator import or_
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from tailrace.answers.by_pair import ByPair
from tailrace.answers.by_session import BySession
from tailrace.answers.model import AnswerModel
from tailrace.answers.versions import as_corrections, as_streamed, without_retracted
from tailrace.engine.compiled_query import CompiledQuery
from tailrace.ground.arrow.answer_columns import RETRACTED
from tailrace.ground.arrow.matching import select
from tailrace.ground.arrow.ranges import Ints, Ranges, coarsen_ranges, merge_ranges
from tailrace.ground.time_limits import AFTER_ALL, BEFORE_ALL
from tailrace.kind.protocol import Kind
from tailrace.query.query import Query
from tailrace.storage.answer_range import ALL, AnswerRange, near_horizons
from tailrace.storage.checkpoint import require_begun
from tailrace.storage.layout import Layout
from tailrace.storage.manifest import CheckpointManifest
from tailrace.storage.opened_tables import OpenedTables
from tailrace.storage.table_schemas import schemas
from tailrace.storage.tables import Tables, within, within_any
from tailrace.storage.warehouses import Warehouse
from tailrace.tables.every import in_ms


@dataclass(frozen=True)
class AnswerGroups:
    """All versions of answers that have one of the given values in a column of their identity.

    No version of an answer changes this column.

    Attributes
    ----------
    values : Array
        The values, in the column's type in tables.
    """

    column: str
    values: pa.Array

    @property
    def condition(self) -> ds.Expression:
        return ds.field(self.column).isin(self.values)


@dataclass(frozen=True)
class Overlapping:
    """All versions of answers by window or session that overlap event times, and of some others.

    A session that joins others, or that others replace, overlaps them, and may end elsewhere.

    Attributes
    ----------
    events : Ranges
        Ranges [low, high] in ms, in order.
    """

    events: Ranges

    @property
    def condition(self) -> ds.Expression:
        ranges = zip(*_as_lists(coarsen_ranges(self.events, _MAX_RANGES)), strict=True)
        overlap = (
            within("window_end", low - 1, AFTER_ALL) & within("window_start", BEFORE_ALL, high) for low, high in ranges
        )
        return reduce(or_, overlap, ds.scalar(False))


Part = Ranges | Overlapping | AnswerRange | AnswerGroups | None
"""The answers to read: by ranges (low, high] of their horizon, by an `AnswerRange`, by groups, or all."""

_MAX_RANGES = 16  # ranges in one condition on a table; the nearest are merged if there are more


@dataclass(frozen=True)
class AnswerTables:
    """The answers in a query's tables `results` and `corrections`; times are integer milliseconds."""

    tables: Tables
    model: AnswerModel

    def streamed(self, part: Part = None, withheld: bool = False) -> pa.Table:
        """Return the stream's answers, uncorrected: all, or a part with some others; `withheld` as in `as_streamed`."""
        return as_streamed(self._read("results", part), withheld)

    def versions(self, part: Part = None, withheld: bool = False) -> pa.Table:
        """Return all versions, of the stream and of corrections (column `corrected`); `part` is as in `streamed`."""
        streamed = self.streamed(part, withheld)

        def read() -> pa.Table:
            where = self._where("corrections", part)
            if isinstance(part, AnswerRange) and where is not None:
                in_part = [streamed, self.tables.read("corrections", where=where)]
                elsewhere = part.versions_elsewhere(self.model, in_part)
                where = where if elsewhere is None else where | elsewhere
            return self.tables.read("corrections", where=where)

        return self._with_corrections(streamed, read)

    def versions_of(self, answers: pa.Table) -> pa.Table:
        """Return all versions of some answers, at least one, given by their identities."""
        horizon = self.model.horizon(answers)
        near = near_horizons(self.model, int(horizon.min()) - 1, int(horizon.max()))
        # A later version of a pair may have any times; a version of a window has the window's times.
        where = None if isinstance(self.model, ByPair) else near
        streamed = as_streamed(self._rows_of(answers, "results", near))
        versions = self._with_corrections(streamed, lambda: self._rows_of(answers, "corrections", where))
        return select(versions, self.model.identity.find(versions, answers) >= 0)

    def ends(self, ends: Ranges) -> Ints:
        """Return the horizons of all versions in ranges (low, high]; some outside may be included."""
        rows = self._of_both(self.model.horizon_columns, self._condition(ends))
        return np.concatenate([self.model.horizon(each) for each in rows])

    def _of_both(self, columns: Sequence[str], where: Any) -> list[pa.Table]:
        """Read columns of `results`, and of `corrections` if it exists."""
        names = [name for name in ("results", "corrections") if self.tables.has(name)]
        return [self.tables.read(name, columns, where) for name in names]

    def _with_corrections(self, streamed: pa.Table, read: Callable[[], pa.Table]) -> pa.Table:
        """Append the rows of `corrections` that `read` returns, if the table exists, to the stream's versions."""
        if not self.tables.has("corrections"):  # without the table, nothing was corrected yet
            return streamed
        return pa.concat_tables([streamed, as_corrections(read())], promote_options="default")

    def _rows_of(self, answers: pa.Table, name: str, where: Any) -> pa.Table:
        """Return the rows of a table under a condition on times that have a key or left id of some answers.

        Keys and ids are compared here: the log has no statistics of them for files that workers wrote, so a condition
        on them would skip no file.
        """
        schema, column = self.tables.schema(name), self.model.identity.determining[0]
        values, parts = answers[column].unique(), [self.tables.empty(name)]
        for batch in self.tables.batches(name, schema.names, where):
            parts.append(batch.filter(pc.is_in(batch[column], values)))
        return pa.concat_tables(parts, promote_options="permissive")

    def _read(self, name: str, part: Part) -> pa.Table:
        return self.tables.read(name, where=self._where(name, part))

    def _where(self, name: str, part: Part) -> Any:
        """Return the condition on rows of a part; None for all."""
        if isinstance(part, AnswerRange):
            return None if part == ALL else part.condition(self.model, self.tables.schema(name))
        if isinstance(part, AnswerGroups | Overlapping):
            return part.condition
        return None if part is None else self._condition(part)

    def _condition(self, ends: Ranges) -> Any:
        """Return the condition that a time, such as the horizon, lies in or near one of the ranges (low, high]."""
        low, high = _as_lists(coarsen_ranges(ends, _MAX_RANGES))
        return reduce(or_, (within_any(name, low, high) for name in self.model.horizon_columns))

    def latest(self, part: Part = None) -> pa.Table:
        """Return the latest version of each answer, without retracted ones; `part` is as in `streamed`."""
        return without_retracted(self.model.identity.latest(self.versions(part)))

    def latest_rows(self, names: Sequence[str]) -> pa.Table:
        """Return some columns of `latest`, reading no others than needed."""
        columns = list(dict.fromkeys([*names, *self.model.identity.columns, "as_of"]))

        def read(name: str) -> pa.Table:
            marks = {RETRACTED, "interval"} & {*self.tables.schema(name).names}
            return self.tables.read(name, [*columns, *marks])

        versions = self._with_corrections(as_streamed(read("results")), lambda: read("corrections"))
        return without_retracted(self.model.identity.latest(versions)).select(names)

    def late(self, events: Ranges) -> pa.Table:
        """Return all rows of the table `late` in one of the ranges; some outside may be included.

        The event time or the pane's start of a row decides.
        """
        low, high = coarsen_ranges(events, _MAX_RANGES)
        return self.tables.read("late", where=within_any(self.model.late_time, *_as_lists((low - 1, high - 1))))

    def missed_by(self, late: pa.Table) -> pa.Table:
        """Return a row for each late tuple and each answer that it missed, with the answer's identity."""
        if not isinstance(self.model, BySession):
            return self.model.explode_late(late)
        time, margin_ms = np.unique(late.column(self.model.late_time).to_numpy()), self.model.late_margin_ms
        where = Overlapping(merge_ranges(time - margin_ms, time + margin_ms)).condition
        known = self._of_both(self.model.identity.columns, where)
        return self.model.explode_late(late, among=pa.concat_tables(known))

    def with_coverage(self, answers: pa.Table, part: AnswerRange = ALL) -> pa.Table:
        """Add coverage = tuples / (tuples + tuples late for the answer so far), and sort the rows for readers.

        `answers` has one version of each answer in `part`.
        """
        tuples, missing = answers["tuples"].to_numpy(), self.missing(answers, part)
        answers = answers.append_column("coverage", pa.array(tuples / (tuples + missing)))
        return answers.sort_by([(name, "ascending") for name in self.model.order])

    def missing(self, answers: pa.Table, part: AnswerRange = ALL) -> Ints:
        """Return the number of late tuples that each of a part's answers lacks; each answer has one version."""
        none = np.zeros(answers.num_rows, np.int64)
        if not self.model.can_lack_tuples or not answers.num_rows:
            return none
        where = part.late_condition(self.model, answers, self.tables.schema("late"))
        columns = ["key", self.model.late_time, "frontier", "tuples", "arrived"]
        late = self.model.explode_late(self.tables.read("late", columns, where), "tuples", "arrived", among=answers)
        if not late.num_rows:
            return none
        number, late_number = self.model.identity.number(answers, late)
        # A streamed answer lacks all late tuples; a corrected one has those that arrived by its cut-off, as_of.
        held = np.where(answers["corrected"].to_numpy(), answers["as_of"].to_numpy(), BEFORE_ALL)
        count = 1 + max(number.max(initial=-1), late_number.max(initial=-1))
        held_until = np.full(count, BEFORE_ALL)
        held_until[number] = held
        is_missing = late["arrived"].to_numpy() > held_until[late_number]
        return np.bincount(late_number[is_missing], late["tuples"].to_numpy()[is_missing], count)[number]


def kind_of_stream(query: Query, manifest: CheckpointManifest) -> Kind:
    """Build the kind of a query's stream, by the types of the stream's columns, for the readers of its tables.

    Without these types no expression over answers can be bound, and the types of answers are not known.
    """
    return CompiledQuery.declare(query.fixed_by(manifest.structure)).bind(manifest.types).kind


def read_answers(
    query: Query, warehouse: Warehouse, streamed: bool, part: AnswerRange = ALL
) -> tuple[pa.Table, list[str]]:
    """Read a query's answers with coverage, in the order of their model; return them and the columns for users.

    Parameters
    ----------
    streamed : bool
        True: the stream's answers; False: the latest version of each.
    part : AnswerRange
        The answers to read; files of others are not opened.

    Raises
    ------
    Refused
        When the query never ran here, or the part is invalid.
    Damaged
        When a table, or a file of it, is lost.
    """
    part = part.for_query(query)
    tables = OpenedTables(Layout.for_query(warehouse, query.name))
    kind = kind_of_stream(query, require_begun(tables, query))
    columns = public_columns(query, kind)
    if not tables.has("metrics"):  # the table that is created last: no batch has begun
        empty = in_ms(schemas(kind)["results"].empty_table(), "results")
        return empty.append_column("coverage", pa.array([], pa.float64())), columns
    answers = AnswerTables(tables, kind.answers)
    rows = answers.streamed(part) if streamed else answers.latest(part)
    return answers.with_coverage(select(rows, part.contains(kind.answers, rows)), part), columns


def hidden_columns(query: Query) -> set[str]:
    """Return the columns of answers that readers don't get; `tuples` is shown after the values."""
    return {"tuples", RETRACTED, *(["key"] if query.key_names else [])}


def public_columns(query: Query, kind: Kind) -> list[str]:
    """Return the columns of answers that readers get."""
    hidden = hidden_columns(query)
    shown = [name for name in kind.answer.names if name not in hidden]
    return [*shown, "tuples", "coverage", "k_ms", "as_of"]


def _as_lists(ranges: Ranges) -> tuple[list[int], list[int]]:
    return ranges[0].tolist(), ranges[1].tolist()
