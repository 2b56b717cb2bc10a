"""Lists the queries that have a stream in a warehouse."""

from __future__ import annotations

from collections.abc import Sequence

from tailrace.ground.errors import refuse
from tailrace.ground.files.object_path import Location
from tailrace.ground.near_names import nearest
from tailrace.ground.query_names import is_query_name
from tailrace.storage.layout import Layout

_SHOWN = 5
"""The most names of queries in a message."""


def begun(warehouse: Location) -> list[str]:
    """Return the names of the queries with a stream in a warehouse, sorted."""
    homes = warehouse.glob("[a-z]*")
    return sorted(home.name for home in homes if is_query_name(home.name) and Layout(home).stream.is_dir())


def require_named(layout: Layout) -> None:
    """Refuse a name that no query of the warehouse has, and a stream of another format.

    Raises
    ------
    Refused
        With the existing names.
    """
    if not is_query_name(layout.home.name) or not layout.stream.is_dir():
        remedy = f"{in_words(layout, begun(layout.home.parent))}, or the query's file in place of its name"
        raise refuse(str(layout.home), "the warehouse has no query of this name", remedy)
    layout.require_format()


def in_words(layout: Layout, names: Sequence[str]) -> str:
    """Return in words which queries a warehouse has, first the one whose name is nearest to a wrong one."""
    near = nearest(layout.home.name, names)
    ordered = sorted(names, key=lambda name: name != near)
    return (
        " or ".join(ordered[:_SHOWN]) if names else f"another warehouse than {layout.home.parent}, which has no answers"
    )
