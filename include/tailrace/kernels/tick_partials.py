"""The loop that groups tuples by tick, pane and key, through a table of all cells of one tick."""

from __future__ import annotations

import numpy as np

from tailrace.kernels.signature import MIN, SUM, Codes, Floats, Ints

CELLS_PER_TUPLE, CELLS = 4, 1024
"""The ticks' tables have at most so many cells a tuple, and so many more: they cost by tuples, not by times or keys."""

_UINT32 = (1 << 32) - 1


def fold_ticks(  # noqa: PLR0912 (a kernel calls no other)
    n: int,
    keys: int,
    pane_ms: int,
    fold: int,
    tick: Ints,
    event: Ints,
    key: Codes,
    value: Floats,
    counts: Ints,
    totals: Floats,
    out_key: Codes,
    out_pane: Ints,
    out_tick: Ints,
    out_tuples: Ints,
    out_total: Floats,
) -> int:
    """Fold n tuples into one row for each tick, pane and key, in this order; values are added in the tuples' order.

    Parameters
    ----------
    tick, event : ndarray, shape (n,)
        The ticks must not fall.
    key : ndarray, shape (n,)
        In [0, keys).
    fold : int
        SUM, MIN or MAX.
    counts, totals : ndarray, shape (CELLS_PER_TUPLE · n + CELLS,)
        Scratch.
    out_key, out_pane, out_tick, out_tuples, out_total : ndarray, shape (n,)
        The rows, as far as there are any.

    Returns
    -------
    int
        The number of rows; −1 where ticks fall, or the ticks have more cells than the tuples are worth.
    """
    empty = 0.0 if fold == SUM else (np.inf if fold == MIN else -np.inf)
    cells_left = CELLS_PER_TUPLE * n + CELLS
    rows = 0
    start = 0
    while start < n:
        this = tick[start]
        if start > 0 and this < tick[start - 1]:
            return -1
        low = event[start]
        high = low
        end = start + 1
        while end < n and tick[end] == this:
            low = min(low, event[end])
            high = max(high, event[end])
            end += 1
        first = low // pane_ms
        panes = high // pane_ms - first + 1
        if panes < 1 or panes > cells_left // keys:  # below 1: their number exceeds 64 bits
            return -1
        cells_left -= panes * keys
        for index in range(panes * keys):
            counts[index] = 0
            totals[index] = empty
        base = first * pane_ms
        is_short = panes * pane_ms <= _UINT32  # then offsets divide as 32-bit integers, which is quicker
        for row in range(start, end):
            if is_short:
                cell = np.int64(np.uint32(event[row] - base) // np.uint32(pane_ms)) * keys + key[row]
            else:
                cell = (event[row] - base) // pane_ms * keys + key[row]
            counts[cell] += 1
            if fold == SUM:
                totals[cell] += value[row]
            elif fold == MIN:
                totals[cell] = min(totals[cell], value[row])
            else:
                totals[cell] = max(totals[cell], value[row])
        for pane in range(panes):
            for key_code in range(keys):
                cell = pane * keys + key_code
                if counts[cell] > 0:
                    out_key[rows] = key_code
                    out_pane[rows] = (first + pane) * pane_ms
                    out_tick[rows] = this
                    out_tuples[rows] = counts[cell]
                    out_total[rows] = totals[cell] + 0.0  # −0.0 becomes 0.0, which of the two came first is no matter
                    rows += 1
        start = end
    return rows
