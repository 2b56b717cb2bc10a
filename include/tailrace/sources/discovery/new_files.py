"""Finds the new files of a source. The cost grows with the number of new files, as closed partitions are not listed.

The listing of an open directory is compared with the last one by the number of names and the sum of their hashes. Only
names after the last taken one, or a difference, cause more work.
"""

from __future__ import annotations

import heapq
import time
from collections.abc import Callable, Iterable, Iterator
from itertools import islice

from tailrace.sources.discovery.object_files import ObjectFile
from tailrace.sources.discovery.open_partitions import OpenPartitions, is_before
from tailrace.sources.discovery.source_directory import Entry, require_name
from tailrace.sources.discovery.taken_files import TakenFiles
from tailrace.sources.reading_progress import ReadFile

MOST_PENDING = 100_000
"""The most new files that a listing remembers in a live run, so that a long backlog is not listed repeatedly."""

PROGRESS_EVERY = 10_000
"""The number of entries of a listing between progress reports."""

PAGE = 1000  # objects that a store lists by one request; each poll lists at most this number again
_WHOLE_EVERY_S = 60.0  # between complete listings of a long prefix
_STILL_NS = 3_000_000_000  # a directory's change time proves that nothing was added only if it is older than this
_RELIST_EVERY_S = 10.0  # the longest time without listing a directory, even if it does not seem to change


