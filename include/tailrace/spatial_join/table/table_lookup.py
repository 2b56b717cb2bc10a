"""Lookup of related geometries in a dimension table, by an index that each process builds once per version."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import lru_cache
from pathlib import Path
from typing import Literal, NamedTuple, Protocol

import numpy as np
import pyarrow as pa
from shapely import GEOSException

from tailrace.ground.errors import refuse
from tailrace.ground.files.object_path import Location
from tailrace.ground.words import counted
from tailrace.kind.inputs import CheckedTable, ColumnTypes
from tailrace.kind.table_place import DatabaseTable, TableFormat, TablePlace, WrongColumn
from tailrace.sources.carried_columns import CARRIABLE, carried_type, carried_values, require_castable
from tailrace.sources.lookup.table_content import with_floored
from tailrace.spatial_join.geometry.geometries import Geometries, Shapes, geometries_of
from tailrace.spatial_join.search.condition import DWITHIN, Condition
from tailrace.spatial_join.search.external_search import ExternalSearch
from tailrace.spatial_join.search.pair_search import LocalIndex, nested_loops
from tailrace.spatial_join.search.pairs import Pairs
from tailrace.spatial_join.table import dimension_table
from tailrace.spatial_join.table.dimension_table import DimensionTable
from tailrace.spatial_join.table.table_index import RowSearch, TableIndex
from tailrace.spatial_join.table.table_section import OnInvalid

Method = Literal["indexed", "native", "external"]

_FAILURES = (ValueError, TypeError, AttributeError, OSError, RuntimeError, GEOSException, pa.ArrowException)
"""The errors of reading a file that is broken, or that a library can't read."""

_VERSIONS = 2
"""The number of versions whose indexes a process holds: a batch may still need the one before the newest."""


@dataclass(frozen=True)
class TableSource:
    """The dimension table of a query, as declared (`kind.inputs.TableInput`).

    Attributes
    ----------
    path : Path or DatabaseTable
        A file, a directory of files, a Delta table, or a table of a database.
    id, geometry : str
        Columns; see `dimension_table.read`.
    on_invalid : str
    degrees : bool
        Whether coordinates are longitude and latitude.
    columns : tuple of (str, str)
        The columns that `select` names or `where` reads, with the id: the name in answers, and the table's column.
    fields : tuple of (str, str)
        The fields of the query file that name the table's columns, each perhaps with a position in an expression.
    format : str or None
        See `kind.table_place.TablePlace`.
    valid : pair of str or None
        The columns of a row's validity by event time.
    """

    path: Path | DatabaseTable
    id: str = "id"
    geometry: str = "geometry"
    on_invalid: OnInvalid = "refuse"
    degrees: bool = True
    columns: tuple[tuple[str, str], ...] = ()
    fields: tuple[tuple[str, str], ...] = ()
    format: TableFormat | None = None
    valid: tuple[str | None, str | None] = (None, None)

    @property
    def place(self) -> TablePlace:
        """The place that its content is read from."""
        valid = [name for name in self.valid if name is not None]
        names = dict.fromkeys([self.id, *valid, *(column for _, column in self.columns), self.geometry])
        return TablePlace(self.path, self.format, tuple(names), self.fields)

    def check(self, content: bytes, suffix: str | None = None, first: ColumnTypes | None = None) -> CheckedTable:
        """Check the content of a version, see `kind.inputs.TableInput`.

        Raises
        ------
        Refused
            As in `dimension_table.parse`, with the declared path. Also for a column that can't be carried along, or
            that has a value which does not fit the type of the first version.
        """
        suffix = self.place.suffix if suffix is None else suffix
        try:
            table = self.read(self.path, content, suffix)
        except WrongColumn as wrong:
            raise wrong.in_fields(dict(self.fields)) from None
        except _FAILURES as error:
            raise refuse(
                str(self.path), f"it can't be read: {error}", "a file that is whole and of its format"
            ) from None
        if first is not None:
            for name, column in self.columns:
                require_castable(f"{self.path}: {column}", table.columns[name], first.carried[name])
        types = ColumnTypes(id=table.ids.type, carried={name: table.columns[name].type for name, _ in self.columns})
        rows = counted(len(table), "row")
        if table.skipped:
            rows += f", and {len(table.skipped):,} skipped, first {table.skipped[0].where}: {table.skipped[0].fault}"
        floored = [self.id, *(column for _, column in self.columns)]
        return CheckedTable(types, with_floored(rows, str(self.path), content, suffix, floored))

    def read(self, path: Location | DatabaseTable, content: bytes, suffix: str | None = None) -> DimensionTable:
        """Read a version of the table from its content, with columns named as in answers.

        Without a given suffix, the file's own suffix names the format, as the query may declare another one by now.
        """
        names = list(dict.fromkeys(column for _, column in self.columns if column != self.id))
        of_invalid = self.on_invalid, self.degrees
        table = dimension_table.parse(path, content, self.id, self.geometry, names, *of_invalid, self.valid, suffix)
        own = {**table.columns, self.id: table.ids}
        columns = {name: _carried(f"{path}: {column}", own[column]) for name, column in self.columns}
        texts = {name: table.texts[column] for name, column in self.columns if column in table.texts}
        return replace(table, columns=columns, texts=texts)


