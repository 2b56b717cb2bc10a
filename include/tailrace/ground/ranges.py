"""Ranges of time, as two columns of bounds: which points they hold, their union, and their overlap."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Ranges = tuple[Ints, Ints]
"""Lower and upper ends of ranges [low, high) in ms, disjoint and in order."""


def in_ranges(ranges: Ranges, time: Ints) -> NDArray[np.bool_]:
    """Which times lie in one of the ranges."""
    low, high = ranges
    at = np.searchsorted(low, time, side="right") - 1
    return np.asarray((at >= 0) & (time < np.append(high, 0)[at]))  # at −1: any end will do


def merge_ranges(low: Ints, high: Ints) -> Ranges:
    """Ranges in order, put together where they meet or overlap."""
    apart = low[1:] > high[:-1]
    return low[np.r_[True, apart][: len(low)]], high[np.r_[apart, True][: len(high)]]


def coarsen_ranges(ranges: Ranges, most: int) -> Ranges:
    """At most so many ranges over these: the widest gaps stay."""
    low, high = ranges
    gaps = low[1:] - high[:-1]
    kept = np.sort(np.argsort(gaps, kind="stable")[max(len(gaps) - most + 1, 0) :])
    return np.r_[low[:1], low[1:][kept]], np.r_[high[:-1][kept], high[-1:]]


def overlap(low: NDArray[Any], high: NDArray[Any], lows: NDArray[Any], highs: NDArray[Any]) -> NDArray[np.bool_]:
    """Which of the ranges [low, high], n of them, have anything in common with one of the m ranges [lows, highs]."""
    if not len(lows):
        return np.zeros(len(low), bool)
    order = np.argsort(lows, kind="stable")
    reach = np.maximum.accumulate(highs[order])  # of those that begin no later
    at = np.searchsorted(lows[order], high, side="right") - 1
    return np.asarray((at >= 0) & (reach[at] >= low), bool)
