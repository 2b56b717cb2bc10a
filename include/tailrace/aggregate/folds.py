"""Folds, the rules by which the rows of one group merge; each function names its own, for partials and the operator."""

from __future__ import annotations

from typing import Any, Literal, cast

import numpy as np
from numpy.typing import NDArray

from tailrace.ground.columns import group, pair
from tailrace.ground.grouping import How

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

Fold = Literal["sum", "min", "max", "keep"]
"""The content of a row's column: the sum, minimum or maximum over its tuples; `keep`: the value of its only tuple."""


def merge(folds: tuple[Fold, ...], group_id: Ints, tuples: Ints, *columns: Floats) -> tuple[Any, ...]:
    """Merge the rows of one group into one; with fold `keep` all stay as they are.

    Parameters
    ----------
    folds : tuple
        That of each column.
    group_id, tuples, columns : ndarray, shape (n,)

    Returns
    -------
    group_id, tuples, columns : ndarray, shape (m,)
    """
    if folds == ("keep",):
        return group_id, tuples, *columns
    group_id, merged = group(group_id, (tuples, "sum"), *zip(columns, cast("tuple[How, ...]", folds), strict=True))
    return group_id, *merged


def gather(folds: tuple[Fold, ...], group_id: Ints, row: Ints, tuples: Ints, *columns: Floats) -> tuple[Any, ...]:
    """Fold the rows of each window, given the pairs of a window and a row in it.

    Parameters
    ----------
    folds : tuple
        That of each column.
    group_id, row : ndarray, shape (n,)
        Pairs of a window (a code) and a row in it.
    tuples, columns : ndarray, shape (k,)
        The rows, each of which may be in many windows.

    Returns
    -------
    group_id, tuples : ndarray, shape (m,)
        Each window once, and the number of tuples that it holds.
    columns : ndarray, shape (m,)
        With fold `keep` of shape (Σ tuples,): the values of one window after another, ascending in each.
    """
    if folds != ("keep",):
        return merge(folds, group_id, tuples[row], *(column[row] for column in columns))
    (total,) = columns
    # Rank the rows before spreading them over windows: plain integers then sort far quicker than floats by their code.
    order = np.argsort(total)
    rank = np.empty_like(order)
    rank[order] = np.arange(len(order))
    codes_and_ranks, split = pair(group_id, rank[row])
    codes_and_ranks.sort()
    group_id, sorted_rank = split(codes_and_ranks)
    first = np.flatnonzero(np.diff(group_id, prepend=group_id[:1] - 1))
    return group_id[first], np.diff(first, append=len(group_id)), total[order][sorted_rank]
