"""The structure of a query: the part of its declaration that a checkpoint is bound to."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from tailrace.ground.duration import format_duration
from tailrace.sources.declared_source import SOURCE_PLACE

if TYPE_CHECKING:
    from tailrace.query.query import Query

TABLE_PLACE = {"path", "format", "connection", "table"}
"""The fields with a table's location, which may change after a checkpoint was created."""


def structure_of(query: Query) -> dict[str, Any]:
    """Return the part of a query's declaration that a checkpoint is bound to, as values by field path.

    It leaves out settings of time (`disorder`, except its tick and `deduplicate`; `correction`), locations (a source's
    fields in `SOURCE_PLACE`; `answers`), `alerts` and `elasticity`. Two declarations may share a checkpoint if their
    structures are equal; paths with unequal values name the changes. Bounds include defaults, as corrections read the
    source's records again with them.
    """
    exclusions: Any = {
        "disorder": True,
        "correction": True,
        "calibration": True,
        "alerts": True,
        "answers": True,
        "elasticity": True,
        "streams": {"__all__": {"source": SOURCE_PLACE, "lookup": {"__all__": TABLE_PLACE}}},
    }
    declaration = query.model_dump(mode="json", exclude=exclusions)
    declaration |= {"disorder": {"tick": query.tick_ms, "deduplicate": query.disorder.deduplicate}}
    for name, stream in query.streams.items():
        declared = declaration["streams"][name]
        declared["bounds"]["ahead"] = format_duration(query.ahead_ms(stream))
        del declared["null_key"]
        if stream.key is not None:
            declared["null_key"] = "group" if stream.groups_nulls else "quarantine"
        for field, named in (("lookup", stream.lookup), ("column", stream.columns)):
            if len(named) > 1:  # each expression sees the columns above it
                declared[f"{field}_order"] = list(named)
    return dict(_flatten(declaration))


def _flatten(section: dict[str, Any], path: str = "") -> Iterator[tuple[str, Any]]:
    for name, value in section.items():
        if isinstance(value, dict):
            yield from _flatten(value, f"{path}{name}.")
        else:
            yield path + name, value
