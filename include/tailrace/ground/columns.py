"""Grouping of columns by an integer code: the one hash group-by that the kernels share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

Ints = NDArray[np.int64]
How = Literal["sum", "min", "max"]

_EXACT = 1 << 53  # up to there a double, in which a table of codes is summed, holds every integer
_ROOM = 1 << 62


def pair(a: Ints, b: Ints) -> tuple[Ints, Callable[[Ints], tuple[Ints, Ints]]]:
    """One integer for each two, by `a` and then by `b`, and the way back.

    Parameters
    ----------
    a, b : ndarray, shape (n,)

    Returns
    -------
    code : ndarray, shape (n,)
        From 0 on; equal for equal pairs.
    split : callable
        Gives the two parts of codes.
    """
    if not len(a):
        return a, lambda code: (code, code)
    low_a, low_b = int(a.min()), int(b.min())
    span = int(b.max()) - low_b + 1
    if (int(a.max()) - low_a + 1) * span < _ROOM:

        def split(code: Ints) -> tuple[Ints, Ints]:
            first, second = np.divmod(code, span)
            return first + low_a, second + low_b

        return (a - low_a) * span + (b - low_b), split
    values_a, rank_a = np.unique(a, return_inverse=True)  # far apart: by their ranks, of which there are n at most
    values_b, rank_b = np.unique(b, return_inverse=True)

    def split_ranks(code: Ints) -> tuple[Ints, Ints]:
        first, second = np.divmod(code, len(values_b))
        return values_a[first], values_b[second]

    return rank_a * len(values_b) + rank_b, split_ranks


def group_sums(code: Ints, *weights: NDArray[Any]) -> tuple[Ints, list[NDArray[Any]]]:
    """Sums of each column, of shape (n,), over the rows of equal code, as `group` gives them."""
    return group(code, *((weight, "sum") for weight in weights))


def group(code: Ints, *columns: tuple[NDArray[Any], How]) -> tuple[Ints, list[NDArray[Any]]]:
    """The sum, the least or the greatest of each column over the rows of equal code.

    Parameters
    ----------
    code : ndarray, shape (n,)
    columns : pairs of ndarray, shape (n,), and how
        Integer columns are summed as integers; min and max are for doubles other than NaN.

    Returns
    -------
    code : ndarray, shape (m,)
        The distinct codes; ascending.
    columns : list of ndarray, shape (m,)
    """
    if not len(code):
        return code, [column for column, _ in columns]
    low, high = int(code.min()), int(code.max())
    exact = all(column.dtype.kind == "f" or int(np.abs(column).max()) * len(code) < _EXACT for column, _ in columns)
    if high - low < 4 * len(code) + 1024 and exact:  # a table of all codes is cheaper than hashing
        offset = code - low
        present = np.flatnonzero(np.bincount(offset))
        found = [_by_table(offset, high - low + 1, *column)[present].astype(column[0].dtype) for column in columns]
        return present + low, found
    names = list(map(str, range(len(columns))))
    table = pa.table([code, *(column for column, _ in columns)], names=["code", *names])
    grouped = table.group_by("code", use_threads=False).aggregate(
        [(name, how) for name, (_, how) in zip(names, columns, strict=True)]
    )
    codes = grouped["code"].to_numpy()
    order = np.argsort(codes)
    found = [grouped[f"{name}_{how}"].to_numpy()[order] for name, (_, how) in zip(names, columns, strict=True)]
    return codes[order], found


def _by_table(offset: Ints, size: int, column: NDArray[Any], how: How) -> NDArray[Any]:
    if how == "sum":
        return np.bincount(offset, column)
    extremes = np.full(size, np.inf if how == "min" else -np.inf)
    (np.minimum if how == "min" else np.maximum).at(extremes, offset, column)
    return extremes


def unify(arrays: list[pa.Array]) -> tuple[pa.Array, list[Ints]]:
    """One dictionary of the distinct values of several arrays, nulls among them, and each array as codes into it.

    The order is that of first occurrence, so an array that comes first and has no repeats keeps its codes.
    """
    encoded = pa.concat_arrays(arrays).dictionary_encode(null_encoding="encode")
    codes = np.asarray(encoded.indices).astype(np.int64)
    return encoded.dictionary, list(np.split(codes, np.cumsum([len(array) for array in arrays])[:-1]))
