"""The loop that looks for a repeated value among integers of a small range."""

from __future__ import annotations

from tailrace.kernels.signature import Flags, Ints


def find_repeat(n: int, low: int, value: Ints, is_there: Flags) -> int:
    """Return the row of the first of n integers that repeats an earlier one; −1 without one.

    Parameters
    ----------
    low : int
        The least of the integers.
    is_there : ndarray, shape (greatest − low + 1,)
        All 0 at first.
    """
    for row in range(n):
        offset = value[row] - low
        if is_there[offset] != 0:
            return row
        is_there[offset] = 1
    return -1
