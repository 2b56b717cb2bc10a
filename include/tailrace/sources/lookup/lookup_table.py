"""The table of a lookup: its rows by key, checked, and read from the content of a version."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from functools import lru_cache
from pathlib import Path

import numpy as np
import pyarrow as pa

from tailrace.ground.errors import refuse
from tailrace.ground.files.object_path import Location
from tailrace.ground.words import counted
from tailrace.kind.inputs import CheckedTable, ColumnTypes
from tailrace.kind.table_place import DatabaseTable, TableFormat, TablePlace, WrongColumn
from tailrace.sources.carried_columns import CARRIABLE, carried_type, carried_values, require_castable
from tailrace.sources.column_rules import is_text, value_type
from tailrace.sources.formats.csv_types import read_narrowest
from tailrace.sources.lookup.key_index import KeyIndex, meets
from tailrace.sources.lookup.table_content import PARQUET, csv_texts, parquet_columns, with_floored
from tailrace.sources.lookup.valid_times import valid_times

MOST_BYTES = 512 << 20
"""The memory that the rows of a version may take; each process that reads records holds them."""

_FORMATS = "a file *.parquet or *.csv, or format: delta, parquet or postgres"
_KEY, _COLUMN = "key ", "column "
_VERSIONS = 2
"""The number of versions of a table that a process holds: a batch may still need the one before the newest."""

_TEXT_BYTES = 180
"""The memory of a text key beside its characters, measured."""

_NUMBER_BYTES = 40
"""The memory of a key in an index."""


@dataclass(frozen=True)
class LookupTable:
    """The declared table of a lookup (`kind.inputs.TableInput`).

    Attributes
    ----------
    path : Path or DatabaseTable
        A file, a directory of files, a Delta table, or a table of a database.
    keys : tuple of str
        The table's columns of the key.
    columns : tuple of (str, str)
        The columns that are looked up: the name in the stream, and the table's.
    valid : pair of str or None
        The table's columns with the event times from which, and until which (exclusive), a row is valid.
    fields : tuple of (str, str)
        The fields of the query file that name the table's columns, by column.
    section : str
        The section of the query file that declares it; empty where that is not known.
    """

    path: Path | DatabaseTable
    keys: tuple[str, ...]
    columns: tuple[tuple[str, str], ...]
    format: TableFormat | None = None
    valid: tuple[str | None, str | None] = (None, None)
    fields: tuple[tuple[str, str], ...] = ()
    section: str = ""

    @property
    def place(self) -> TablePlace:
        """The place from which its content is read."""
        return TablePlace(self.path, self.format, self._names, self.fields)

    @property
    def _names(self) -> tuple[str, ...]:
        valid = [name for name in self.valid if name is not None]
        return tuple(dict.fromkeys([*self.keys, *valid, *(column for _, column in self.columns)]))

    def check(self, content: bytes, suffix: str | None = None, first: ColumnTypes | None = None) -> CheckedTable:
        """Check the content of a version.

        Raises
        ------
        Refused
            When it is no table of its format, lacks a column, has two rows with the same key that are valid at the same
        time, takes too much memory, or has a value that does not fit the type of the first version.
        """
        types = {} if first is None else {name: column_type(first, name) for name, _ in self.columns}
        try:
            version = self.read(self.path, content, suffix, texts_among(types.items()))
        except WrongColumn as wrong:
            raise wrong.in_fields(dict(self.fields)) from None
        for name, dtype in types.items():
            require_castable(f"{self.path}: {dict(self.columns)[name]}", version.columns[name], dtype)
        keys = {_KEY + name: key.type for name, key in zip(self.keys, version.index.keys, strict=True)}
        if first is not None:  # an integer matches a text, in whichever version it is
            keys = {name: before if meets(before := first.carried[name], key) else key for name, key in keys.items()}
        own = {_COLUMN + name: column.type for name, column in version.columns.items()}
        rows = counted(len(version.index.keys[0]), "row")
        suffix = self.place.suffix if suffix is None else suffix
        floored = [*self.keys, *(column for _, column in self.columns)]
        rows = with_floored(rows, str(self.path), content, suffix, floored)
        return CheckedTable(ColumnTypes(carried=own | keys), rows)

    def read(
        self, where: Location | DatabaseTable, content: bytes, suffix: str | None = None, texts: Collection[str] = ()
    ) -> LookupVersion:
        """Read a version from its content; without a given format, the suffix of the declared place names it.

        `texts` names columns (as in the stream) that stay texts in CSV, even if they look like numbers.
        """
        suffix = self.place.suffix if suffix is None else suffix
        rows = self._rows(str(where), content, suffix, {dict(self.columns)[name] for name in texts})
        texts_of_keys = sum(is_text(value_type(rows[name].type)) for name in self.keys)
        size = rows.nbytes + rows.num_rows * (_NUMBER_BYTES * len(self.keys) + _TEXT_BYTES * texts_of_keys)
        if size > MOST_BYTES:
            fault = f"its {rows.num_rows:,} rows take {size >> 20:,} MiB, more than {MOST_BYTES >> 20} MiB"
            named = f"{self.section}.columns: {where}" if self.section else str(where)
            remedy = "each process holds all of them: fewer columns here; or fewer rows, by a view or another table"
            raise refuse(named, fault, remedy)
        bounds = [None if name is None else rows[name].combine_chunks() for name in self.valid]
        keys = tuple(self._key(f"{where}: {name}", rows[name].combine_chunks()) for name in self.keys)
        index = KeyIndex(keys, valid_times(str(where), bounds, self.valid))
        if (repeated := index.repeated()) is not None:
            when = "" if index.valid is None else ", and are valid at the same time"
            values = ", ".join(repr(key[repeated[0]].as_py()) for key in keys)
            fault = f"rows {repeated[0] + 1} and {repeated[1] + 1} have one key, {values}{when}"
            remedy = "one row a key" if index.valid is None else "one row a key at any time"
            raise refuse(f"{where}: {', '.join(self.keys)}", fault, remedy)
        columns = {name: _carried(f"{where}: {column}", rows[column]) for name, column in self.columns}
        return LookupVersion(index, columns)

    def _rows(self, where: str, content: bytes, suffix: str, texts: Collection[str]) -> pa.Table:
        if suffix != ".csv":
            if suffix not in PARQUET:
                raise refuse(where, f"a lookup can't be read from {suffix or 'a file without suffix'}", _FORMATS)
            return parquet_columns(where, content, self._names, _FORMATS)
        rows = csv_texts(where, content, self._names)
        own = {*self._names} - {*self.keys, *texts}
        return pa.table({name: read_narrowest(rows[name]) if name in own else rows[name] for name in self._names})

    @staticmethod
    def _key(where: str, column: pa.Array) -> pa.Array:
        key = _carried(where, pa.chunked_array([column]))
        if pa.types.is_floating(key.type):
            raise refuse(where, f"a key of the type {key.type} meets no other surely", "an integer, a text, or a date")
        return key.cast(pa.int64()) if pa.types.is_integer(key.type) else key


@dataclass(frozen=True, eq=False)
class LookupVersion:
    """The rows of a version: an index by key, and the looked-up columns by their names in the stream."""

    index: KeyIndex
    columns: Mapping[str, pa.Array] = field(default_factory=dict)

    def take(self, name: str, rows: np.ndarray, dtype: pa.DataType) -> pa.Array:
        """Return a column's values in n rows, null for no row, in a type that holds all of the column's values."""
        column = self.columns[name]
        if column.type != dtype:  # only a version whose values this keeps is stored
            column = column.cast(dtype)
        return column.take(pa.array(rows, mask=rows < 0))


def stored_version(table: LookupTable, file: Location, texts: tuple[str, ...]) -> LookupVersion:
    """Read a stored version, a file that never changes; its suffix names its format. `texts` is as in `read`."""
    return _stored_versions(table, texts)(file)


@lru_cache(None)
def _stored_versions(table: LookupTable, texts: tuple[str, ...]) -> Callable[[Location], LookupVersion]:
    return lru_cache(_VERSIONS)(lambda file: table.read(file, file.read_bytes(), file.suffix, texts))


def texts_among(types: Iterable[tuple[str, pa.DataType]]) -> tuple[str, ...]:
    """Return the names of the columns that are texts."""
    return tuple(name for name, dtype in types if pa.types.is_string(dtype))


def key_type(types: ColumnTypes, name: str) -> pa.DataType:
    """Return the type of a column of the table's key."""
    return types.carried[_KEY + name]


def column_type(types: ColumnTypes, name: str) -> pa.DataType:
    """Return the type of a column that is looked up, by its name in the stream."""
    return types.carried[_COLUMN + name]


def _carried(where: str, column: pa.ChunkedArray) -> pa.Array:
    """Return the values of a column in the type that a stream carries."""
    values = column.combine_chunks()
    if isinstance(values, pa.DictionaryArray):
        values = values.dictionary_decode()
    if pa.types.is_null(values.type):
        return values
    dtype = carried_type(str(values.type))
    if dtype is None:
        raise refuse(where, f"its type is {values.type}, which no stream has", CARRIABLE)
    kept, outside = carried_values(values, dtype)
    if outside.any():
        row = int(np.flatnonzero(outside)[0]) + 1
        raise refuse(where, f"the value of row {row} is out of bounds", "a time in the years 1 to 9999")
    return kept.cast(pa.string()) if is_text(kept.type) else kept
