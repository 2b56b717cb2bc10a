"""The loop that groups tuples by tick, pane and key in a dense table of the cells of one tick."""

from __future__ import annotations

import numpy as np

from tailrace.kernels.signature import Codes, Ints

CELLS_PER_TUPLE, CELLS = 4, 1024
"""Upper bound on the cells of the ticks' tables: a multiple of the tuples, plus a constant.

The cost depends on the tuples, not on the span of time or keys.
"""

_UINT32 = (1 << 32) - 1


def number_cells(
    n: int,
    keys: int,
    pane_ms: int,
    tick: Ints,
    event: Ints,
    key: Codes,
    cells: int,
    numbers: Codes,
    cell_of: Codes,
    out_cell: Codes,
    out_key: Codes,
    out_pane: Ints,
    out_tick: Ints,
    out_tuples: Ints,
) -> int:
    """Number the groups of n tuples, by tick, pane and key, in this order; `cell_of` gets the cell of each tuple.

    Parameters
    ----------
    tick, event : ndarray, shape (n,)
        `tick` must not decrease.
    key : ndarray, shape (n,)
        In [0, keys).
    numbers : ndarray, shape (cells,)
        Scratch, fewer than 2³¹. Each tick takes one cell for each of its pairs of a key and a pane.
    cell_of : ndarray, shape (n,)
    out_cell, out_key, out_pane, out_tick, out_tuples : ndarray, shape (n,)
        One row for each group; the cells ascend.

    Returns
    -------
    int
        The number of groups; −1 if a tick decreases, or the cells do not suffice.
    """
    used = 0
    groups = 0
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
        if panes < 1 or panes > (cells - used) // keys:  # below 1 if the true number exceeds 64 bits
            return -1
        for index in range(panes * keys):
            numbers[used + index] = 0
        base = first * pane_ms
        is_short = panes * pane_ms <= _UINT32  # then offsets are divided as 32-bit integers, which is faster
        for row in range(start, end):
            if is_short:
                cell = np.int64(np.uint32(event[row] - base) // np.uint32(pane_ms)) * keys + key[row]
            else:
                cell = (event[row] - base) // pane_ms * keys + key[row]
            cell_of[row] = used + cell
            numbers[used + cell] += 1
        for pane in range(panes):
            for key_code in range(keys):
                cell = pane * keys + key_code
                if numbers[used + cell] > 0:
                    out_key[groups] = key_code
                    out_pane[groups] = (first + pane) * pane_ms
                    out_tick[groups] = this
                    out_tuples[groups] = numbers[used + cell]
                    out_cell[groups] = used + cell
                    groups += 1
        used += panes * keys
        start = end
    return groups
