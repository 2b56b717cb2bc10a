"""Streams stored as Parquet files."""

from __future__ import annotations

import errno
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tailrace.ground.arrow.times import INT96_UNIT
from tailrace.ground.errors import Refused, SourceChanged, refuse
from tailrace.sources.column_rules import require_fit, value_type
from tailrace.sources.columns import SourceMapping
from tailrace.sources.formats.file_format import ALONE, OtherFiles, SegmentReader
from tailrace.sources.formats.memory_texts import as_numbers, is_in_memory, read_texts, types_of_texts
from tailrace.sources.formats.parquet_rows import read_rows, repeated_texts, rows_of_segment, take_rows
from tailrace.sources.formats.raw_records import raw_records
from tailrace.sources.formats.required_columns import MissingColumn, require
from tailrace.sources.segments import (
    RawSegment,
    Segment,
    SourceFile,
    Types,
    require_regular,
    require_taken,
)

ROWS_PER_SEGMENT = 500_000  # large files are cut between row groups, so that several readers share one


@dataclass(frozen=True)
class ParquetFiles:
    """Parquet files, which state their column types, so that a column of a wrong type is refused as a whole."""

    connection: str | None = None
    suffixes: ClassVar[tuple[str, ...]] = (".parquet",)
    states_types: ClassVar[bool] = True
    is_log: ClassVar[bool] = True

    def at(self, connection: str | None, exact: frozenset[str] = frozenset()) -> SegmentReader:
        return replace(self, connection=connection)

    def whole(self, path: SourceFile, still: bool) -> bool:
        return True  # an incomplete file has no footer and can't be opened

    def types(self, path: SourceFile, columns: SourceMapping, others: OtherFiles = ALONE) -> Types | None:
        """Return the types by `schema_types`; for a column added after the file, the type in the newest file."""
        texts = types_of_texts(path, columns) if is_in_memory(path) else {}
        file = _open(path)
        if columns.file_check is not None:
            columns.file_check(str(path), file, columns.named().values())
        schema = as_numbers(file.schema_arrow, texts)
        try:
            return schema_types(path, schema, columns, {}) | texts
        except MissingColumn:
            if (newest := others.newest()) is None:
                raise
            return schema_types(path, schema, columns, newest) | texts

    def names(self, path: SourceFile, columns: SourceMapping) -> set[str] | None:
        return None

    def unfit(self, path: SourceFile, columns: SourceMapping) -> dict[str, Any]:
        return {}

    def split(self, path: SourceFile) -> list[Segment]:
        metadata = _open(path).metadata
        with _named(path, errno.ENOENT):
            rows_of_groups = rows_of_segment(path, metadata)
        segments: list[Segment] = []
        first = rows = 0
        for group, most in enumerate(rows_of_groups):
            size = metadata.row_group(group).num_rows
            for piece in [most] * (size // most) + [size % most]:
                if rows and rows + piece > min(ROWS_PER_SEGMENT, most):
                    segments.append(Segment(str(path), first, rows, of_rows=metadata.num_rows))
                    first, rows = first + rows, 0
                rows += piece
        return [*segments, Segment(str(path), first, rows, of_rows=metadata.num_rows)]

    def read(self, segment: Segment, types: Types) -> RawSegment:
        table = self._table(segment, list(dict.fromkeys(types)))
        for name in types.keys() - set(table.column_names):  # the column was added after the file
            table = table.append_column(name, pa.nulls(segment.rows))
        if is_in_memory(segment.path):
            return read_texts(table, types, lambda rows: self.records(segment, rows))
        return RawSegment(table, np.arange(segment.rows), [])

    def records(self, segment: Segment, rows: Sequence[int]) -> list[str]:
        try:
            return raw_records(self._taken(segment, rows), range(len(rows)))
        except SourceChanged:
            raise
        except (Refused, pa.ArrowNotImplementedError) as error:
            return raw_records(self._readable_columns(segment, error), rows)

    def _readable_columns(self, segment: Segment, error: Exception) -> pa.Table:
        """Read the columns one by one, so that an unreadable one does not keep the others from being read.

        Raises
        ------
        Exception
            `error`, when none can be read.
        """
        columns, names = {}, dict.fromkeys(_open(require_taken(segment, self.connection)).schema_arrow.names)
        for name in names:
            with suppress(Refused, pa.ArrowNotImplementedError):
                columns[name] = self._table(segment, [name]).column(0)
        if not columns:
            raise error
        unreadable = pa.array(["can't be read"] * segment.rows)
        return pa.table({name: columns.get(name, unreadable) for name in names})

    def _table(self, segment: Segment, columns: list[str]) -> pa.Table:
        path = require_taken(segment, self.connection)
        with _named(path):
            file = _content(path)
            groups, first, rows = _groups(file.metadata, segment)
            if rows == segment.rows:
                if isinstance(path, Path) and (texts := repeated_texts(file, groups, columns)):  # objects: by a request
                    options = {"metadata": file.metadata, "coerce_int96_timestamp_unit": INT96_UNIT}
                    file = pq.ParquetFile(path, read_dictionary=texts, **options)
                return file.read_row_groups(groups, columns=columns, use_threads=False)
            batches = list(read_rows(path, groups, columns, first, segment.rows))
        return pa.Table.from_batches(batches)

    def _taken(self, segment: Segment, rows: Sequence[int]) -> pa.Table:
        """Return the given rows of a segment, with all columns of its file."""
        path = require_taken(segment, self.connection)
        with _named(path):
            file = _content(path)
            groups, first, _ = _groups(file.metadata, segment)
            return take_rows(read_rows(path, groups, None, first, segment.rows), file.schema_arrow, rows)


def _groups(metadata: pq.FileMetaData, segment: Segment) -> tuple[list[int], int, int]:
    """Return the row groups of a segment's rows, the first of these rows within the groups, and their number."""
    sizes = [metadata.row_group(group).num_rows for group in range(metadata.num_row_groups)]
    starts = np.concatenate([[0], np.cumsum(sizes)]).tolist()
    first, stop = segment.first_row, segment.first_row + segment.rows
    is_read = [segment.rows and starts[group] < stop and first < starts[group + 1] for group in range(len(sizes))]
    groups = np.flatnonzero(is_read).tolist()
    return groups, first - starts[groups[0]] if groups else 0, sum(sizes[group] for group in groups)


def schema_types(where: SourceFile | str, schema: pa.Schema, columns: SourceMapping, elsewhere: Types) -> Types:
    """Return the types of the columns that a query reads, from the schema of a file or a table; null fits each of them.

    Raises
    ------
    Refused
        When a column is neither in the schema nor `elsewhere`, occurs twice, or has an unusable type.
    """
    names = schema.names
    require(where, columns, [*names, *(elsewhere.keys() - set(names))])
    types: Types = {}
    for part, name in columns.named().items():
        if name not in names:
            types[name] = elsewhere[name]
            continue
        dtype = value_type(schema.field(name).type)
        require_fit(f"{where}: column {name}", part, dtype, columns)
        types[name] = str(dtype)
    return types


def _open(path: SourceFile) -> pq.ParquetFile:
    with _named(path, errno.ENOENT):
        return _content(path)


def _content(path: SourceFile) -> pq.ParquetFile:
    if isinstance(path, Path):
        require_regular(path)
        return pq.ParquetFile(path, coerce_int96_timestamp_unit=INT96_UNIT)
    file = path.open()
    return pq.ParquetFile(file, pre_buffer=True, coerce_int96_timestamp_unit=INT96_UNIT)  # neighbours by one request


@contextmanager
def _named(path: SourceFile, *faults: int) -> Iterator[None]:
    """Refuse a damaged file by its name, which Arrow's errors lack; `faults` are errno values that mean damage."""
    try:
        yield
    except UnicodeDecodeError as error:
        raise refuse(str(path), f"the name of a column is no UTF-8: {error.object!r}", "names in UTF-8") from None
    except (pa.ArrowInvalid, OSError) as error:
        if isinstance(error, OSError) and error.errno not in (None, *faults):
            raise  # the fault is in the access to the file, and may pass
        raise refuse(str(path), f"it can't be read as Parquet ({error})", "a whole Parquet file") from error