class NewFiles:
    """Lists the files of a source that were not taken yet, in the order of their paths.

    Parameters
    ----------
    partitions : OpenPartitions
        The files that were taken.
    suffixes : tuple of str
        The suffixes of the files' names.
    on_progress : callable
        Called repeatedly while a long directory is listed.

    Attributes
    ----------
    listed_partial : int
        The number of partly read files in the last listing.
    """

    def __init__(
        self, partitions: OpenPartitions, suffixes: tuple[str, ...], on_progress: Callable[[], None] = lambda: None
    ) -> None:
        self.partitions, self._suffixes, self._on_progress = partitions, suffixes, on_progress
        self._live, self._begun_with = partitions.record is not None, partitions.boundary
        self._pending: list[Entry] = []
        self._late: dict[str, Entry] = {}
        self._states: list[tuple[ReadFile, ObjectFile]] = []
        self._unchanged: dict[str, tuple[int, float]] = {}
        self._visited: set[str] = set()
        self._found = self.listed_partial = 0
        self._whole_due_s, self._is_cut = 0.0, False

    def find(self, now_s: float) -> list[Entry]:
        """Return the new files, partly read ones first; in a live run only the first ones of very many."""
        if len(self._pending) < max(MOST_PENDING // 10, 1):
            entries = self._after_last(now_s)
            pending = self._first(self._walk("", now_s) if entries is None else entries)
            for entry in pending:
                require_name(f"{self.partitions.source.prefix}{entry.name}", self._suffixes)
            self._pending = pending
        partial = [Entry(path, False) for path in self.partitions.partial]
        return partial + [self._late[path] for path in sorted(self._late)] + self._pending

    def add_late(self, entry: Entry) -> None:
        """Add a new file of a closed partition."""
        self._late[entry.name] = entry

    def drop(self, paths: Iterable[str]) -> None:
        """Remove files from those that `find` returns."""
        dropped = set(paths)
        self._pending = [entry for entry in self._pending if entry.name not in dropped]
        for path in dropped & self._late.keys():
            del self._late[path]

    def listed_states(self) -> list[tuple[ReadFile, ObjectFile]]:
        """Return the taken objects that were listed since the last call, with their listed state."""
        states, self._states = self._states, []
        return states

    def _first(self, entries: Iterable[Entry]) -> list[Entry]:
        if self._live:
            return heapq.nsmallest(MOST_PENDING, entries, key=lambda entry: entry.name)
        return sorted(entries, key=lambda entry: entry.name)

    def _walk(self, directory: str, now_s: float, beside: int = 0) -> Iterator[Entry]:
        """Yield the new files in a directory and its open partitions; of very many only the first partitions'.

        `beside` is the number of files found in the directories above, which may come after the partitions' files.
        """
        if not directory:
            self._found, self.listed_partial, self._visited, self._is_cut = 0, 0, set(), False
        names, found_before = list[str](), self._found
        yield from self._new_in(directory, names, now_s)
        beside += self._found - found_before
        for path in sorted(f"{directory}{name}/" for name in names):
            if self.partitions.is_closed(path):
                continue
            if is_before(path, self._begun_with):  # its files may be in the record
                self.partitions.close_unseen(path)
                continue
            if self._live and self._found - beside >= MOST_PENDING:
                self._is_cut = True
                return
            yield from self._walk(path, now_s, beside)
        if not (directory or self._is_cut):
            for path, taken in self.partitions.taken.items():
                if path not in self._visited:  # the whole partition is gone
                    taken.listed = taken.hashes = 0

    def _new_in(self, directory: str, names: list[str], now_s: float) -> Iterator[Entry]:
        """Yield the new files directly in a directory, and append the names of its partitions to a list."""
        taken = self.partitions.taken.get(directory) or TakenFiles("")
        last, count, hashes, found_before = taken.last, 0, 0, self._found
        try:
            changed_ns = self.partitions.source.changed_at(directory) if self._live and taken else None
            before_ns, due_s = self._unchanged.get(directory, (None, 0.0))
            if changed_ns is not None and changed_ns == before_ns and now_s < due_s:
                self._visited.add(directory)
                return
            for entry in self._entries(directory):
                if entry.is_partition:
                    names.append(entry.name)
                elif entry.name > last:
                    yield from self._new(directory, entry)
                else:
                    count += 1
                    hashes += hash(entry.name)
                    if entry.file is not None and (before := taken.get(entry.name)) is not None:
                        self._states.append((before, entry.file))
        except FileNotFoundError:
            if not directory:
                raise
            return
        self._visited.add(directory)
        if (count, hashes) != (taken.listed, taken.hashes):
            yield from self._compare(directory, taken)
        elif changed_ns is not None and not names and self._found == found_before and _is_old(changed_ns):
            self._unchanged[directory] = changed_ns, now_s + _RELIST_EVERY_S

    def _compare(self, directory: str, taken: TakenFiles) -> Iterator[Entry]:
        """Yield files that were not taken, with names up to the last taken one; record which taken files exist."""
        listed = hashes = 0
        entries = (each for each in self._entries(directory) if not each.is_partition and each.name <= taken.last)
        while chunk := list(islice(entries, PROGRESS_EVERY)):
            unknown = set(taken.unknown([entry.name for entry in chunk]))
            for entry in chunk:
                if entry.name in unknown:
                    yield from self._new(directory, entry)
                else:
                    listed += 1
                    hashes += hash(entry.name)
        taken.listed, taken.hashes = listed, hashes

    def _new(self, directory: str, entry: Entry) -> Iterator[Entry]:
        path = f"{directory}{entry.name}"
        if path in self.partitions.partial:
            self.listed_partial += 1
            return
        self._found += 1
        yield Entry(path, False, entry.file)

    def _after_last(self, now_s: float) -> Iterator[Entry] | None:
        """Return the files after the last one; None if a complete listing is quick or due.

        Return None, too, if the store can't list in this way.
        """
        known = self.partitions.known
        if not self._live or known <= PAGE:
            return None
        if now_s >= self._whole_due_s:
            self._whole_due_s = now_s + _WHOLE_EVERY_S * (1 + known / 100_000)
            return None
        last = max(f"{directory}{taken.last}" for directory, taken in self.partitions.taken.items())
        listing = self.partitions.source.after(last)
        return None if listing is None else (new for entry in listing for new in self._new("", entry))

    def _entries(self, directory: str) -> Iterator[Entry]:
        for number, entry in enumerate(self.partitions.source.entries(directory)):
            if number % PROGRESS_EVERY == 0:
                self._on_progress()
            yield entry


def _is_old(changed_ns: int) -> bool:
    """Test whether any later change of a directory gets a later change time, even with a coarse clock."""
    return time.time_ns() - changed_ns > _STILL_NS
