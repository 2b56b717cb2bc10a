"""Time ranges as two columns of bounds: membership, union and overlap."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Ranges = tuple[Ints, Ints]
"""Lower and upper bounds of ranges [low, high) in ms, disjoint and ascending."""


def in_ranges(ranges: Ranges, time: Ints) -> NDArray[np.bool_]:
    """Test which times lie in one of the ranges."""
    low, high = ranges
    at = np.searchsorted(low, time, side="right") - 1
    return np.asarray((at >= 0) & (time < np.append(high, 0)[at]))  # −1 reads the appended 0, which `at >= 0` masks


def merge_ranges(low: Ints, high: Ints) -> Ranges:
    """Merge ranges that meet or overlap; both columns of bounds ascend."""
    apart = low[1:] > high[:-1]
    return low[np.r_[True, apart][: len(low)]], high[np.r_[apart, True][: len(high)]]


def coarsen_ranges(ranges: Ranges, most: int) -> Ranges:
    """Cover ranges by at most `most` ranges, which leave out the widest gaps."""
    low, high = ranges
    gaps = low[1:] - high[:-1]
    wide_gaps = np.sort(np.argsort(gaps, kind="stable")[max(len(gaps) - most + 1, 0) :])
    return np.r_[low[:1], low[1:][wide_gaps]], np.r_[high[:-1][wide_gaps], high[-1:]]


def overlap(low: NDArray[Any], high: NDArray[Any], lows: NDArray[Any], highs: NDArray[Any]) -> NDArray[np.bool_]:
    """Test which of the n ranges [low, high] overlap one of the m ranges [lows, highs], both ends included."""
    if not len(lows):
        return np.zeros(len(low), bool)
    order = np.argsort(lows, kind="stable")
    reach = np.maximum.accumulate(highs[order])  # the largest upper end of the ranges that begin no later
    at = np.searchsorted(lows[order], high, side="right") - 1
    return np.asarray((at >= 0) & (reach[at] >= low), bool)


def overlap_another(low: NDArray[Any], high: NDArray[Any]) -> NDArray[np.bool_]:
    """Test which of the n ranges [low, high] overlap another one of them, both ends included."""
    order = np.argsort(low, kind="stable")
    lows, highs, overlaps = low[order], high[order], np.zeros(len(low), bool)
    overlaps[order[1:]] = np.maximum.accumulate(highs)[:-1] >= lows[1:]  # a range that begins no later reaches it
    overlaps[order[:-1]] |= highs[:-1] >= lows[1:]
    return overlaps
