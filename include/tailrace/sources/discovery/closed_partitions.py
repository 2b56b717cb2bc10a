"""Checks a source's closed partitions again for late, changed and removed files."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from itertools import islice

from tailrace.sources.discovery.open_partitions import OpenPartitions, TakenRecord, directory_of
from tailrace.sources.discovery.source_directory import Entry, SourceDirectory
from tailrace.sources.discovery.taken_files import TakenFiles
from tailrace.sources.reading_progress import ReadFile

PAUSE_S = 600.0
"""Seconds between checks of closed partitions; those existing at a start are checked without pauses."""

_SOON_S = 10.0  # between checks whether there is a closed partition

Look = tuple[ReadFile | None, Entry | None]
"""The state of a file when it was taken (None if new), and as listed now (None if gone)."""


class ClosedPartitions:
    """Checks closed partitions in turn, some files of one partition per call.

    Parameters
    ----------
    at_once : int
        Files checked per call.
    """

    def __init__(self, partitions: OpenPartitions, record: TakenRecord, at_once: int) -> None:
        self._partitions, self._record, self._at_once = partitions, record, at_once
        self._left: deque[str] = deque()
        self._steps: Iterator[list[Look]] | None = None
        self._due_s = 0.0

    def look(self, now_s: float) -> list[Look]:
        """Return the next files to check; none while it pauses."""
        if self._steps is None and (directory := self._next(now_s)) is not None:
            self._steps = self._below(directory)
        if self._steps is None:
            return []
        steps, self._steps = self._steps, None  # after a failure, the next call continues with the next partition
        files = next(steps, None)
        if files is not None:
            self._steps = steps
            return files
        self._due_s = now_s + PAUSE_S
        return []

    def _next(self, now_s: float) -> str | None:
        """Return the partition to check now; None while it pauses."""
        if self._partitions.unseen:
            return self._partitions.unseen.popleft()
        if now_s < self._due_s:
            return None
        if not self._left:
            self._left += self._partitions.closed
        if not self._left:
            self._due_s = now_s + _SOON_S
            return None
        return self._left.popleft()

    def _below(self, directory: str) -> Iterator[list[Look]]:
        """Yield the files in a partition and below, some at a time."""
        prefix = f"{self._partitions.source.prefix}{directory}"
        recorded = TakenFiles(prefix, self._record.files(prefix))
        partitions: list[str] = []
        listed = 0
        try:
            entries = self._partitions.source.entries(directory)
            while chunk := list(islice(entries, self._at_once)):
                partitions += [f"{directory}{entry.name}/" for entry in chunk if entry.is_partition]
                files = [entry for entry in chunk if not entry.is_partition]
                looks: list[Look] = [
                    (recorded.get(entry.name), Entry(f"{directory}{entry.name}", False, entry.file)) for entry in files
                ]
                listed += sum(before is not None for before, _ in looks)
                yield looks
        except FileNotFoundError:
            listed = 0
        if listed < len(recorded):
            yield self._missing(directory, recorded)
        for partition in sorted(partitions):
            yield from self._below(partition)

    def _missing(self, directory: str, recorded: TakenFiles) -> list[Look]:
        """Return the first of the files taken from a partition that are no longer listed."""
        try:
            names = {entry.name for entry in self._partitions.source.entries(directory)}
        except FileNotFoundError:
            names = set()
        gone: list[Look] = [(recorded.get(name), None) for name in recorded.names() if name not in names]
        return gone[: self._at_once]


def oldest_open(source: SourceDirectory, newest: str) -> str:
    """Return the partition before the newest path's; its own if it is the first."""
    *partitions, _ = newest.split("/")
    for depth in reversed(range(len(partitions))):
        parent, own = "".join(f"{name}/" for name in partitions[:depth]), f"{partitions[depth]}/"
        if before := [name for name in _partitions(source, parent) if name < own]:
            directory = parent + max(before)
            while below := _partitions(source, directory):
                directory += max(below)
            return directory
    return directory_of(newest)


def _partitions(source: SourceDirectory, directory: str) -> list[str]:
    try:
        return [f"{entry.name}/" for entry in source.entries(directory) if entry.is_partition]
    except FileNotFoundError:  # of a source that is unavailable; it is checked later
        return []
