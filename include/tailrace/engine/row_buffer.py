"""The rows that a task holds of one stream until their ticks are complete."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tailrace.ground.columns import single_batch

Ints = NDArray[np.int64]


@dataclass(frozen=True)
class Cut:
    """Where the complete ticks of a stream end.

    Attributes
    ----------
    bound : int or None
        The first tick that is not complete; None where all that came are.
    numbers : pair of ndarray, shape (n,), or None
        The complete ticks, ascending, and their numbers among the tuples of all streams (tick 0); None: they stay.
    """

    bound: int | None
    numbers: tuple[Ints, Ints] | None = None


@dataclass(frozen=True)
class RowBuffer:
    """A task's rows of one stream: what the kind has prepared of the tuples, with the column `tick`."""

    rows: pa.Table

    def append(self, segments: Iterable[tuple[pa.RecordBatch, int]]) -> RowBuffer:
        """Append the rows of segments, each with the least tick that they can belong to."""
        return RowBuffer(pa.concat_tables([self.rows, *(raise_ticks(rows, tick) for rows, tick in segments)]))

    def split(self, cut: Cut) -> tuple[pa.Table, RowBuffer]:
        """Split into the rows of complete ticks, and the buffer of the rest."""
        if cut.bound is None:
            complete, rest = self.rows, self.rows.schema.empty_table()  # a slice would hold the memory of all
        else:
            complete, rest = split_at(self.rows, cut.bound)
        if cut.numbers is not None:
            complete = renumber(complete, *cut.numbers)
        return complete, RowBuffer(rest)

    def to_arrow(self) -> pa.RecordBatch:
        """Return the rows as one batch; a dictionary has the values still in use."""
        rows = self.rows
        for index, field in enumerate(rows.schema):
            if pa.types.is_dictionary(field.type):
                values = pa.chunked_array(
                    [chunk.dictionary_decode() for chunk in rows.column(index).chunks], field.type.value_type
                )
                rows = rows.set_column(index, field.name, values.dictionary_encode(null_encoding="encode"))
        return single_batch(rows)

    @staticmethod
    def from_arrow(rows: pa.RecordBatch) -> RowBuffer:
        return RowBuffer(pa.Table.from_batches([rows]))


def raise_ticks(rows: pa.RecordBatch, tick: int) -> pa.Table:
    """Return the rows with no tick below the given one."""
    index = rows.schema.get_field_index("tick")
    raised = pa.array(np.maximum(np.asarray(rows.column(index)), tick))
    return pa.Table.from_batches([rows.set_column(index, "tick", raised)])


def split_at(rows: pa.Table, bound: int) -> tuple[pa.Table, pa.Table]:
    """Split rows into those of the ticks before the given one, and the others."""
    is_before = rows.column("tick").to_numpy() < bound
    return rows.filter(pa.array(is_before)), rows.filter(pa.array(~is_before))


def renumber(rows: pa.Table, ticks: Ints, numbers: Ints) -> pa.Table:
    """Replace each tick of the rows by its number; all of them must be in `ticks`, which ascends."""
    number = numbers[np.searchsorted(ticks, rows.column("tick").to_numpy())]
    return rows.set_column(rows.schema.get_field_index("tick"), "tick", pa.array(number))
