"""The field of a query file with a distance: a length on the ground with its unit, or a bare number in the plane."""

from __future__ import annotations

import math
import re
from typing import Annotated, Any

from pydantic import BeforeValidator, WithJsonSchema

from tailrace.ground.fields import field_error

_METRES = {"m": 1.0, "km": 1000.0}
_LENGTH = re.compile(r"(\d+(?:\.\d+)?)\s*(m|km)")


def _validate_distance(value: Any) -> Any:
    if isinstance(value, str) and _LENGTH.fullmatch(value.strip()) and math.isfinite(limit_of(value)):
        return value
    try:
        number = math.nan if isinstance(value, bool) else float(value)  # a file may contain numbers as text
    except (TypeError, ValueError):
        number = math.nan
    if 0 <= number < math.inf:
        return number
    raise field_error(
        f"{value!r} is no distance", "a length with its unit, 500 m or 1 km; with crs: planar a bare number"
    )


Distance = Annotated[
    float | str,
    BeforeValidator(_validate_distance),
    WithJsonSchema({"type": ["string", "number"], "minimum": 0, "pattern": rf"^\s*{_LENGTH.pattern}\s*$"}),
]
"""A distance as written: a length with its unit, or a bare number."""


def limit_of(distance: float | str) -> float:
    """Return the distance as a number; a length in metres."""
    if not isinstance(distance, str):
        return float(distance)
    match = _LENGTH.fullmatch(distance.strip())
    assert match is not None
    return float(match[1]) * _METRES[match[2]]
