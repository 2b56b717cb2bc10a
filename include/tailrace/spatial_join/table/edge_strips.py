"""Horizontal strips of each row of a table: intervals of y, and the intervals that overlap a strip."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tailrace.ground.arrow.columns import Floats, Ints

_ENTRIES_AN_EDGE = 6
"""The most strips per edge of a row, on average; if many edges are tall, strips are few and thick."""


@dataclass(frozen=True, eq=False)
class EdgeStrips:
    """The strips of each row, between some of its edges' y ends, so that outliers only stretch their own row's strips.

    Attributes
    ----------
    first : ndarray, shape (r + 1,)
        The first strip of each row; a row has a power of two of them, or none.
    bottom : ndarray, shape (s,)
        The lower end of each strip, inclusive; ∞ for the strips that pad a row to a power of two, and for the last
        strip, which belongs to no row.
    first_entry : ndarray, shape (s + 1,)
        The first entry of each strip.
    """

    first: Ints
    bottom: Floats
    first_entry: Ints

    @staticmethod
    def from_intervals(row: Ints, low: Floats, high: Floats, rows: int) -> tuple[EdgeStrips, Ints]:
        """Cut strips for rows' intervals [low, high] of y; return them, and the intervals in each, strip by strip.

        Parameters
        ----------
        row : ndarray, shape (e,)
            The row of each interval, below `rows`; ascending.
        low, high : ndarray, shape (e,)
        """
        breaks, owner = _distinct_ends(row, np.concatenate([low, high]))
        index = np.arange(len(breaks)) - np.searchsorted(owner, owner)
        edges = np.bincount(row, minlength=rows)
        step = np.ones(rows, np.int64)
        while True:
            kept = index % step[owner] == 0
            strips = _padded(breaks[kept], owner[kept], rows)
            bottom_strip, top_strip = strips.strip_at(row, low), strips.strip_at(row, high)
            entries = np.bincount(row, top_strip - bottom_strip + 1, minlength=rows)
            crowded = (entries > _ENTRIES_AN_EDGE * edges) & (np.bincount(owner[kept], minlength=rows) > 1)
            if not crowded.any():
                break
            step[crowded] *= 2
        count = top_strip - bottom_strip + 1
        interval = np.repeat(np.arange(len(row)), count)
        strip = np.arange(len(interval)) - np.repeat(np.cumsum(count) - count, count) + bottom_strip[interval]
        order = np.argsort(strip, kind="stable")
        first_entry = np.searchsorted(strip[order], np.arange(len(strips.bottom) + 1))
        return EdgeStrips(strips.first, strips.bottom, first_entry), interval[order]

    def strip_at(self, row: Ints, y: Floats) -> Ints:
        """Return the row's strip that contains y, or its lowest strip if y is below all.

        It is arbitrary for a row without strips.
        """
        strip = self.first[row]
        half = (self.first[row + 1] - strip) >> 1
        for _ in range(int(half.max(initial=0)).bit_length()):
            strip += half * (self.bottom[strip + half] <= y)
            half >>= 1
        return strip

    def entries_at(self, row: Ints, y: Floats) -> tuple[Ints, Ints]:
        """Return the first entry of the row's strip that contains y, and the number of entries.

        The number is 0 for a row without strips.
        """
        strip = self.strip_at(row, y)
        first = self.first_entry[strip]
        end = self.first_entry[np.minimum(strip + 1, self.first[row + 1])]
        return first, end - first


def _distinct_ends(row: Ints, ends: Floats) -> tuple[Floats, Ints]:
    """Return the distinct ends of each row's intervals, in ascending order of row and end, and their rows."""
    owner = np.concatenate([row, row])
    order = np.lexsort((ends, owner))
    ends, owner = ends[order], owner[order]
    new = np.ones(len(ends), bool)
    new[1:] = (ends[1:] != ends[:-1]) | (owner[1:] != owner[:-1])
    return ends[new], owner[new]


def _padded(breaks: Floats, owner: Ints, rows: int) -> EdgeStrips:
    """Build the strips between breaks, padded to a power of two for each row, so that a search can halve them."""
    count = np.bincount(owner, minlength=rows)
    size = np.where(count > 0, 1 << np.ceil(np.log2(np.maximum(count, 1))).astype(np.int64), 0)
    first = np.concatenate([[0], np.cumsum(size)])
    bottom = np.full(first[-1] + 1, np.inf)
    bottom[first[owner] + np.arange(len(breaks)) - (np.cumsum(count) - count)[owner]] = breaks
    return EdgeStrips(first, bottom, np.zeros(0, np.int64))
