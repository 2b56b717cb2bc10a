"""Encodes integers as texts that sort in numeric order, for a column that holds integers and strings."""

from __future__ import annotations

_BIAS = 1 << 63  # added, so that every int64 becomes non-negative
_DIGITS = len(str((1 << 64) - 1))


def to_sortable_text(number: int) -> str:
    """Return an int64 as text of fixed width."""
    return f"{number + _BIAS:0{_DIGITS}d}"


def from_sortable_text(text: str) -> int:
    """Return the integer of a text that `to_sortable_text` made."""
    return int(text) - _BIAS
