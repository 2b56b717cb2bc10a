"""The fields of a query file that name columns of its stream, for refusals of those that are not there."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tailrace.query.query import Query

_NAMING = ("column", "score", "select")
"""The fields of a kind's section that name columns, one or a list."""


def column_fields(query: Query) -> dict[str, str]:
    """Return the first field of the kind's section that names each column: aggregate.revenue.column."""
    found: dict[str, str] = {}
    for column, field in _named(query.kind, query.model_dump(mode="json").get(query.kind)):
        found.setdefault(column, field)
    return found


def _named(path: str, section: Any) -> Iterator[tuple[str, str]]:
    if not isinstance(section, Mapping):
        return
    for name, value in section.items():
        field = f"{path}.{name}"
        if name in _NAMING and isinstance(value, str | list):
            yield from ((each, field) for each in ([value] if isinstance(value, str) else value))
        else:
            yield from _named(field, value)
