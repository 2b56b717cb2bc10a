"""Chunks: the immutable parts of a large state. A batch writes the new ones and refers to the others by name."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from tailrace.ground.arrow.columns import Ints

_ROW_BYTES, _BATCH_BYTES = 500, 100_000  # bytes that are copied in the time of placing a row, and of searching a batch


@dataclass(frozen=True, eq=False)
class Chunk:
    """Rows of a state that never change.

    Attributes
    ----------
    name : str or None
        Its name in the task's store of chunks; None before it is stored.
    source : hashable or None
        A key that identifies the chunk in this process across batches, so that an index of its rows can be cached; None
        for rows of no state.
    """

    rows: pa.RecordBatch
    name: str | None = None
    source: Hashable | None = None


Chunks = Mapping[str, tuple[Chunk, ...]]
"""The chunks of a state, by part of the state."""


def chunks_of(state: object) -> Chunks:
    """Return the chunks of a state; none if all its rows are in the batches of `to_arrow`."""
    chunks: Chunks = getattr(state, "chunks", {})
    return chunks


def take(rows: pa.Table, index: Ints) -> pa.Table:
    """Take rows of a table of many batches; the cost depends on the number of rows taken.

    `Table.take` first copies all batches into one, which would be most of the work for a few pairs of a large state.
    """
    batches = rows.to_batches()
    if rows.nbytes <= _ROW_BYTES * len(index) + _BATCH_BYTES * len(batches):
        return rows.take(pa.array(index))
    order = np.argsort(index, kind="stable")
    ascending = index[order]
    parts, start, first = [rows.slice(0, 0)], 0, 0
    for batch in batches:
        end = start + int(np.searchsorted(ascending[start:], first + batch.num_rows))
        if end > start:
            parts.append(pa.Table.from_batches([batch.take(pa.array(ascending[start:end] - first))]))
        start, first = end, first + batch.num_rows
    position = np.empty_like(order)
    position[order] = np.arange(len(order))
    return pa.concat_tables(parts).take(pa.array(position))
