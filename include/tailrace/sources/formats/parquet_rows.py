"""Reads some rows of Parquet's row groups; the memory depends on these rows, not on the size of the groups."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tailrace.ground.arrow.times import INT96_UNIT
from tailrace.sources.segments import SourceFile

SEGMENT_BYTES = 256 << 20
"""Decoded size, in bytes, beyond which the rows of a file are cut into several segments."""

_BATCH_ROWS = 4096
_CODED_ROWS = 16_384  # opening the file again, for codes, takes as long as some thousand rows
_CODE_BYTES = 2  # bytes per row of a chunk with repeated texts, its dictionary included
_BUFFER_BYTES = 1 << 20  # of a column that is read; without it the column's whole chunk is
_SAMPLED_ROWS = 1024
FEW_ROWS = 65_536  # in a file that is not sampled, which takes some ms; its rows would have to be 4 kB wide
_FEW_ROWS_OF_OBJECT = 262_144  # a sample of an object takes requests


def open_buffered(file: SourceFile) -> pq.ParquetFile:
    """Open a file so that its columns are read piece by piece."""
    return pq.ParquetFile(
        file.open("rb"), buffer_size=_BUFFER_BYTES, pre_buffer=False, coerce_int96_timestamp_unit=INT96_UNIT
    )


def rows_of_segment(file: SourceFile, metadata: pq.FileMetaData) -> list[int]:
    """Return how many rows of each row group fit in a segment, estimated from the file and a decoded sample.

    Repeated text takes little room in the file, and much when decoded.
    """
    groups = [metadata.row_group(group) for group in range(metadata.num_row_groups)]
    row_bytes = 1.0
    if metadata.num_rows > (FEW_ROWS if isinstance(file, Path) else _FEW_ROWS_OF_OBJECT):
        largest = int(np.argmax([group.num_rows for group in groups]))
        with open_buffered(file) as opened:
            sample = next(opened.iter_batches(_SAMPLED_ROWS, row_groups=[largest], use_threads=False))
        row_bytes = max(row_bytes, sample.nbytes / sample.num_rows)
    sizes = [max(row_bytes, group.total_byte_size / max(group.num_rows, 1)) for group in groups]
    return [max(1, int(SEGMENT_BYTES / size)) for size in sizes]


def repeated_texts(file: pq.ParquetFile, groups: Sequence[int], columns: Sequence[str]) -> list[str]:
    """Return the columns with repeated texts, whose codes are read faster than the texts."""
    metadata, schema = file.metadata, file.schema_arrow
    if sum(metadata.row_group(group).num_rows for group in groups) < _CODED_ROWS:
        return []
    texts = {name for name in columns if schema.get_field_index(name) >= 0 and schema.field(name).type == pa.string()}
    indices = [index for index in range(metadata.num_columns) if metadata.schema.column(index).path in texts]
    return [
        metadata.schema.column(index).path
        for index in indices
        if all(_repeats(metadata.row_group(group).column(index)) for group in groups)
    ]


def _repeats(chunk: pq.ColumnChunkMetaData) -> bool:
    """Return whether a column chunk has only codes, and no texts, each of which takes at least 4 bytes.

    A writer gives up a dictionary that grows too large; encoding such a chunk takes five times as long as reading
    texts.
    """
    return bool(chunk.has_dictionary_page and chunk.total_uncompressed_size <= _CODE_BYTES * chunk.num_values)


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
    """Take the rows with these numbers, in this order, out of batches; `schema` is their file's."""
    numbers, start, taken = np.sort(np.asarray(wanted, np.int64)), 0, []
    for batch in batches:
        mine = numbers[(numbers >= start) & (numbers < start + batch.num_rows)] - start
        start += batch.num_rows
        if len(mine):
            taken.append(batch.take(pa.array(mine)))
    table = pa.Table.from_batches(taken, None if taken else schema)
    return table.take(pa.array(np.argsort(np.argsort(wanted, kind="stable"), kind="stable")))
