"""Appends entries to the journal, and retries an unconfirmed one unchanged."""

from __future__ import annotations

from collections.abc import Callable

from tailrace.storage.holding import RequireHeld
from tailrace.storage.journal import BatchRecord, Journal


class EntryWriter:
    """Appends the entries of one driver, one at a time.

    An object store's reply may be lost, and a disk may fail after writing. A different entry with the same number would
    then be refused like another driver's.

    Attributes
    ----------
    last : BatchRecord or None
        The journal's newest entry.
    require_held : callable
        Called before an entry is written: raises an error where another driver may have taken over.
    """

    def __init__(self, journal: Journal, require_held: RequireHeld = lambda: None) -> None:
        self.journal, self.last, self.require_held = journal, journal.last(), require_held
        self._unconfirmed: tuple[BatchRecord, Callable[[], None]] | None = None

    def write(self, entry: BatchRecord, and_then: Callable[[], None]) -> BatchRecord:
        """Append an entry, and call `and_then` once it is written.

        An entry whose writing fails is kept for `write_again`.
        """
        self._unconfirmed = entry, and_then
        self.require_held()
        self.journal.append(entry)
        self.last, self._unconfirmed = entry, None
        and_then()
        return entry

    def write_again(self) -> BatchRecord | None:
        """Append the entry whose writing failed; return None without one."""
        return None if self._unconfirmed is None else self.write(*self._unconfirmed)
