"""Columns of a source for tests: a kind's values, and carried columns, by name in the tuple."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pyarrow as pa

from tailrace.kind.column_use import IDENTITY, JOIN, ColumnUse
from tailrace.sources.columns import SourceMapping

NO_TYPES: Mapping[str, pa.DataType] = {}


def source_mapping(
    event_time: str,
    arrival_time: str | None,
    id_: str,
    key: str | tuple[str, ...] | None = None,
    values: Mapping[str, str] | None = None,
    carried: Mapping[str, str] | None = None,
    types: Mapping[str, pa.DataType] = NO_TYPES,
    **options: Any,
) -> SourceMapping:
    """The columns of a source; values are doubles where `types` has no other type, and no event time is too far off."""
    own = {"event_time": event_time, "arrival_time": arrival_time, "id": id_, "key": key}
    bounds = {"earliest_ms": 0, "ahead_ms": 0}
    return with_uses(SourceMapping(**own | bounds | options), values or {}, carried or {}, types)  # type: ignore[arg-type]


def with_uses(
    columns: SourceMapping,
    values: Mapping[str, str] | None = None,
    carried: Mapping[str, str] | None = None,
    types: Mapping[str, pa.DataType] = NO_TYPES,
    **options: Any,
) -> SourceMapping:
    """The same with other values, other types of them, or other carried columns."""
    own = [use for use in columns.uses if use.dtype is not None]
    if values is not None:
        own = [ColumnUse(name, JOIN, part=part, dtype=pa.float64()) for part, name in values.items()]
    further = [use for use in columns.uses if use.dtype is None]
    if carried is not None:
        further = [ColumnUse(name, IDENTITY, part=part) for part, name in carried.items()]
    own = [use._replace(dtype=types.get(use.part, use.dtype)) for use in own]
    return replace(columns, uses=(*own, *further), **options)
