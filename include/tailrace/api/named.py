"""Reads the tables of a query in a warehouse, by the query's name."""

from __future__ import annotations

from dataclasses import replace

from tailrace.api.declaration import load
from tailrace.api.query import Query
from tailrace.api.rows import Rows
from tailrace.api.why_none import why_no_quality
from tailrace.correction.quality import read_named_quality
from tailrace.ground.errors import Damaged, Problem, refuse
from tailrace.storage.begun import require_named
from tailrace.storage.deployed import DeployedQuery
from tailrace.storage.layout import Layout
from tailrace.storage.opened_tables import OpenedTables
from tailrace.storage.query_file import QueryFile
from tailrace.storage.warehouses import Warehouse
from tailrace.tables.every import times_of

_FILE = "the query's file in place of its name"


def query_named(name: str, warehouse: Warehouse) -> Query:
    """Return a query of a warehouse by its name: the deployed one, or the one in the file of its last run.

    Raises
    ------
    Refused
        When the warehouse has no such query, or its file no longer exists.
    """
    layout = Layout.for_query(warehouse, name)
    require_named(layout)
    deployed = DeployedQuery.read(layout)
    if deployed is not None:
        return Query(deployed.query(), deployed.file, place=warehouse, names_options=True)
    noted = QueryFile.read(layout)
    if noted is None:
        raise refuse(name, "the warehouse does not say which file declares it", _FILE)
    if not noted.file.is_file():
        raise refuse(name, f"{noted.file}, which declared it, is gone", _FILE)
    query = load(noted.file, noted.streams, warehouse)
    if query.name != name:
        raise refuse(name, f"{noted.file}, which declared it, declares {query.name} now", _FILE)
    return replace(query, names_options=True)


def quality_named(name: str, warehouse: Warehouse) -> Rows:
    """Return the quality of a query's answers by the query's name, see `Query.quality`."""
    layout = Layout.for_query(warehouse, name)
    require_named(layout)
    rows, columns = read_named_quality(layout)
    return Rows(rows, columns, "" if rows.num_rows else why_no_quality(layout), times_of("quality"))


def rows_named(name: str, warehouse: Warehouse, table: str) -> Rows:
    """Return the rows of a table of a query's stream, by the query's name.

    Raises
    ------
    Damaged
        When the table is lost.
    """
    layout = Layout.for_query(warehouse, name)
    require_named(layout)
    tables = OpenedTables(layout)
    if not tables.has(table):
        fault = "there is no such table: the stream has run no batch, or the table is lost"
        raise Damaged([Problem(str(layout.table(table)), fault, f"tailrace run, or {_FILE}, which says more")])
    rows = tables.read(table)
    return Rows(rows, rows.column_names, times=times_of(table))
