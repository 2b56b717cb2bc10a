"""Sources of dimension tables: each reads the content, and returns a token that changes when the content may have."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from typing import NamedTuple, Protocol

import pyarrow as pa
import pyarrow.parquet as pq

from tailrace.ground.arrow.times import INT96_UNIT
from tailrace.ground.errors import Refused, refuse
from tailrace.ground.files.regular_files import read_regular
from tailrace.ground.files.source_roots import outside_roots
from tailrace.kind.table_place import DatabaseTable, TablePlace, require_columns
from tailrace.sources.discovery.object_files import ObjectFile
from tailrace.sources.formats.geo_metadata import (
    common_geometry_metadata,
    read_geometry_metadata,
    with_geometry_metadata,
)
from tailrace.sources.formats.registry import list_files
from tailrace.sources.lookup.postgres_columns import PostgresColumns
from tailrace.sources.lookup.postgres_table import PostgresTable
from tailrace.sources.segments import SourceFile

NOWHERE: Mapping[str, str] = {}
"""The position in a source without versions."""


class TableContent(NamedTuple):
    """The content of a dimension table at a moment.

    Attributes
    ----------
    content : bytes
        The content in the format of `TablePlace.suffix`; equal rows give equal bytes.
    position : dict
        The source's version, if it has versions, which is recorded with the fact.
    """

    content: bytes
    position: Mapping[str, str] = NOWHERE


class DimensionSource(Protocol):
    """The source of a dimension table."""

    def token(self) -> Hashable:
        """Return a cheap value that changes whenever the content may have changed; None means that it may have changed.

        Raises
        ------
        Refused, OSError
            When the source is missing.
        """

    def read(self, position: Mapping[str, str]) -> TableContent:
        """Read the present content; `position` is the position of the version in force.

        Raises
        ------
        Refused
            When it can't be read, is not a table, or is older than the version in force.
        """


class FileTable:
    """A dimension table in one file."""

    def __init__(self, location: TablePlace) -> None:
        self.place = location

    def token(self) -> Hashable:
        stat = self.place.file.stat()
        return stat.st_mtime_ns, stat.st_ctime_ns, stat.st_size, stat.st_ino

    def read(self, position: Mapping[str, str]) -> TableContent:
        if (problem := outside_roots(self.place.file)) is not None:  # it may have been replaced by a symbolic link
            raise Refused([problem])
        return TableContent(read_whole(self.place))


class ParquetTable:
    """A dimension table that is a directory of (Geo)Parquet files, or one such file."""

    def __init__(self, location: TablePlace) -> None:
        self.place = location

    def token(self) -> Hashable:
        return tuple((str(file), *_state_of(file)) for file in list_files(self.place.file, "parquet", is_log=False))

    def read(self, position: Mapping[str, str]) -> TableContent:
        files = list_files(self.place.file, "parquet", is_log=False)
        if not files:
            raise refuse(str(self.place), "the directory has no Parquet file", "files *.parquet in it")
        return TableContent(as_parquet(self.place, [self._rows(file) for file in files]))

    def _rows(self, file: SourceFile) -> pa.Table:
        try:
            with file.open("rb") as opened:
                rows = pq.ParquetFile(opened, coerce_int96_timestamp_unit=INT96_UNIT)
                require_columns(str(file), rows.schema_arrow.names, self.place.columns)
                declared = read_geometry_metadata(str(file), rows)
                return with_geometry_metadata(rows.read(columns=[*self.place.columns], use_threads=False), declared)
        except (pa.ArrowException, OSError) as error:
            raise refuse(str(file), f"it is no whole Parquet file: {error}", "a file that is whole") from None


class PostgresDimension:
    """A dimension table that is a PostgreSQL table or view."""

    def __init__(self, location: TablePlace) -> None:
        self.place, self._columns = location, PostgresColumns(postgres_table(location))

    def token(self) -> Hashable:
        return self._columns.token()

    def read(self, position: Mapping[str, str]) -> TableContent:
        return TableContent(as_parquet(self.place, [self._columns.read(self.place.columns)]))


def postgres_table(location: TablePlace) -> PostgresTable:
    """Return the PostgreSQL table that a place names."""
    assert isinstance(location.path, DatabaseTable)
    return PostgresTable(connection=location.path.connection, table=location.path.table)


def read_whole(location: TablePlace) -> bytes:
    """Read the file of a table."""
    try:
        return read_regular(location.file)
    except OSError as error:
        fault = f"it can't be read: {error.strerror or error}"
        raise refuse(str(location), fault, "a readable file") from None


def as_parquet(location: TablePlace, parts: list[pa.Table]) -> bytes:
    """Write the needed columns of a table as one Parquet file.

    Its bytes do not depend on how rows are spread over files. It keeps the files' metadata about geometries.

    Raises
    ------
    Refused
        When a column has incompatible types, or different coordinate systems, in two files.
    """
    declared = common_geometry_metadata(str(location), parts, location.columns)
    try:
        parts = [_plain(part) for part in parts]
        rows = pa.concat_tables(parts, promote_options="permissive").select([*location.columns])
        rows = rows.sort_by([(name, "ascending") for name in rows.column_names if _is_ordered(rows[name].type)])
        sink = pa.BufferOutputStream()
        pq.write_table(with_geometry_metadata(rows, declared), sink, compression="zstd", use_dictionary=False)
    except (pa.ArrowException, TypeError) as error:
        fault = f"its files do not make one table: {error}"
        raise refuse(str(location), fault, "one type for each column, in all files") from None
    return bytes(sink.getvalue())


def _plain(rows: pa.Table) -> pa.Table:
    """Unpack extension types, such as Parquet's own geometries, and dictionaries, as they can't be sorted."""
    for index, (name, column) in enumerate(zip(rows.column_names, rows.columns, strict=True)):
        if isinstance(column.type, pa.BaseExtensionType):
            column = column.cast(column.type.storage_type)  # noqa: PLW2901
        if pa.types.is_dictionary(column.type):
            column = column.cast(column.type.value_type)  # noqa: PLW2901
        rows = rows.set_column(index, pa.field(name, column.type), column)
    return rows


def _is_ordered(dtype: pa.DataType) -> bool:
    return not (pa.types.is_nested(dtype) or pa.types.is_null(dtype) or pa.types.is_interval(dtype))


def _state_of(file: SourceFile) -> tuple[int, ...]:
    if isinstance(file, ObjectFile):
        return file.state
    stat = file.stat()
    return stat.st_mtime_ns, stat.st_ctime_ns, stat.st_size, stat.st_ino


DIMENSION_SOURCES: Mapping[str | None, Callable[[TablePlace], DimensionSource]] = {
    None: FileTable,
    "parquet": ParquetTable,
    "postgres": PostgresDimension,
}
"""The sources of tables by `TablePlace.format`, except Delta, which is in the room `storage`."""
