"""The names of the further columns of an estimated answer."""

from __future__ import annotations


def interval_names(name: str) -> tuple[str, str, str]:
    """Return the names of the columns with the ends of the interval, low and high, and with the raw answer."""
    return f"{name}_low", f"{name}_high", f"{name}_raw"
