"""Time zones of a source's times: which ones state theirs, and what times without one mean."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tailrace.ground.errors import Problem

WITH_ZONE, WITHOUT_ZONE = "text with zone", "text without zone"
"""Types of columns of texts that are times, by the first record: with an offset or a Z, or without."""

_OFFSETS_MS = -2_208_988_800_000, 7_258_118_400_000
"""The years 1900 to 2200, for which offsets from UTC are looked up."""

_ZONE = r"\d[T ]\d.*([zZ]|[+-]\d{2}(:?\d{2})?)\s*$"


def has_zone(texts: pa.Array) -> NDArray[np.bool_]:
    """Test which ISO 8601 texts state their offset from UTC; null: no."""
    ends = pc.ends_with(texts, "Z")
    if pc.all(ends, min_count=0).as_py():  # nulls aside
        return np.asarray(pc.fill_null(ends, False))
    return np.asarray(pc.fill_null(pc.match_substring_regex(texts, _ZONE), False))


def type_of_text(text: str) -> str:
    """Return the type of a column of times by a text of it."""
    return WITH_ZONE if has_zone(pa.array([text]))[0] else WITHOUT_ZONE


def zone_of_type(type_name: str) -> bool | None:
    """Return whether times of a type state their zone; None of integers, which are epoch milliseconds."""
    if type_name.startswith("timestamp"):
        return "tz=" in type_name
    return {WITH_ZONE: True, WITHOUT_ZONE: False}.get(type_name)


def localised(times_ms: NDArray[np.int64], timezone: str) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return the epoch milliseconds of local times of a time zone, and which of them never were: clocks went forward.

    Of a local time that comes twice, when clocks go back, it is the first.
    """
    import pandas as pd  # noqa: PLC0415 (few streams need it)

    of_calendar = np.clip(times_ms, *_OFFSETS_MS)  # beyond it, the offset at its ends
    local = pd.DatetimeIndex(of_calendar.astype("datetime64[ms]"))
    first = np.ones(len(local), bool)
    known = local.tz_localize(timezone, ambiguous=first, nonexistent="NaT")
    gap = np.asarray(known.isna())
    utc = known.tz_convert("UTC").tz_localize(None).to_numpy().astype("datetime64[ms]").astype(np.int64)
    return np.where(gap, times_ms, times_ms + utc - of_calendar), gap


def zone_problems(
    columns: Mapping[str, tuple[str | None, ...]],
    types: Mapping[str, Mapping[str, str]],
    timezones: Mapping[str, str | None],
) -> Iterator[Problem]:
    """Yield a problem where some times of a query state their zone, others don't, and nothing says what these mean.

    Parameters
    ----------
    columns : dict
        The columns of times of each stream, by the stream's name.
    types : dict
        The types of each stream's columns.
    timezones : dict
        What times without a zone mean, by the stream's name; None where that is not declared.
    """
    time_columns = [
        (stream, name, zone)
        for stream, names in columns.items()
        for name in names
        if name is not None and name in types[stream] and (zone := zone_of_type(types[stream][name])) is not None
    ]
    zoned = [f"{stream}.{name}" for stream, name, zone in time_columns if zone]
    for stream, name, zone in time_columns:
        if zoned and not zone and timezones[stream] is None:
            fault = f"its times have no zone, and those of {zoned[0]} have one"
            yield Problem(f"streams.{stream}: column {name}", fault, "timezone: UTC, or the zone of its clocks")
