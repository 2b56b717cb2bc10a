"""The k best rows of each group, in columns: what a pane keeps, and a window answers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tailrace.columns import group_sums
from tailrace.panes.rows import Columns, Ints

Floats = NDArray[np.float64]

_SAMPLE = 16  # every so manieth row tells a bound
_FEW = 4096  # rows that are not worth one


@dataclass(frozen=True)
class Best:
    """Keeps the k best rows of each pane; of equal scores those with the smaller ids.

    Of two panes or ticks, or of two tasks, the k best of the k best of each are the k best of both: so partials are
    pruned before the shuffle, and nothing is lost.
    """

    k: int
    descending: bool
    id_type: pa.DataType

    @cached_property
    def types(self) -> dict[str, pa.DataType]:
        return {"tuples": pa.int64(), "score": pa.float64(), "id": self.id_type}

    @property
    def adds(self) -> bool:
        return False

    def merge(self, code: Ints, columns: Columns) -> tuple[Ints, Columns]:
        """The k best rows of each code, the best first; that one counts the tuples of all."""
        place = self.places(code, columns["score"], columns["id"].__getitem__)
        kept, first, _ = _ranks(code[place])
        _, (total,) = group_sums(code, columns["tuples"])
        tuples = np.zeros(len(place), np.int64)
        tuples[first] = total
        return kept, {"tuples": tuples, "score": columns["score"][place], "id": columns["id"][place]}

    def answer(self, code: Ints, row: Ints, columns: Columns) -> tuple[Ints, Columns]:
        """The ranking of each window: `rank` from 1 on, `id`, `score`, and `tuples`, how many the window holds."""
        code, found = self.merge(code, {name: column[row] for name, column in columns.items()})
        code, first, rank = _ranks(code)
        many = np.diff(first, append=len(code))
        tuples = np.repeat(found["tuples"][first], many)
        return code, {"rank": rank, "id": found["id"], "score": found["score"], "tuples": tuples}

    def places(self, code: Ints, score: Floats, ids: Callable[[Ints], NDArray[Any]]) -> Ints:
        """The places of the k best rows of each code, by code and then the best first.

        Parameters
        ----------
        code, score : ndarray, shape (n,)
        ids : callable
            Gives the ids of rows, by their places; asked only where scores are equal.
        """
        worse = -score if self.descending else score
        place = contenders(code, worse, self.k)
        place = place[np.lexsort((worse[place], code[place]))]
        group, value = code[place], worse[place]
        same = (group[1:] == group[:-1]) & (value[1:] == value[:-1])
        if same.any():
            tied = np.append(same, False) | np.append(False, same)
            rank = np.zeros(len(place), np.int64)
            rank[tied] = np.unique(ids(place[tied]), return_inverse=True)[1]
            place = place[np.lexsort((rank, value, group))]
        return place[_ranks(group)[2] <= self.k]


def contenders(code: Ints, worse: Floats, k: int) -> Ints:
    """The places of rows among which the k least of each code are, in order; all rows, where there is no quick bound.

    The k-th least of some of a group's rows is a bound for the k-th least of all of them.
    """
    n = len(code)
    low, span = (int(code.min()), int(np.ptp(code)) + 1) if n else (0, 0)
    if n < _FEW or span * k * _SAMPLE > n:
        return np.arange(n)
    group, value = code[::_SAMPLE] - low, worse[::_SAMPLE]
    order = np.lexsort((value, group))
    group, value = group[order], value[order]
    last = _ranks(group)[2] == k
    bound = np.full(span, np.inf)
    bound[group[last]] = value[last]
    return np.flatnonzero(worse <= bound[code - low])


def _ranks(code: Ints) -> tuple[Ints, Ints, Ints]:
    """Codes, where each of them begins, and the rank of each row in its run, from 1 on; equal codes are neighbours."""
    first = np.flatnonzero(np.diff(code, prepend=code[:1] - 1))
    many = np.diff(first, append=len(code))
    return code, first, np.arange(1, len(code) + 1) - np.repeat(first, many)
