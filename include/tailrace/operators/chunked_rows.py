"""The rows that a join stores of one side, in immutable chunks, so that a batch writes what it brings and no more."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from tailrace.ground.columns import single_batch
from tailrace.operators.chunk import Chunk

_FULL = 4096
"""The number of rows from which on a chunk is merged with no other: each row is rewritten some times, until then."""


@dataclass(frozen=True)
class ChunkedRows:
    """Stored rows: chunks in the order in which they were begun.

    A chunk is dropped when all of its rows have expired, and rewritten when most have. A chunk is merged with the one
    before while neither is full and it is as large; so there are few small ones, and a row is rewritten seldom.
    """

    chunks: tuple[Chunk, ...] = ()

    def append(self, rows: pa.RecordBatch, bound: int, sort_key: str | None) -> ChunkedRows:
        """Append rows, which are in order of `sort_key`, and drop those with an event time before `bound` (ms)."""
        left = [living for chunk in self.chunks if (living := _living(chunk, bound)) is not None]
        new = _living(Chunk(rows), bound)
        if new is not None:
            left.append(new)
        while len(left) > 1 and _are_merged(left[-2].rows.num_rows, left[-1].rows.num_rows):
            merged = pa.Table.from_batches([chunk.rows for chunk in left[-2:]])
            left[-2:] = [Chunk(single_batch(merged if sort_key is None else merged.sort_by(sort_key)))]
        return ChunkedRows(tuple(left))


def _are_merged(earlier: int, later: int) -> bool:
    return later >= earlier and earlier + later <= _FULL


def _living(chunk: Chunk, bound: int) -> Chunk | None:
    """The chunk without its expired rows, if these are most of it; None where all are."""
    is_living = np.asarray(chunk.rows.column("event_time")) >= bound
    count = int(is_living.sum())
    if 2 * count > len(is_living) and (chunk.name is not None or count == len(is_living)):
        return chunk
    return Chunk(chunk.rows.filter(pa.array(is_living))) if count else None
