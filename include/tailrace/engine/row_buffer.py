"""The rows of one stream that a task holds until their ticks are complete."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from tailrace.ground.arrow.columns import Ints, single_batch


@dataclass(frozen=True)
class Cut:
    """The end of the complete ticks of a stream.

    Attributes
    ----------
    bound : int or None
        The first incomplete tick; None where all are complete.
    numbers : pair of ndarray, shape (n,), or None
        The complete ticks, ascending, and their numbers among the tuples of all streams (tick 0); None where they keep
        their numbers.
    """

    bound: int | None
    numbers: tuple[Ints, Ints] | None = None


@dataclass(frozen=True)
class RowBuffer:
    """A task's rows of one stream, prepared by the kind, with the column `tick`."""

    rows: pa.Table

    def append(self, segments: Iterable[tuple[pa.RecordBatch, int]]) -> RowBuffer:
        """Append the rows of segments, each with the least tick that they can belong to."""
        return RowBuffer(pa.concat_tables([self.rows, *(raise_ticks(rows, tick) for rows, tick in segments)]))

    def split(self, cut: Cut) -> tuple[pa.Table, RowBuffer]:
        """Split into the rows of complete ticks, and the buffer of the rest."""
        if cut.bound is None:
            complete, rest = self.rows, self.rows.schema.empty_table()  # a slice would keep the memory of all
        else:
            complete, rest = split_at(self.rows, cut.bound)
        if cut.numbers is not None:
            complete = renumber(complete, *cut.numbers)
        return complete, RowBuffer(rest)

    def to_arrow(self) -> pa.RecordBatch:
        """Return the rows as one batch; dictionaries keep only values in use."""
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
    """Return the rows with all ticks raised to at least the given one."""
    index = rows.schema.get_field_index("tick")
    raised = pa.array(np.maximum(np.asarray(rows.column(index)), tick))
    return pa.Table.from_batches([rows.set_column(index, "tick", raised)])


def split_at(rows: pa.Table, bound: int) -> tuple[pa.Table, pa.Table]:
    """Split rows into those before the given tick, and the others."""
    is_before = rows.column("tick").to_numpy() < bound
    return rows.filter(pa.array(is_before)), rows.filter(pa.array(~is_before))


def renumber(rows: pa.Table, ticks: Ints, numbers: Ints) -> pa.Table:
    """Replace each tick by its number; all ticks must be in `ticks`, which ascends."""
    number = numbers[np.searchsorted(ticks, rows.column("tick").to_numpy())]
    return rows.set_column(rows.schema.get_field_index("tick"), "tick", pa.array(number))
