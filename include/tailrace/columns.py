"""Grouping of columns by an integer code: the one hash group-by that the kernels share."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

Ints = NDArray[np.int64]


def group_sums(code: Ints, *weights: NDArray[Any]) -> tuple[Ints, list[NDArray[Any]]]:
    """Sums of each column over the rows of equal code.

    Parameters
    ----------
    code : ndarray, shape (n,)
    weights : ndarrays, shape (n,)
        Integer columns are summed as integers.

    Returns
    -------
    code : ndarray, shape (m,)
        The distinct codes; ascending.
    sums : list of ndarray, shape (m,)
    """
    if not len(code):
        return code, list(weights)
    low, high = int(code.min()), int(code.max())
    if high - low < 4 * len(code) + 1024:  # a table of all codes is cheaper than hashing
        offset = code - low
        present = np.flatnonzero(np.bincount(offset))
        sums = [np.bincount(offset, weight)[present].astype(weight.dtype) for weight in weights]
        return present + low, sums
    table = pa.table([code, *weights], names=["code", *map(str, range(len(weights)))])
    grouped = table.group_by("code", use_threads=False).aggregate([(str(i), "sum") for i in range(len(weights))])
    found = grouped["code"].to_numpy()
    order = np.argsort(found)
    return found[order], [grouped[f"{i}_sum"].to_numpy()[order] for i in range(len(weights))]


def unify(arrays: list[pa.Array]) -> tuple[pa.Array, list[Ints]]:
    """One dictionary of the distinct values of several arrays, nulls among them, and each array as codes into it.

    The order is that of first occurrence, so an array that comes first and has no repeats keeps its codes.
    """
    encoded = pa.concat_arrays(arrays).dictionary_encode(null_encoding="encode")
    codes = np.asarray(encoded.indices).astype(np.int64)
    return encoded.dictionary, list(np.split(codes, np.cumsum([len(array) for array in arrays])[:-1]))
