"""Rows by group, and folds of columns over the groups."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from tailrace.ground.arrow.grouping import How, run_numbers
from tailrace.kernels.folding import fold_float_groups, fold_int_groups
from tailrace.kernels.library import compiled
from tailrace.kernels.signature import MAX, MIN, SUM

Ints = NDArray[np.int64]
Codes = NDArray[np.int32]

_FOLDS: dict[How, int] = {"sum": SUM, "min": MIN, "max": MAX}
_UFUNCS: dict[How, np.ufunc] = {"sum": np.add, "min": np.minimum, "max": np.maximum}


@dataclass(frozen=True)
class GroupedRows:
    """Rows by group.

    Attributes
    ----------
    cell : ndarray, shape (n,)
        The cell of each row, in [0, cells). Each group has one cell; other cells are unused.
    cells : int
    used : ndarray, shape (m,)
        The cells of the m groups, ascending; none of the groups is empty.
    """

    cell: Codes
    cells: int
    used: NDArray[Any]

    def __len__(self) -> int:
        return len(self.used)

    @staticmethod
    def from_codes(code: Ints) -> tuple[Ints, GroupedRows]:
        """Group n rows by their codes; return the distinct codes, ascending, and the grouped rows."""
        n = len(code)
        low, high = (int(code.min()), int(code.max())) if n else (0, 0)
        if high - low < 4 * n + 1024:  # a dense table of all codes is cheaper than sorting
            cell = (code - low).astype(np.int32)
            used = np.flatnonzero(np.bincount(cell)) if n else np.zeros(0, np.int64)
            return used + low, GroupedRows(cell, high - low + 1, used)
        if (numbered := run_numbers(code, low, high)) is not None:
            codes, group = numbered
        else:
            codes, inverse = np.unique(code, return_inverse=True)
            group = inverse.astype(np.int32)
        return codes, GroupedRows(group, len(codes), np.arange(len(codes)))

    @cached_property
    def group(self) -> Ints:
        """The number of each row's group, in [0, m); shape (n,)."""
        number = np.zeros(self.cells, np.int64)
        number[self.used] = np.arange(len(self))
        return number[self.cell]

    def fold(self, column: NDArray[Any], how: How) -> NDArray[Any]:
        """Fold a column of doubles or int64, shape (n,), over the rows of each group; returns shape (m,).

        Integers wrap around at 64 bits; doubles are added in the order of the rows. −0.0 becomes 0.0, so that their
        order does not matter.
        """
        is_float = column.dtype == np.float64
        out = np.full(self.cells, _of_none(column.dtype, how), column.dtype)
        kernel: Any = compiled(fold_float_groups if is_float else fold_int_groups, len(column))
        if kernel is not None:
            kernel(len(column), _FOLDS[how], self.cell, np.ascontiguousarray(column), out)
        else:
            with np.errstate(over="ignore", invalid="ignore"):
                _UFUNCS[how].at(out, self.cell, column)
        folded: NDArray[Any] = out[self.used]
        return folded + 0.0 if is_float else folded


def _of_none(dtype: np.dtype[Any], how: How) -> Any:
    """Return the fold over no rows."""
    if how == "sum":
        return 0
    if dtype == np.float64:
        return np.inf if how == "min" else -np.inf
    limits = np.iinfo(dtype)
    return limits.max if how == "min" else limits.min
