"""The status of a warehouse's streams, without a driver host."""

from __future__ import annotations

from tailrace.api.stream_state import COLUMNS, WarehouseStream
from tailrace.ground.errors import Problem, Refused
from tailrace.storage.begun import begun, require_named
from tailrace.storage.layout import Layout
from tailrace.storage.warehouses import Warehouse, location_of
from tailrace.terminal import screen
from tailrace.terminal.tables import print_table


def has_streams(warehouse: Warehouse, query: str | None) -> bool:
    """Test whether a warehouse has a query's stream; without a query, whether it has any."""
    names = begun(location_of(warehouse))
    return bool(names) if query is None else query in names


def missing_in(warehouse: Warehouse, query: str) -> Problem:
    """Build the refusal of a query that a warehouse lacks, with the ones that it has."""
    try:
        require_named(Layout.for_query(warehouse, query))
    except Refused as refused:
        return refused.problems[0]
    raise ValueError(f"{query} is in {warehouse}")


def print_status(warehouse: Warehouse, query: str | None, wide: bool) -> None:
    """Print the state of a query's stream; without a query, a table of all streams of the warehouse."""
    if query is not None:
        layout = Layout.for_query(warehouse, query)
        require_named(layout)
        for line in WarehouseStream.read(layout).lines():
            screen.out.print(line, markup=False, soft_wrap=True)
        return
    rows = []
    for name in begun(location_of(warehouse)):
        try:
            rows.append(WarehouseStream.read(Layout.for_query(warehouse, name)).row())
        except Refused as refused:  # other streams are still shown
            screen.refusal(refused)
            rows.append([name, "unknown", *["–"] * (len(COLUMNS) - 2)])
    print_table(COLUMNS, rows, wide)
