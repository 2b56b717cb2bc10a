"""The retention of files removed in a table's log: seven days, or less if that would be very many files."""

from __future__ import annotations

from deltalake import DeltaTable

_PROPERTIES = ("delta.logRetentionDuration", "delta.deletedFileRetentionDuration")
_HOURS = (168, 96, 48, 24, 12, 6, 3, 1)
MOST_FILES = 5_000
"""The most removed files that a log should remember, as every opening of the table (in each batch) reads them.
"""


def properties(hours: int = _HOURS[0]) -> dict[str, str]:
    """Return the table properties that keep removed files, and the log entries about them, for some hours."""
    return dict.fromkeys(_PROPERTIES, f"interval {hours} hours")


def adapt_retention(table: DeltaTable) -> None:
    """Set the longest retention of a table that keeps the number of remembered removed files within bounds.

    A retention that somebody has set by the table's properties is kept.
    """
    configuration = table.metadata().configuration
    present = {name: configuration.get(name) for name in _PROPERTIES}
    if present not in [properties(hours) for hours in _HOURS]:
        return
    removed = _removed(table, 0)
    wanted = next((hours for hours in _HOURS if removed - _removed(table, hours) <= MOST_FILES), _HOURS[-1])
    if present != properties(wanted):
        table.alter.set_table_properties(properties(wanted))


def _removed(table: DeltaTable, hours: int) -> int:
    """Return the number of files that the log remembers as removed at least `hours` hours ago."""
    return len(table.vacuum(retention_hours=hours, dry_run=True, enforce_retention_duration=False))
