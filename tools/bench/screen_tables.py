"""Tables of a measurement on the terminal, with ratios before the other figures, since they are the result."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from bench.page import cell
from bench.progress import Row
from tailrace.terminal.tables import print_table

_RATIO = "×"


def print_tables(tables: Mapping[str, Sequence[Row]], wide: bool) -> None:
    """Print tables below their names; unless they are `wide`, with the columns that fit the terminal."""
    for name, rows in tables.items():
        if rows:
            columns = in_order(rows[0])
            print_table(columns, [[cell(column, row[column]) for column in columns] for row in rows], wide, title=name)


def in_order(row: Row) -> list[str]:
    """Return the columns of rows like this one: settings, then ratios, then the rest."""
    figures = [column for column, value in row.items() if isinstance(value, float)]
    first = list(row).index(figures[0]) if figures else len(row)
    return sorted(row, key=lambda column: (list(row).index(column) >= first) * (1 if _RATIO in column else 2))
