"""Time zones of a source's times: which times state theirs, and the meaning of times without one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tailrace.ground.errors import Problem

if TYPE_CHECKING:
    from tailrace.sources.columns import SourceMapping

WITH_ZONE, WITHOUT_ZONE = "text with zone", "text without zone"
"""Types of text columns with times: the first record has an offset or a Z, or it has none."""

_ZONE = r"\d[T ]\d.*([zZ]|[+-]\d{2}(:?\d{2})?)\s*$"


def has_zone(texts: pa.Array) -> NDArray[np.bool_]:
    """Test which ISO 8601 texts state their offset from UTC; null: no."""
    ends = pc.ends_with(texts, "Z")
    if pc.all(ends, min_count=0).as_py():  # nulls are ignored
        return np.asarray(pc.fill_null(ends, False))
    return np.asarray(pc.fill_null(pc.match_substring_regex(texts, _ZONE), False))


def type_of_text(text: str) -> str:
    """Return the type of a column of times, given a text of it."""
    return WITH_ZONE if has_zone(pa.array([text]))[0] else WITHOUT_ZONE


def zone_of_type(type_name: str) -> bool | None:
    """Return whether times of a type have a zone; None for integers, which are epoch milliseconds."""
    if type_name.startswith("timestamp"):
        return "tz=" in type_name
    return {WITH_ZONE: True, WITHOUT_ZONE: False}.get(type_name)


def zone_problems(sources: Mapping[str, SourceMapping], types: Mapping[str, Mapping[str, str]]) -> Iterator[Problem]:
    """Yield a problem if some times of a query state a zone and others don't, and the query declares none for these.

    `types` has the types of each stream's columns.
    """
    times = list(_times(sources, types))
    zoned = [f"{columns.stream}.{name}" for columns, name, zone in times if zone]
    for columns, name, zone in times:
        if zoned and not zone and columns.timezone is None:
            fault = f"its times have no zone, and those of {zoned[0]} have one"
            yield Problem(f"streams.{columns.stream}: column {name}", fault, "timezone: UTC, or the zone of its clocks")


def times_as_utc(sources: Mapping[str, SourceMapping], types: Mapping[str, Mapping[str, str]]) -> dict[str, list[str]]:
    """Return by stream the columns of times without a zone that are read as UTC because no zone is declared."""
    without_offset: dict[str, list[str]] = {}
    for columns, name, has_zone_of_its_own in _times(sources, types):
        if not has_zone_of_its_own and columns.timezone is None:
            without_offset.setdefault(columns.stream, []).append(name)
    return without_offset


def local_zones(
    sources: Mapping[str, SourceMapping], types: Mapping[str, Mapping[str, str]]
) -> Iterator[tuple[str, str]]:
    """Yield the streams whose event times have no zone of their own, each with the zone that it declares."""
    for columns, name, has_zone_of_its_own in _times(sources, types):
        if name == columns.event_time and not has_zone_of_its_own and columns.timezone is not None:
            yield columns.stream, columns.timezone


def _times(
    sources: Mapping[str, SourceMapping], types: Mapping[str, Mapping[str, str]]
) -> Iterator[tuple[SourceMapping, str, bool]]:
    """Yield the columns of times: source, name, and whether they state their zone; integers have no zone."""
    for stream, columns in sources.items():
        for name in (columns.event_time, columns.arrival_time):
            if name is not None and (zone := zone_of_type(types[stream].get(name, ""))) is not None:
                yield columns, name, zone
