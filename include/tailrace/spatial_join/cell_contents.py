"""Builds the contents of cells: lists of rows that share their tails, so that equal lists are one."""

from __future__ import annotations

import numpy as np

from tailrace.ground.columns import Ints
from tailrace.spatial_join.geometries import Mask
from tailrace.spatial_join.raster import Contents


class ContentsBuilder:
    """Lists of rows, each identified by its first entry; 0 is the empty list.

    Parameters
    ----------
    rows : int
        The number of rows of the table.
    """

    def __init__(self, rows: int) -> None:
        self._rows = rows
        self._entries: dict[int, int] = {}

    def add(self, lists: Ints, cell: Ints, row: Ints, is_certain: Mask) -> tuple[Ints, Ints]:
        """Prepend rows to the lists of cells: first the certain ones, then the others, each in ascending order.

        Parameters
        ----------
        lists : ndarray, shape (c,)
            The list of each cell so far.
        cell, row, is_certain : ndarray, shape (n,)
            The rows to prepend; no pair of a cell and a row twice.

        Returns
        -------
        lists : ndarray, shape (c,)
            The lists with all rows.
        certain : ndarray, shape (c,)
            The lists with the certain rows only.
        """
        lists, certain = lists.copy(), lists.copy()
        codes = 2 * self._rows
        key = np.sort(cell * codes + np.where(is_certain, row, row + self._rows))
        cell, code = np.divmod(key, codes)
        first = np.flatnonzero(np.diff(cell, prepend=-1))
        count = np.diff(first, append=len(cell))
        while len(first):
            at = cell[first]
            lists[at] = self._extended(lists[at], code[first])
            whole = code[first] < self._rows
            certain[at[whole]] = lists[at[whole]]
            more = count > 1
            first, count = first[more] + 1, count[more] - 1
        return lists, certain

    def _extended(self, lists: Ints, code: Ints) -> Ints:
        """Return the lists with the coded row prepended to each."""
        distinct, which = _distinct(lists * (2 * self._rows) + code)
        known = [self._entries.setdefault(key, len(self._entries) + 1) for key in distinct.tolist()]
        return np.array(known, np.int64)[which]

    def contents(self) -> Contents:
        """Return all lists."""
        rest, code = np.divmod(np.array([0, *self._entries], np.int64), 2 * self._rows)
        return Contents(code % self._rows, code < self._rows, rest.astype(np.int32))


def _distinct(values: Ints) -> tuple[Ints, Ints]:
    """Return the distinct values, and each value's index among them.

    A lookup table, if small, is cheaper than sorting.
    """
    if values.max(initial=0) > 4 * len(values) + 1024:
        distinct, which = np.unique(values, return_inverse=True)
        return distinct, which
    index_of = np.zeros(values.max(initial=0) + 1, np.int64)
    index_of[values] = 1
    distinct = np.flatnonzero(index_of)
    index_of[distinct] = np.arange(len(distinct))
    return distinct, index_of[values]
