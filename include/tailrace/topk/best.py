"""The k best rows of each group, in columns: what a pane keeps, and a window answers."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tailrace.ground.columns import group_sums
from tailrace.panes.rows import Columns, Ints

Floats = NDArray[np.float64]

Ids = Callable[[Ints], Ints]

_FEW = 4096  # rows that are not worth a bound
_WORTH = 4  # nor are groups of fewer rows than so many times k
_HEAD = 16  # the first part of rows that tells a bound for the others
_SHORT = 1 << 16  # so many groups are told apart by two bytes, which sort faster


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
        place = self.places(code, columns["score"], lambda rows: order_of(pa.array(columns["id"][rows], self.id_type)))
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

    def places(self, code: Ints, score: Floats, ids: Ids, group: Ints | None = None) -> Ints:
        """The places of the k best rows of each code, by code and then the best first.

        Parameters
        ----------
        code, score : ndarray, shape (n,)
        ids : callable
            Gives the order of the ids of rows, by their places; asked only where scores are equal.
        group : ndarray, shape (n,), optional
            Codes that `code` is finer than: a row that k before it in its group are better than need not be found.
        """
        worse = -score if self.descending else score
        place = contenders(code if group is None else group, worse, self.k, ids)
        place = _sorted(code, worse, place, ids)
        return place[_ranks(code[place])[2] <= self.k]


def order_of(ids: pa.Array) -> Ints:
    """Numbers that are in the order of the ids, shape (n,); text goes by code points."""
    if pa.types.is_integer(ids.type):
        return np.asarray(ids)
    return np.asarray(pc.rank(ids, tiebreaker="dense")).astype(np.int64)


def contenders(group: Ints, worse: Floats, k: int, ids: Ids) -> Ints:
    """The places of rows: all that fewer than k before them in their group are better than, and some of the others.

    The k-th least of a group so far is a bound for its next rows. The first of all rows give one for the others; what
    is left is looked at in stretches of each group, each as long as all before it, since groups may begin later. Where
    groups are small there is no bound, and all rows are left.
    """
    n = len(group)
    low, span = (int(group.min()), int(np.ptp(group)) + 1) if n else (0, 0)
    if n < _FEW or span * k * _WORTH > n:
        return np.arange(n)
    group, head = group - low, n // _HEAD
    bounds = _Bounds(group, worse, k, ids, span)
    kept, end = [contenders(group[:head], worse[:head], k, ids)], k * _WORTH
    bounds.learn(kept[0])
    place = head + np.flatnonzero(worse[head:] <= bounds.bound[group[head:]])
    mine = group[place]
    order = np.argsort(mine.astype(np.uint16) if span <= _SHORT else mine, kind="stable")
    place, nth = place[order], _ranks(mine[order])[2]
    while len(place):
        now = nth <= end
        kept.append(bounds.better(place[now]))
        bounds.learn(kept[-1])
        place, nth, end = place[~now], nth[~now], 2 * end
    return np.concatenate(kept)


class _Bounds:
    """Of each group the k-th least of the rows that were learnt of: the bound, and the row that holds it."""

    def __init__(self, group: Ints, worse: Floats, k: int, ids: Ids, groups: int) -> None:
        self.group, self.worse, self.k, self.ids = group, worse, k, ids
        self.bound, self._holder, self._least = np.full(groups, np.inf), np.zeros(groups, np.int64), group[:0]

    def learn(self, place: Ints) -> None:
        least = _sorted(self.group, self.worse, np.concatenate([self._least, place]), self.ids)
        rank = _ranks(self.group[least])[2]
        last, self._least = least[rank == self.k], least[rank <= self.k]
        self.bound[self.group[last]], self._holder[self.group[last]] = self.worse[last], last

    def better(self, place: Ints) -> Ints:
        """Those of the places that are before the bound of their group; of equal scores by the ids."""
        place = place[self.worse[place] <= self.bound[self.group[place]]]
        bound = self.bound[self.group[place]]
        tied = np.flatnonzero((self.worse[place] == bound) & (bound < np.inf))  # where it is, no row holds it yet
        if not len(tied):
            return place
        order = self.ids(np.concatenate([place[tied], self._holder[self.group[place[tied]]]]))
        own, of_holder = np.split(order, 2)
        return np.delete(place, tied[own >= of_holder])


def _sorted(code: Ints, worse: Floats, place: Ints, ids: Ids) -> Ints:
    """Places by code, then the least first; of equal ones those with the smaller ids."""
    place = place[np.lexsort((worse[place], code[place]))]
    group, value = code[place], worse[place]
    same = (group[1:] == group[:-1]) & (value[1:] == value[:-1])
    if not same.any():
        return place
    tied = np.append(same, False) | np.append(False, same)
    order = np.zeros(len(place), np.int64)
    order[tied] = ids(place[tied])
    return place[np.lexsort((order, value, group))]


def _ranks(code: Ints) -> tuple[Ints, Ints, Ints]:
    """Codes, where each of them begins, and the rank of each row in its run, from 1 on; equal codes are neighbours."""
    first = np.flatnonzero(np.diff(code, prepend=code[:1] - 1))
    many = np.diff(first, append=len(code))
    return code, first, np.arange(1, len(code) + 1) - np.repeat(first, many)
