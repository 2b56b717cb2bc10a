"""Time zones of a source's times: which times state theirs, and the meaning of times without one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tailrace.ground.errors import Problem

WITH_ZONE, WITHOUT_ZONE = "text with zone", "text without zone"
"""Types of columns of texts that are times, by the first record: with an offset or a Z, or without."""

_ZONE = r"\d[T ]\d.*([zZ]|[+-]\d{2}(:?\d{2})?)\s*$"


def has_zone(texts: pa.Array) -> NDArray[np.bool_]:
    """Test which ISO 8601 texts state their offset from UTC; null: no."""
    ends = pc.ends_with(texts, "Z")
    if pc.all(ends, min_count=0).as_py():  # ignoring nulls
        return np.asarray(pc.fill_null(ends, False))
    return np.asarray(pc.fill_null(pc.match_substring_regex(texts, _ZONE), False))


def type_of_text(text: str) -> str:
    """Return the type of a column of times, given a text of it."""
    return WITH_ZONE if has_zone(pa.array([text]))[0] else WITHOUT_ZONE


def zone_of_type(type_name: str) -> bool | None:
    """Return whether times of a type state their zone; None for integers, which are epoch milliseconds."""
    if type_name.startswith("timestamp"):
        return "tz=" in type_name
    return {WITH_ZONE: True, WITHOUT_ZONE: False}.get(type_name)


def zone_problems(
    columns: Mapping[str, tuple[str | None, ...]],
    types: Mapping[str, Mapping[str, str]],
    timezones: Mapping[str, str | None],
) -> Iterator[Problem]:
    """Yield a problem if some times of a query state their zone, others don't, and their meaning is not declared.

    Parameters
    ----------
    columns : dict
        The columns of times of each stream, by the stream's name.
    types : dict
        The types of each stream's columns.
    timezones : dict
        The zone of times without one, by the stream's name; None if not declared.
    """
    time_columns = list(_time_columns(columns, types))
    zoned = [f"{stream}.{name}" for stream, name, zone in time_columns if zone]
    for stream, name, zone in time_columns:
        if zoned and not zone and timezones[stream] is None:
            fault = f"its times have no zone, and those of {zoned[0]} have one"
            yield Problem(f"streams.{stream}: column {name}", fault, "timezone: UTC, or the zone of its clocks")


def times_as_utc(
    columns: Mapping[str, tuple[str | None, ...]],
    types: Mapping[str, Mapping[str, str]],
    timezones: Mapping[str, str | None],
) -> dict[str, list[str]]:
    """Return the columns of times without a zone that are read as UTC, as no zone is declared, by stream.

    The parameters are as in `zone_problems`.
    """
    without_offset: dict[str, list[str]] = {}
    for stream, name, has_zone_of_its_own in _time_columns(columns, types):
        if not has_zone_of_its_own and timezones[stream] is None:
            without_offset.setdefault(stream, []).append(name)
    return without_offset


def _time_columns(
    columns: Mapping[str, tuple[str | None, ...]], types: Mapping[str, Mapping[str, str]]
) -> Iterator[tuple[str, str, bool]]:
    """Yield the columns of times: stream, name, and whether they state their zone; integers have no zone."""
    for stream, names in columns.items():
        for name in names:
            if name is not None and name in types[stream]:
                zone = zone_of_type(types[stream][name])
                if zone is not None:
                    yield stream, name, zone
