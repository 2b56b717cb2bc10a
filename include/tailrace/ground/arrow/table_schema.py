"""The declaration of a Delta table: its name, its writer, a sentence about it, and its columns."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import pyarrow as pa

from tailrace.ground.arrow.times import TIME, other_columns, with_times

INT, TEXT, REAL, BOOLEAN = pa.int64(), pa.string(), pa.float64(), pa.bool_()


class Column(NamedTuple):
    """A column of a table; its type is None if it depends on the query."""

    dtype: pa.DataType | None
    meaning: str


TableColumns = dict[str, Column]


@dataclass(frozen=True)
class TableSchema:
    """The declaration of a table.

    Attributes
    ----------
    writer : str
        The jobs that write it.
    about : str
        A description of the rows, in Markdown; links are relative to `docs/`.
    columns : mapping
        The columns that every query has, by name, in the order of Delta's schema.
    by_kind : mapping
        Columns that follow these; each kind has some of them.
    query_columns : str
        The columns that come before these and depend on the query, in words.
    """

    name: str
    writer: str
    about: str
    columns: TableColumns
    by_kind: TableColumns = field(default_factory=dict)
    query_columns: str = ""

    def schema(self, **dtypes: pa.DataType) -> pa.Schema:
        """Return Delta's schema of `columns`; `dtypes` are the types that depend on the query, by column."""
        return pa.schema([(name, dtypes.get(name, column.dtype)) for name, column in self.columns.items()])

    def batch(self, rows: Sequence[Mapping[str, Any]], **dtypes: pa.DataType) -> pa.RecordBatch:
        """Convert rows to a batch with the table's columns; times are and stay in ms.

        Raises
        ------
        ValueError
            When a row lacks a column, or has a surplus one.
        """
        self._require_columns(rows)
        return pa.RecordBatch.from_pylist(rows, self._in_ms(self.columns, dtypes))

    def table(self, rows: Sequence[Mapping[str, Any]]) -> pa.Table:
        """Convert rows to the form in which they are stored; times are given in ms or as timestamps.

        Raises
        ------
        ValueError
            When a row lacks a column, or has a surplus one.
        """
        self._require_columns(rows)
        return with_times(pa.Table.from_pylist(rows), self.schema())

    def empty(self, names: Iterable[str] | None = None) -> pa.Table:
        """Return an empty table with the named columns, by default all; its times are in ms."""
        return self._in_ms(self.columns if names is None else names, {}).empty_table()

    def _require_columns(self, rows: Iterable[Mapping[str, Any]]) -> None:
        for row in rows:
            if row.keys() != self.columns.keys():
                raise other_columns(f"a row of {self.name}", row, self.columns)

    def _in_ms(self, names: Iterable[str], dtypes: Mapping[str, pa.DataType]) -> pa.Schema:
        types = {name: dtypes.get(name, self.columns[name].dtype) for name in names}
        return pa.schema([(name, INT if dtype == TIME else dtype) for name, dtype in types.items()])
