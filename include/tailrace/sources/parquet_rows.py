"""Reads some rows of Parquet's row groups in memory that follows these rows, however large the groups are."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tailrace.ground.times import INT96_UNIT
from tailrace.sources.segments import SourceFile

SEGMENT_BYTES = 256 << 20
"""Decoded size, in bytes, beyond which the rows of a file are cut into several segments."""

_BATCH_ROWS = 4096
_BUFFER_BYTES = 1 << 20  # of a column that is read; without it the column's whole chunk is
_SAMPLED_ROWS = 1024
_FEW_ROWS = 16_384  # files with no more are not sampled: their rows would have to be 16 kB wide


def open_buffered(file: SourceFile) -> pq.ParquetFile:
    """Open a file so that its columns are read piece by piece."""
    return pq.ParquetFile(
        file.open("rb"), buffer_size=_BUFFER_BYTES, pre_buffer=False, coerce_int96_timestamp_unit=INT96_UNIT
    )


def rows_of_segment(file: SourceFile, metadata: pq.FileMetaData) -> int:
    """Return how many rows of a file fit in a segment, by the decoded size of its first rows and the size of all.

    Text that is repeated takes little room in the file, and much when it is decoded.
    """
    sizes = [metadata.row_group(group).num_rows for group in range(metadata.num_row_groups)]
    if metadata.num_rows <= _FEW_ROWS:
        return _FEW_ROWS
    largest = int(np.argmax(sizes))
    with open_buffered(file) as opened:
        batches = opened.iter_batches(_SAMPLED_ROWS, row_groups=[largest], use_threads=False)
        sample = next(batches)
    stored = metadata.row_group(largest).total_byte_size / sizes[largest]
    return max(1, int(SEGMENT_BYTES / max(sample.nbytes / sample.num_rows, stored, 1)))


def read_rows(
    file: SourceFile, groups: list[int], columns: list[str] | None, first: int, rows: int
) -> Iterator[pa.RecordBatch]:
    """Yield rows of the given row groups, from their row `first` on, in batches."""
    with open_buffered(file) as opened:
        for batch in opened.iter_batches(_BATCH_ROWS, row_groups=groups, columns=columns, use_threads=False):
            part = batch.slice(first, rows) if first < batch.num_rows else batch.slice(0, 0)
            first = max(first - batch.num_rows, 0)
            rows -= part.num_rows
            if part.num_rows:
                yield part
            if not rows:
                return


def take_rows(batches: Iterator[pa.RecordBatch], schema: pa.Schema, wanted: Sequence[int]) -> pa.Table:
    """Take the rows with these numbers, in this order, out of batches; `schema` is that of their file."""
    numbers, start, taken = np.sort(np.asarray(wanted, np.int64)), 0, []
    for batch in batches:
        mine = numbers[(numbers >= start) & (numbers < start + batch.num_rows)] - start
        start += batch.num_rows
        if len(mine):
            taken.append(batch.take(pa.array(mine)))
    table = pa.Table.from_batches(taken, None if taken else schema)
    return table.take(pa.array(np.argsort(np.argsort(wanted, kind="stable"), kind="stable")))
