"""Views of queries for the panels, and the versions of answers in plain Python, from the tables' rows alone."""

from __future__ import annotations

from collections import defaultdict
from pathlib import Path
from typing import Any

from tailrace.panels.query_view import QueryView
from tailrace.query.query import Query
from tailrace.storage.layout import Layout
from tailrace.storage.tables import Tables

Row = dict[str, Any]


def view_of(query: Query, warehouse: Path, file: Path | None = None) -> QueryView:
    """The view of a query that no file declares."""
    view = QueryView(Layout.for_query(warehouse, query.name), file)
    view.__dict__["query"] = query
    return view


def horizon_of(row: Row) -> int:
    return row["window_end"] if "window_end" in row else max(row["left_time"], row["right_time"] or row["left_time"])


def identity_of(row: Row) -> tuple:
    names = ("key", "window_end") if "key" in row else ("left_id", "right_id", "window_end")
    return tuple(row[name] for name in names if name in row)


def all_versions(tables: Tables) -> dict[tuple, list[tuple[int, bool, list[Row]]]]:
    """Of each answer the versions in order: as_of, whether a correction gave it, and its rows; none: retracted."""
    found: dict[tuple, dict[tuple, list[Row]]] = defaultdict(dict)
    for name in ("results", "corrections"):
        for row in tables.read(name).to_pylist() if tables.has(name) else ():
            version = (row["as_of"], name == "corrections", row.get("interval"))
            found[identity_of(row)].setdefault(version, []).append(row)
    return {
        answer: [
            (as_of, corrected, [row for row in rows if not row.get("retracted")])
            for (as_of, corrected, _), rows in sorted(versions.items(), key=lambda item: item[0][:2])
        ]
        for answer, versions in found.items()
    }


def lacks(late: list[Row], answer: tuple, version: tuple[int, bool, list[Row]], size: int) -> int:
    """The number of late tuples, of the rows of `late`, that a version of a window lacks; of pairs none."""
    if isinstance(answer[1], str):
        return 0
    key, end = answer
    held_until = version[0] if version[1] else -1
    return sum(
        row["tuples"]
        for row in late
        if row["key"] == key
        and end - size <= row["pane_start"] < end <= row["frontier"]
        and row["arrived"] > held_until
    )
