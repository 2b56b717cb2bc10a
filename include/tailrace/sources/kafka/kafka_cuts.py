"""Cuts of a topic: ranges of its partitions' offsets, which merge their records into one log.

A cut holds the records of an interval of append time. So the log (cut after cut, and within a cut by append time,
partition and offset) is in the order of append time over all partitions, however fast each is read. Records of the same
millisecond stay together, as otherwise a later cut could contain one that should come first.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Protocol

_PATH = re.compile(r"kafka:(?P<topic>[\w.-]+)\?(?P<ranges>[\d=&-]+)\Z")

Offsets = Mapping[int, int]
"""An offset by partition."""


@dataclass(frozen=True)
class TopicCut:
    """A part of a topic: for each partition the records from its first offset up to its end, which is not included.

    It corresponds to a file in a directory, and its path names it, so that the journal can treat it like one.
    """

    topic: str
    ranges: Mapping[int, tuple[int, int]]

    @property
    def path(self) -> str:
        """Its path: ``kafka:readings?0=10-25&1=3-9``; partitions without records are included."""
        ranges = "&".join(f"{part}={start}-{end}" for part, (start, end) in sorted(self.ranges.items()))
        return f"kafka:{self.topic}?{ranges}"

    @property
    def rows(self) -> int:
        """The number of its offsets, each of which is a row even without a record."""
        return sum(end - start for start, end in self.ranges.values())

    @property
    def ends(self) -> dict[int, int]:
        """The offset after it, by partition."""
        return {part: end for part, (_, end) in self.ranges.items()}

    @staticmethod
    def of_path(path: str) -> TopicCut:
        """Return the cut that a path names.

        Raises
        ------
        ValueError
            When it is not the path of a cut.
        """
        match = _PATH.match(path)
        if match is None:
            raise ValueError(f"{path} is no cut of a topic")
        ranges: dict[int, tuple[int, int]] = {}
        for part in match["ranges"].split("&"):
            partition, _, offsets = part.partition("=")
            start, _, end = offsets.partition("-")
            ranges[int(partition)] = int(start), int(end)
        return TopicCut(match["topic"], ranges)


class OffsetsByTime(Protocol):
    """Finds the offset of a time in partitions."""

    def offsets_at(self, partitions: list[int], time_ms: int) -> Offsets:
        """Return the offset of the first record with a timestamp at or after a time, by partition; -1 without one."""


def known_until(newest_ms: Offsets, awaited: list[int]) -> int | None:
    """Return the append time (ms) before which awaited partitions bring no further record; None if no bound is needed.

    It is the least of the newest append times of the awaited partitions, as more records of the same millisecond may
    come. A single partition waits for none, as its records come in order.
    """
    return min(newest_ms[part] for part in awaited) if len(awaited) > 1 else None


def ends_at(log: OffsetsByTime, before: Offsets, ends: Offsets, time_ms: int) -> dict[int, int]:
    """Return the offsets at which a cut at an append time ends, between `before` and `ends`."""
    return _between(before, log.offsets_at(sorted(ends), time_ms), ends)


def ends_known(log: OffsetsByTime, before: Offsets, ends: Offsets, awaited: list[int], until_ms: int) -> dict[int, int]:
    """Return the offsets up to which a topic is known; awaited partitions count at most up to an append time.

    They are earlier if an open transaction holds back records of an awaited partition.
    """
    step_ms = 0
    while step_ms <= until_ms:
        at = log.offsets_at(sorted(ends), until_ms - step_ms)
        if all(at[part] <= ends[part] for part in awaited):
            return _between(before, at, ends)
        step_ms = max(2 * step_ms, 1)
    return dict(before)


def split(
    log: OffsetsByTime, before: Offsets, ends: Offsets, from_ms: int, until_ms: int, most_rows: int
) -> Iterator[dict[int, int]]:
    """Split a part of a topic in order of append time; yield the end offsets of each cut.

    Cuts have at most `most_rows` rows, unless one millisecond has more.

    Parameters
    ----------
    from_ms, until_ms : int
        The append times (ms) between which its records lie.
    """
    rows = sum(end - before[part] for part, end in ends.items())
    if rows <= most_rows or until_ms - from_ms <= 1:
        if rows:
            yield dict(ends)
        return
    middle_ms = (from_ms + until_ms) // 2
    middle = ends_at(log, before, ends, middle_ms)
    yield from split(log, before, middle, from_ms, middle_ms, most_rows)
    yield from split(log, middle, ends, middle_ms, until_ms, most_rows)


def _between(before: Offsets, at: Offsets, ends: Offsets) -> dict[int, int]:
    return {part: max(min(at[part] if at[part] >= 0 else end, end), before[part]) for part, end in ends.items()}
