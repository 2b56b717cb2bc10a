"""The ends of time: of the calendar that can be printed, and of all that is compared. In integer milliseconds."""

from __future__ import annotations

EARLIEST_MS, LATEST_MS = -62_135_596_800_000, 253_402_300_799_999
"""The first and the last millisecond that `format_time` can print, and tables can be searched for: years 1 to 9999."""

BEFORE_ALL, AFTER_ALL = -(1 << 60), 1 << 60
"""Earlier, and later, than any time, tick or pane; small enough that windows and durations can be added."""
