"""Finds the changes of the table `current` by groups: windows with the same end, or pairs with the same left tuple.

A group is replaced as a whole if one of its answers was corrected or has changed: Delta's library finds it by one
column. Answers without a version in `current`, like most of a stream's, are added.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from deltalake import DeltaTable

from tailrace.delivery.answer_changes import AnswerChanges
from tailrace.delivery.public_answers import PublicAnswers
from tailrace.ground.arrow.columns import Ints
from tailrace.ground.arrow.matching import select
from tailrace.ground.arrow.ranges import Ranges, merge_ranges
from tailrace.ground.arrow.times import with_times
from tailrace.ground.time_limits import AFTER_ALL, BEFORE_ALL
from tailrace.storage.file_bounds import bounded_dataset
from tailrace.storage.results import AnswerGroups, AnswerTables
from tailrace.tables.every import in_ms

MOST_GROUPS = 1_000  # groups in one condition on a table; if more have changed, the whole table is rewritten
_TIME = "arrow_cast({}, 'Timestamp(Microsecond, Some(\"UTC\"))')"
MOST_ROWS = 1_000_000  # rows of these groups in memory


@dataclass(frozen=True)
class Changes:
    """The rows to write.

    Attributes
    ----------
    replaced : Table or None
        All rows of the replaced groups; None if none is replaced.
    predicate : str
        The SQL condition that selects the rows of these groups.
    added : Table
        Rows of answers that `current` lacks.
    """

    replaced: pa.Table | None
    predicate: str
    added: pa.Table

    @property
    def rows(self) -> int:
        return int(self.added.num_rows + (0 if self.replaced is None else self.replaced.num_rows))


def changes_of(changes: AnswerChanges, table: DeltaTable) -> Changes | None:
    """Read the changes since the table was refreshed; None if the whole table has to be rewritten."""
    affected, model = changes.affected, changes.public.model
    if affected is None:
        return None
    reader = _GroupReader(AnswerTables(changes.tables, model), changes.public, table)
    streamed = [rows for name, rows in affected.items() if name != "corrections"]
    return reader.read(pa.concat_tables(streamed), affected["corrections"])


@dataclass(frozen=True)
class _GroupReader:
    """Reads changed answers, from `current` and from the query's other tables."""

    answers: AnswerTables
    public: PublicAnswers
    table: DeltaTable

    def read(self, streamed: pa.Table, corrected: pa.Table) -> Changes | None:
        """Return the groups to replace (with corrected answers, or answers in `current`), and the rows to add.

        Parameters
        ----------
        streamed : Table
            The identities of answers that the stream wrote, or that late tuples missed.
        corrected : Table
            The identities of answers that corrections wrote.
        """
        model = self.public.model
        groups = self._groups(pa.concat_tables([self._in_current(streamed), corrected]))
        if self._are_too_many(groups):
            return None
        new = streamed.filter(pc.invert(pc.is_in(self._group_of(streamed), groups.values)))
        added = self.answers.latest(_at(model.horizon(new)))
        added = self._as_rows(select(added, model.identity.find(added, new) >= 0))
        if not len(groups.values):
            return Changes(None, "", added)
        return Changes(self._as_rows(self.answers.latest(groups)), _sql(groups), added)

    def _in_current(self, streamed: pa.Table) -> pa.Table:
        """Select the answers that `current` has; windows are selected by their end."""
        if not self.public.horizon_is_fixed:
            there = self._of_groups(self._groups(streamed), list(self.public.model.identity.columns))
            return select(streamed, self.public.model.identity.find(streamed, there) >= 0)
        old = streamed.filter(pc.less_equal(streamed["window_end"], _greatest_end(self.table)))
        there = self._of_groups(self._groups(old), ["window_end"])
        return old.filter(pc.is_in(old["window_end"], there["window_end"].combine_chunks()))

    @property
    def _column(self) -> str:
        return "window_end" if self.public.horizon_is_fixed else "left_id"

    def _group_of(self, answers: pa.Table) -> pa.ChunkedArray:
        """Return the group of each answer, in the tables' type."""
        field = self.public.schema.field(self._column)
        return with_times(answers.select([field.name]), pa.schema([field]))[field.name]

    def _groups(self, answers: pa.Table) -> AnswerGroups:
        return AnswerGroups(self._column, self._group_of(answers).unique())

    def _are_too_many(self, groups: AnswerGroups) -> bool:
        """Test whether rewriting all answers is cheaper."""
        if len(groups.values) > MOST_GROUPS:
            return True
        rows: int = self.answers.tables.read("results", [groups.column], groups.condition).num_rows
        return rows > MOST_ROWS

    def _as_rows(self, answers: pa.Table) -> pa.Table:
        return self.public.rows(self.answers.with_coverage(answers))

    def _of_groups(self, groups: AnswerGroups, columns: list[str]) -> pa.Table:
        """Read columns of the groups' rows in `current`."""
        return in_ms(
            bounded_dataset(self.table, groups.condition).to_table(columns=columns, filter=groups.condition), "results"
        )


def _greatest_end(table: DeltaTable) -> int:
    """Return an upper bound of the window ends in `current` (ms), from the statistics of its files."""
    files = pa.table(table.get_add_actions(flatten=True))
    ends = files["max.window_end"] if "max.window_end" in files.column_names else pa.nulls(files.num_rows)
    if ends.null_count:
        return AFTER_ALL
    greatest = pc.max(ends).as_py()
    return BEFORE_ALL if greatest is None else math.ceil(greatest.timestamp() * 1000)


def _at(horizons: Ints) -> Ranges:
    """Return ranges (low, high] that contain exactly these horizons."""
    high = np.unique(horizons)
    return merge_ranges(high - 1, high)


def _sql(groups: AnswerGroups) -> str:
    values = groups.values
    if pa.types.is_timestamp(values.type):
        texts = [_TIME.format(micros) for micros in values.cast(pa.int64()).to_pylist()]
    elif pa.types.is_integer(values.type):
        texts = list(map(str, values.to_pylist()))
    else:
        texts = ["'" + text.replace("'", "''") + "'" for text in values.to_pylist()]
    return f"{groups.column} IN ({', '.join(texts)})"