def _carried(where: str, column: pa.Array) -> pa.Array:
    """Return the values of a selected column in the type in which it is carried along; null without a row."""
    if pa.types.is_null(column.type):
        return column
    dtype = carried_type(str(column.type))
    if dtype is None:
        raise refuse(where, f"its type is {column.type}, which answers can't have", CARRIABLE)
    values, out_of_bounds = carried_values(column, dtype)
    if out_of_bounds.any():
        row = int(np.flatnonzero(out_of_bounds)[0]) + 1
        raise refuse(where, f"the value of row {row} is out of bounds", "a time in the years 1 to 9999")
    return values


class TableSearch(Protocol):
    """A search for the rows of a table."""

    def matches(self, left: Geometries) -> Pairs:
        """Find the pairs of a geometry and a row, each once."""


class IndexedTable(NamedTuple):
    """A version of the table, and the search for its rows."""

    table: DimensionTable
    search: TableSearch


@dataclass(frozen=True)
class TableLookup:
    """The lookup of the table's rows that fulfil a condition with geometries of the stream.

    Attributes
    ----------
    table : TableSource
    condition : Condition
    method : str
        indexed: by the fastest index. native: each pair is tested, as in the paper's baseline. external: by an embedded
        spatial engine (the paper's variant by GeoMesa).
    """

    table: TableSource
    condition: Condition
    method: Method = "indexed"

    def indexed(self, version: Location) -> IndexedTable:
        """Read and index a version of the table: a file that never changes."""
        return _indexed(self, version)

    def read(self, path: Location, suffix: str | None = None) -> IndexedTable:
        """Read and index the table's current state from a file; the format is as in `TableSource.read`."""
        table = self.table.read(path, path.read_bytes(), suffix)
        return IndexedTable(table, _SEARCHES[self.method](table.shapes, self.condition))


@lru_cache(_VERSIONS)
def _indexed(lookup: TableLookup, version: Location) -> IndexedTable:
    return lookup.read(version)


def _indexed_search(shapes: Shapes, condition: Condition) -> TableSearch:
    """Return the fastest search; for disjoint rows within a distance, the search that joins of streams use."""
    if condition.limit is None:
        return TableIndex.from_shapes(shapes, condition.relation)
    if condition.relation == DWITHIN:
        return RowSearch.of_shapes(shapes, condition)
    return LocalIndex.from_geometries(geometries_of(shapes), condition)


@dataclass(frozen=True, eq=False)
class _NestedLoops:
    rows: Geometries
    condition: Condition

    @staticmethod
    def from_shapes(shapes: Shapes, condition: Condition) -> TableSearch:
        return _NestedLoops(geometries_of(shapes), condition)

    def matches(self, left: Geometries) -> Pairs:
        return nested_loops(left, self.rows, self.condition)


_SEARCHES: dict[str, Callable[[Shapes, Condition], TableSearch]] = {
    "indexed": _indexed_search,
    "native": _NestedLoops.from_shapes,
    "external": ExternalSearch.from_shapes,
}
