"""Order of arrival of generated fixes, and batches of them by stretches of arrival time."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import pairwise

import numpy as np

from generators.fixes import Fixes, concat, no_fixes


def in_stretches(steps: Iterable[tuple[int, Fixes]], start_ms: int, stretch_ms: int) -> Iterator[Fixes]:
    """Put fixes in the order of arrival, and yield the fixes of each stretch of arrival time that has any.

    Memory holds the fixes of a stretch, of a step, and those in transit.

    Parameters
    ----------
    steps : iterable of (int, Fixes)
        Ends of steps, ascending, and the fixes whose event times are before this one and not before the last. None
        arrives before its event time.
    start_ms : int
        The start of the first stretch.
    stretch_ms : int
        Length of a stretch, more than 0.

    Yields
    ------
    Fixes
        Ties in arrival are in the order of `steps`.
    """
    whole: list[Fixes] = []
    under_way = no_fixes()
    cut_ms = start_ms
    for end_ms, fixes in steps:
        # Fixes of later steps arrive later: up to here the order is final.
        arrived, under_way = _split(_by_arrival(concat([under_way, fixes])), end_ms)
        whole.append(arrived)
        if end_ms - cut_ms >= stretch_ms:
            cut_ms = end_ms - (end_ms - start_ms) % stretch_ms
            complete, rest = _split(concat(whole), cut_ms)
            whole = [rest]
            yield from _by_stretch(complete, start_ms, stretch_ms)
    yield from _by_stretch(concat([*whole, under_way]), start_ms, stretch_ms)


def _by_arrival(fixes: Fixes) -> Fixes:
    return fixes.take(np.argsort(fixes.arrival_ms, kind="stable"))


def _split(fixes: Fixes, at_ms: int) -> tuple[Fixes, Fixes]:
    """Split fixes in order of arrival into those that arrive before a time, and the rest."""
    row = int(np.searchsorted(fixes.arrival_ms, at_ms))
    return fixes.take(slice(row)), fixes.take(slice(row, None))


def _by_stretch(fixes: Fixes, start_ms: int, stretch_ms: int) -> Iterator[Fixes]:
    """Cut fixes in order of arrival where one stretch ends and another begins."""
    cuts = np.flatnonzero(np.diff((fixes.arrival_ms - start_ms) // stretch_ms)) + 1
    bounds = [0, *cuts.tolist(), fixes.rows]
    for first, end in pairwise(bounds):
        if first < end:
            yield fixes.take(slice(first, end))
