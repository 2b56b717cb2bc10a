"""The stored rows of one side of a join, in immutable chunks, so that a batch only writes its new rows."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from tailrace.ground.arrow.columns import single_batch
from tailrace.ground.time_limits import BEFORE_ALL
from tailrace.operators.chunk import Chunk

FULL, FULL_BYTES = 4096, 1 << 22
"""The most rows of a merged chunk, and the most bytes of merged small rows; each row is rewritten a few times until
then.
"""


@dataclass(frozen=True)
class ChunkedRows:
    """Stored rows, as chunks in the order of their creation.

    A chunk is dropped when all of its rows have expired, and rewritten when most have. A chunk is merged with the one
    before it while neither is full, and it is at least as large. So there are few small chunks, and rows are seldom
    rewritten.

    Attributes
    ----------
    bin_ms : int or None
        The event times of a chunk's rows are in one bin of this length, so that chunks expire as a whole (paper 003,
        eq. 4). None: a chunk has rows of any event time.
    """

    chunks: tuple[Chunk, ...] = ()
    bin_ms: int | None = None

    @staticmethod
    def from_parts(parts: Iterable[pa.RecordBatch], bin_ms: int | None, sort_key: str | None) -> ChunkedRows:
        """Store parts of rows with any event times, each in order of `sort_key`; only small parts are merged."""
        stored = ChunkedRows((), bin_ms)
        for part in parts:
            if part.num_rows:
                stored = stored.append(part, BEFORE_ALL, sort_key)
        return stored

    def append(self, rows: pa.RecordBatch, bound: int, sort_key: str | None) -> ChunkedRows:
        """Append rows in order of `sort_key`, and drop rows with an event time before `bound` (ms)."""
        left = [living for chunk in self.chunks if (living := _living(chunk, bound)) is not None]
        if self.bin_ms is None:
            return replace(self, chunks=_append(left, rows, bound, sort_key))
        bins: dict[int, list[Chunk]] = {}
        for chunk in left:
            bins.setdefault(chunk.rows.column("event_time")[0].as_py() // self.bin_ms, []).append(chunk)
        bin_of = np.asarray(rows.column("event_time")) // self.bin_ms
        by_bin = rows.take(pa.array(np.argsort(bin_of, kind="stable")))
        numbers, counts = np.unique(bin_of, return_counts=True)
        for number, count, end in zip(numbers.tolist(), counts.tolist(), np.cumsum(counts).tolist(), strict=True):
            new = by_bin.slice(end - count, count)
            bins[number] = list(_append(bins.get(number, []), new, bound, sort_key))
        return replace(self, chunks=tuple(chunk for number in sorted(bins) for chunk in bins[number]))


def _append(chunks: list[Chunk], rows: pa.RecordBatch, bound: int, sort_key: str | None) -> tuple[Chunk, ...]:
    new = _living(_chunk(rows), bound, is_new=True)
    left = chunks if new is None else [*chunks, new]
    while len(left) > 1 and _are_merged(left[-2].rows, left[-1].rows):
        merged = pa.Table.from_batches([chunk.rows for chunk in left[-2:]])
        left[-2:] = [_chunk(single_batch(merged if sort_key is None else merged.sort_by(sort_key)))]
    return tuple(left)


def _chunk(rows: pa.RecordBatch) -> Chunk:
    return Chunk(rows, source=object())


def _are_merged(earlier: pa.RecordBatch, later: pa.RecordBatch) -> bool:
    is_small = earlier.num_rows + later.num_rows <= FULL or earlier.nbytes + later.nbytes <= FULL_BYTES
    return bool(later.num_rows >= earlier.num_rows and is_small)


def _living(chunk: Chunk, bound: int, is_new: bool = False) -> Chunk | None:
    """Return the chunk, without expired rows if these are most of it or it is new; None if all have expired."""
    is_living = np.asarray(chunk.rows.column("event_time")) >= bound
    count = int(is_living.sum())
    if count == len(is_living) > 0 or (2 * count > len(is_living) and not is_new):
        return chunk
    return _chunk(chunk.rows.filter(pa.array(is_living))) if count else None
