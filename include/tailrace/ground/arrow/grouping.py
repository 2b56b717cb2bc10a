"""The group-by of many rows with widely spread codes, by compiled code."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from tailrace.kernels.folding import number_runs
from tailrace.kernels.grouping import BUCKETS, DIGIT_BITS, first_of_runs, fold_floats, fold_ints, sort_codes
from tailrace.kernels.library import compiled
from tailrace.kernels.signature import MAX, MIN, SUM

Ints = NDArray[np.int64]
Codes = NDArray[np.int32]
How = Literal["sum", "min", "max"]

_FOLDS: dict[How, int] = {"sum": SUM, "min": MIN, "max": MAX}
_MAX_ROWS = 1 << 31  # the limit of rows, which are counted in 32 bits


def run_numbers(code: Ints, low: int, high: int) -> tuple[Ints, Codes] | None:
    """Return the distinct codes, ascending, and the index of each row's code among them.

    Return None if compiled code does not apply.
    """
    n = len(code)
    sort, starts, number = compiled(sort_codes, n), compiled(first_of_runs, n), compiled(number_runs, n)
    if sort is None or starts is None or number is None or n >= _MAX_ROWS or high - low >= 1 << 63:
        return None
    key, row = _sorted(sort, code, low, high)
    first, group = np.empty(n, np.int64), np.empty(n, np.int32)
    runs = starts(n, key, first)
    number(n, runs, first, row, group)
    return key[first[:runs]] + low, group


def _sorted(sort: Any, code: Ints, low: int, high: int) -> tuple[Ints, Codes]:
    """Sort codes by compiled code; return them, less the least one, in ascending order, and the row of each."""
    n, digits = len(code), max(1, -(-(high - low).bit_length() // DIGIT_BITS))
    counts = np.empty(digits * BUCKETS, np.int64)
    keys, rows = np.empty((2, n), np.int64), np.empty((2, n), np.int32)
    at = sort(n, low, digits, np.ascontiguousarray(code), counts, keys[0], rows[0], keys[1], rows[1])
    return keys[at], rows[at]


def sorted_group(
    group_id: Ints, low: int, high: int, columns: Sequence[tuple[NDArray[Any], How]]
) -> tuple[Ints, list[NDArray[Any]]] | None:
    """Aggregate as `columns.group` does, given the least and the greatest code.

    Return None if compiled code does not apply. The rows are sorted stably by code, and rows of equal code are folded
    in their order.
    """
    n = len(group_id)
    sort, starts = compiled(sort_codes, n), compiled(first_of_runs, n)
    floats, ints = compiled(fold_floats, n), compiled(fold_ints, n)
    if sort is None or starts is None or floats is None or ints is None or n >= _MAX_ROWS or high - low >= 1 << 63:
        return None
    if any(column.dtype not in (np.int64, np.float64) for column, _ in columns):
        return None
    key, row = _sorted(sort, group_id, low, high)
    first = np.empty(n, np.int64)
    runs = starts(n, key, first)
    results: list[NDArray[Any]] = []
    for column, how in columns:
        out = np.empty(runs, column.dtype)
        fold = floats if column.dtype == np.float64 else ints
        fold(n, runs, _FOLDS[how], first, row, np.ascontiguousarray(column), out)
        results.append(out)
    return key[first[:runs]] + low, results
