"""Values as plain JSON that a browser reads without loss."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from tailrace.ground.number_types import EXACT
from tailrace.panels.cells import cut


def plain(value: Any) -> Any:
    """Return a value as plain JSON: text, numbers, booleans and null, lists and mappings of these.

    Integers beyond 2^53, which JavaScript would round, become text; NaN and infinity, which JSON lacks, become null.
    Other values, such as decimals and dates, become text, and long texts are cut.
    """
    if value is None or isinstance(value, bool):
        return value
    if isinstance(value, int):
        return value if abs(value) <= EXACT else str(value)
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(name): plain(each) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [plain(each) for each in value]
    return cut(str(value))


def text_of(value: Any) -> str | None:
    """Return a key or an id as text; null stays null."""
    return None if value is None else str(plain(str(value)))
