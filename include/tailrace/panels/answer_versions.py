"""Pairs the stream's version of answers with the latest one, row by row."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tailrace.answers.model import AnswerModel
from tailrace.answers.versions import streamed_versions, without_retracted
from tailrace.ground.arrow import matching
from tailrace.ground.arrow.columns import Ints
from tailrace.panels.query_view import QueryView
from tailrace.storage.results import hidden_columns

Mask = NDArray[np.bool_]

_TOLERANCE = 1e-9  # relative; a recomputed sum may differ in its last digits


def differ(mine: pa.Table, others: pa.Table, names: list[str]) -> Mask:
    """Test which of n rows differ from the row at the same index, ignoring the last digits of doubles."""
    is_real = {name: pa.types.is_floating(mine.schema.field(name).type) for name in names}
    exact, real = ([name for name in names if is_real[name] == wanted] for wanted in (False, True))
    different = np.zeros(mine.num_rows, bool)
    if exact and mine.num_rows:
        number, other = matching.number_rows([mine, others], exact)
        different |= number != other
    for name in real:
        value, other_value = (np.asarray(rows[name].to_numpy(), np.float64) for rows in (mine, others))
        nulls = [np.asarray(rows[name].is_null()) for rows in (mine, others)]
        same = np.isclose(value, other_value, rtol=_TOLERANCE, atol=0, equal_nan=True)
        different |= ~same | (nulls[0] != nulls[1])
    return different


@dataclass(frozen=True)
class SideBySide:
    """Rows of answers as streamed, beside the rows of the latest versions; n rows in all.

    Attributes
    ----------
    streamed, latest : Table
        The existing rows.
    in_force : Table
        For each of the n rows, a row of the version in force, which may be a retraction.
    streamed_index, latest_index : ndarray, shape (n,)
        The index of each row in either table; −1 if the stream did not write it, or the latest version lacks it.
    is_changed : ndarray, shape (n,)
        Whether the two differ, or one is missing.
    missing : ndarray, shape (n,)
        The number of late tuples that the latest version of the answer lacks.
    """

    streamed: pa.Table
    latest: pa.Table
    in_force: pa.Table
    streamed_index: Ints
    latest_index: Ints
    is_changed: Mask
    missing: Ints

    @staticmethod
    def from_versions(model: AnswerModel, versions: pa.Table, missing: Ints, values: list[str]) -> SideBySide:
        """Compare the streamed versions with the latest ones in the columns `values`.

        Answers added by one correction and retracted by another have no row. `missing` is as in
        `right_share.right_share`.
        """
        streamed, in_force = (model.identity.latest(each) for each in (streamed_versions(versions), versions))
        latest = without_retracted(in_force)
        number = np.concatenate(matching.number_rows([streamed, latest], model.row_identity))
        index = matching.first_indices(number)
        numbers = number[: streamed.num_rows], number[streamed.num_rows :]
        streamed_index, latest_index = (matching.find(number[index], each) for each in numbers)
        both = (streamed_index >= 0) & (latest_index >= 0)
        is_changed = ~both
        pairs = streamed.take(pa.array(streamed_index[both])), latest.take(pa.array(latest_index[both]))
        is_changed[both] = differ(*pairs, values)
        rows = pa.concat_tables([each.select(model.identity.columns) for each in (streamed, latest)])
        rows = rows.take(pa.array(index))
        in_force = in_force.take(pa.array(model.identity.find(rows, in_force)))
        of_row = missing[model.identity.find(rows, versions)]
        return SideBySide(streamed, latest, in_force, streamed_index, latest_index, is_changed, of_row)

    def take(self, rows: Ints) -> SideBySide:
        """Return some of the rows, in this order."""
        return replace(
            self,
            in_force=self.in_force.take(pa.array(rows)),
            streamed_index=self.streamed_index[rows],
            latest_index=self.latest_index[rows],
            is_changed=self.is_changed[rows],
            missing=self.missing[rows],
        )

    def given(self, columns: Sequence[str]) -> pa.Table:
        """Return columns that never change: of each row as streamed, or else of its latest version."""
        both = pa.concat_tables([each.select(columns) for each in (self.streamed, self.latest)])
        is_streamed = self.streamed_index >= 0
        index = np.where(is_streamed, self.streamed_index, self.streamed.num_rows + self.latest_index)
        return both.take(pa.array(index))

    def sides(self) -> tuple[pa.Table, pa.Table]:
        """Return n rows as streamed, and n rows of the latest versions; null where one is missing."""
        streamed = self.streamed.take(pa.array(self.streamed_index, mask=self.streamed_index < 0))
        return streamed, self.latest.take(pa.array(self.latest_index, mask=self.latest_index < 0))

    def coverage(self) -> list[float | None]:
        """Return the share of the tuples so far that each row's latest version includes."""
        tuples = self.in_force["tuples"].to_numpy()
        total = tuples + self.missing
        return [int(held) / int(of) if of else None for held, of in zip(tuples, total, strict=True)]


def row_key(model: AnswerModel) -> list[str]:
    """Return the columns that tell the rows of one answer apart: the rank in a ranking."""
    return [name for name in model.row_identity if name not in model.identity.determining]


def shown_columns(view: QueryView, answers: pa.Table) -> list[str]:
    """Return the columns of answers for people: the parts of a composite key, as far as the tables have them."""
    hidden = hidden_columns(view.query)
    return [name for name in view.kind.answer.names if name not in hidden and name in answers.column_names]
