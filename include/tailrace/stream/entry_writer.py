"""Appends entries to the journal, and retries an unconfirmed one unchanged."""

from __future__ import annotations

from collections.abc import Callable

from tailrace.storage.holding import RequireHeld
from tailrace.storage.journal import BatchRecord, Journal


class EntryWriter:
    """Appends the entries of one driver, which are made one at a time.

    A reply of an object store may be lost, and a disk may fail after it has written. Another entry of the same number
    would be refused then, as if it were another driver's.

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
        """Append an entry, and call `and_then` once it is there; one whose writing fails is kept for `write_again`."""
        self._unconfirmed = entry, and_then
        self.require_held()
        self.journal.append(entry)
        self.last, self._unconfirmed = entry, None
        and_then()
        return entry

    def write_again(self) -> BatchRecord | None:
        """Append the entry whose writing failed; None where there is none."""
        return None if self._unconfirmed is None else self.write(*self._unconfirmed)
