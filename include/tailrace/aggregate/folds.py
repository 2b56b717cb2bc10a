"""Folds: how rows that belong together become one. A function names its fold; partials and the operator keep to it."""

from __future__ import annotations

from typing import Literal

import numpy as np
from numpy.typing import NDArray

from tailrace.ground.columns import group, pair

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

Fold = Literal["sum", "min", "max", "keep"]
"""What a row's `total` is: the sum, the least or the greatest of its values; `keep`: the value of its only tuple."""


def merge(fold: Fold, code: Ints, tuples: Ints, total: Floats) -> tuple[Ints, Ints, Floats]:
    """Make one row of those with equal codes; with fold `keep` all stay as they are.

    Parameters
    ----------
    code, tuples, total : ndarray, shape (n,)

    Returns
    -------
    code, tuples, total : ndarray, shape (m,)
    """
    if fold == "keep":
        return code, tuples, total
    code, (tuples, total) = group(code, (tuples, "sum"), (total, fold))
    return code, tuples, total


def gather(fold: Fold, code: Ints, row: Ints, tuples: Ints, total: Floats) -> tuple[Ints, Ints, Floats]:
    """What windows hold, given which rows are in them.

    Parameters
    ----------
    code, row : ndarray, shape (n,)
        Pairs of a window (a code) and a row in it.
    tuples, total : ndarray, shape (k,)
        The rows, each of which may be in many windows.

    Returns
    -------
    code, tuples : ndarray, shape (m,)
        Each window once, and how many tuples it holds.
    total : ndarray, shape (m,)
        With fold `keep` of shape (Σ tuples,): the values of one window after another, ascending in each.
    """
    if fold != "keep":
        return merge(fold, code, tuples[row], total[row])
    # The rows are ranked before they are spread over windows; what is sorted then are plain integers, and far quicker
    # than floats by their code.
    order = np.argsort(total)
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    both, split = pair(code, rank[row])
    both.sort()
    code, ranked = split(both)
    first = np.flatnonzero(np.diff(code, prepend=code[:1] - 1))
    return code[first], np.diff(first, append=len(code)), total[order][ranked]
