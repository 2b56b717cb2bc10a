"""Time constants in integer milliseconds: the bounds of printable times, and sentinels beyond every time."""

from __future__ import annotations

EARLIEST_MS, LATEST_MS = -62_135_596_800_000, 253_402_300_799_999
"""The first and the last millisecond that can be printed, and searched for in tables: years 1 to 9999.
"""

BEFORE_ALL, AFTER_ALL = -(1 << 60), 1 << 60
"""Sentinels before and after any time, tick or pane; small enough that adding windows and durations cannot overflow."""
