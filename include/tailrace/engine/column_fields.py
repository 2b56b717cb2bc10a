"""The fields of a query file that name columns of a stream, for refusals of missing or unfit columns."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tailrace.aggregate.named_section import NamedAggregatesSection
from tailrace.answers.identity import SIDES
from tailrace.query.joins import EmdJoinQuery, SpatialJoinQuery
from tailrace.query.query import Query
from tailrace.query.windowed import AggregateQuery

_NAMING = ("column", "by", "other", "score", "select")
"""The fields of a kind's section that name columns, one or a list."""


def column_fields(query: Query, stream: str) -> dict[str, str]:
    """Return the first field of the kind's section that names each column of a stream: aggregate.revenue.column.

    Columns that joins select or read in conditions are not included, see `kind.inputs.Input.readers`.
    """
    field_of: dict[str, str] = {}
    for column, field in _fields(query, stream):
        field_of.setdefault(column, field)
    return field_of


def _fields(query: Query, stream: str) -> Iterator[tuple[str, str]]:
    if isinstance(query, EmdJoinQuery):
        yield query.emd_join.histogram, "emd_join.histogram"
    elif isinstance(query, SpatialJoinQuery):
        for part, column in query.spatial_join.geometry.columns(SIDES.index(stream)).named.items():
            yield column, f"spatial_join.geometry.{stream}.{part}"
    else:
        yield from _named(query.kind, query.model_dump(mode="json").get(query.kind))
    if isinstance(query, AggregateQuery) and isinstance(query.aggregate, NamedAggregatesSection):
        for each in query.aggregate.over_names.hidden.values():
            yield from ((each.section[name], each.place.field) for name in _NAMING if name in each.section)


def _named(path: str, section: Any) -> Iterator[tuple[str, str]]:
    if not isinstance(section, Mapping):
        return
    for name, value in section.items():
        field = f"{path}.{name}"
        if name in _NAMING and isinstance(value, str | list):
            yield from ((each, field) for each in ([value] if isinstance(value, str) else value))
        else:
            yield from _named(field, value)
