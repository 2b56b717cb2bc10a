"""Columnar selection of the k best rows of each group: the summary of a pane, and the answer of a window."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tailrace.ground.arrow.columns import group_sums
from tailrace.ground.arrow.value_column import ValueColumn, restored, stored_type
from tailrace.topk.selected import SelectedColumns
from tailrace.windows.panes import Arrays, Ints, late_tuples

Ids = Callable[[Ints], Ints]

FEW = 4096  # with fewer rows, a bound does not pay off
WORTH = 4  # nor in groups with fewer rows than this multiple of k
HEAD = 16  # the first of this number of parts of the rows gives a bound for the others
_UINT16_CODES = 1 << 16  # up to this number of groups, codes have two bytes and sort faster


@dataclass(frozen=True)
class Best:
    """The summary of a pane by its k best rows (`windows.panes.Summary`); among equal scores, smaller ids win.

    The merge is associative, as the k best rows of two sets follow from the k best of each. So partials can be pruned
    before the shuffle.
    """

    k: int
    descending: bool
    id_type: pa.DataType
    selected: SelectedColumns = field(default_factory=SelectedColumns)
    score_type: pa.DataType = pa.float64()  # noqa: RUF009 (frozen)

    @cached_property
    def scores(self) -> Scores:
        return Scores(self.score_type, self.descending)

    @cached_property
    def types(self) -> dict[str, pa.DataType]:
        return {"tuples": pa.int64(), "score": self.scores.stored, "id": self.id_type} | self.selected.stored

    def late(self, group_id: Ints, columns: Arrays) -> tuple[Ints, dict[str, pa.Array]]:
        return late_tuples(group_id, columns)

    def merge(self, group_id: Ints, columns: Arrays) -> tuple[Ints, Arrays]:
        """Return the k best rows of each code, the best first; `tuples` of the first counts all rows of the code."""
        worse, ids = self.scores.worse(columns["score"]), columns["id"]
        index = self.best_rows(group_id, worse, lambda rows: order_of(pa.array(ids[rows], self.id_type)))
        best_code, first, _ = _ranks(group_id[index])
        _, (total,) = group_sums(group_id, columns["tuples"])
        tuples = np.zeros(len(index), np.int64)
        tuples[first] = total
        best = {name: column[index] for name, column in columns.items() if name != "tuples"}
        return best_code, {"tuples": tuples} | best

    def answer(self, group_id: Ints, row: Ints, columns: Arrays) -> tuple[Ints, Arrays]:
        """Return the ranking of each window: `rank` from 1 on, `id`, `score`, `tuples`, and stored columns.

        `tuples` is the number of tuples in the window.
        """
        group_id, rows = self.merge(group_id, {name: column[row] for name, column in columns.items()})
        group_id, first, rank = _ranks(group_id)
        counts = np.diff(first, append=len(group_id))
        tuples = np.repeat(rows["tuples"][first], counts)
        return group_id, {"rank": rank} | rows | {"tuples": tuples}

    def best_rows(self, group_id: Ints, worse: Numbers, ids: Ids, group: Ints | None = None) -> Ints:
        """Return the indices of the k best rows of each code, by code and then the best first.

        Parameters
        ----------
        group_id, worse : ndarray, shape (n,)
            `worse` is in the order of ranks, see `Scores.worse`.
        ids : callable
            Returns the order of the ids of rows, given their indices; only called for equal scores.
        group : ndarray, shape (n,), optional
            Coarser codes than `group_id`; a row may be left out if k earlier rows of its group are better.
        """
        index = contenders(group_id if group is None else group, worse, self.k, ids)
        index = _sort_by_rank(group_id, worse, index, ids)
        return index[_ranks(group_id[index])[2] <= self.k]


def order_of(ids: pa.Array) -> Ints:
    """Return integers in the order of the ids, shape (n,); text is ordered by code points."""
    if pa.types.is_integer(ids.type):
        return np.asarray(ids)
    return np.asarray(pc.rank(ids, tiebreaker="dense")).astype(np.int64)


def contenders(group: Ints, worse: Numbers, k: int, ids: Ids) -> Ints:
    """Return the indices of all rows that fewer than k earlier rows of their group dominate, and of some others.

    The k-th least value of a group so far is a bound for its next rows. The first part of all rows gives a bound for
    the others. Rows within it are examined in stretches of each group, each as long as all before it, because a group
    may begin later. If rows are few, in total or in a group, all indices are returned.
    """
    n = len(group)
    low, span = (int(group.min()), int(np.ptp(group)) + 1) if n else (0, 0)
    if n < FEW or span * k * WORTH > n:
        return np.arange(n)
    group, head = group - low, n // HEAD
    bounds = _Bounds(group, worse, k, ids, span)
    parts, end = [contenders(group[:head], worse[:head], k, ids)], k * WORTH
    bounds.learn(parts[0])
    index = head + np.flatnonzero(worse[head:] <= bounds.bound[group[head:]])
    codes = group[index]
    order = np.argsort(codes.astype(np.uint16) if span <= _UINT16_CODES else codes, kind="stable")
    index, nth = index[order], _ranks(codes[order])[2]
    while len(index):
        in_stretch = nth <= end
        parts.append(bounds.better(index[in_stretch]))
        bounds.learn(parts[-1])
        index, nth, end = index[~in_stretch], nth[~in_stretch], 2 * end
    return np.concatenate(parts)


class _Bounds:
    """The bound of each group (the k-th least value among the rows so far), and the row that holds it."""

    def __init__(self, group: Ints, worse: Numbers, k: int, ids: Ids, groups: int) -> None:
        self.group, self.worse, self.k, self.ids = group, worse, k, ids
        no_bound = np.inf if worse.dtype == np.float64 else np.iinfo(np.int64).max
        self.bound, self._least = np.full(groups, no_bound, worse.dtype), group[:0]
        self._holder = np.full(groups, -1)  # -1: no row holds the bound yet

    def learn(self, index: Ints) -> None:
        least = _sort_by_rank(self.group, self.worse, np.concatenate([self._least, index]), self.ids)
        rank = _ranks(self.group[least])[2]
        last, self._least = least[rank == self.k], least[rank <= self.k]
        self.bound[self.group[last]], self._holder[self.group[last]] = self.worse[last], last

    def better(self, index: Ints) -> Ints:
        """Select the given indices whose rows rank before their group's bound; ids break ties."""
        index = index[self.worse[index] <= self.bound[self.group[index]]]
        group = self.group[index]
        tied = np.flatnonzero((self.worse[index] == self.bound[group]) & (self._holder[group] >= 0))
        if not len(tied):
            return index
        order = self.ids(np.concatenate([index[tied], self._holder[group[tied]]]))
        row_order, holder_order = np.split(order, 2)
        return np.delete(index, tied[row_order >= holder_order])


def _sort_by_rank(group_id: Ints, worse: Numbers, index: Ints, ids: Ids) -> Ints:
    """Sort indices by code, then by value, then by id."""
    index = index[np.lexsort((worse[index], group_id[index]))]
    group, value = group_id[index], worse[index]
    same = (group[1:] == group[:-1]) & (value[1:] == value[:-1])
    if not same.any():
        return index
    tied = np.append(same, False) | np.append(False, same)
    order = np.zeros(len(index), np.int64)
    order[tied] = ids(index[tied])
    return index[np.lexsort((order, value, group))]


def _ranks(group_id: Ints) -> tuple[Ints, Ints, Ints]:
    """Return the codes, the start of each run of equal ones, and the rank of each row in its run, from 1 on."""
    first = np.flatnonzero(np.diff(group_id, prepend=group_id[:1] - 1))
    counts = np.diff(first, append=len(group_id))
    return group_id, first, np.arange(1, len(group_id) + 1) - np.repeat(first, counts)


# Rows inside store doubles as doubles; booleans, integers, dates, timestamps and decimals of up to 18 digits as 64-bit
# integers in the same order; longer decimals as bytes in the same order; and texts as they are. So no score is rounded.

Numbers = NDArray[np.int64] | NDArray[np.float64]


class Reversed:
    """A text or bytes in descending order."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __lt__(self, other: Reversed) -> bool:
        return bool(other.value < self.value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Reversed) and bool(self.value == other.value)

    def __hash__(self) -> int:
        return hash(self.value)


@dataclass(frozen=True)
class Scores:
    """The scores of a query.

    Attributes
    ----------
    dtype : DataType
        Their type in answers.
    descending : bool
        Whether the largest come first.
    """

    dtype: pa.DataType = pa.float64()  # noqa: RUF009 (frozen)
    descending: bool = True

    @property
    def stored(self) -> pa.DataType:
        """The type in which rows store them."""
        return stored_type(self.dtype)

    def store(self, column: pa.Array) -> pa.Array:
        """Return scores as rows store them."""
        if column.type == self.stored:
            return column
        return pa.array(ValueColumn(column).objects, self.stored)

    def restore(self, rows: pa.Array) -> pa.Array:
        """Convert stored scores back to their type."""
        return restored(rows.cast(self.stored), np.zeros(len(rows), bool), self.dtype)

    def worse_of(self, column: pa.Array) -> Numbers:
        """Return numbers in the order of ranks, the best score first, for n scores in their own type."""
        return self._worse(ValueColumn(column).objects if self._are_numbers else _dense_ranks(column))

    def worse(self, stored: NDArray[Any]) -> Numbers:
        """Return numbers in the order of ranks, the best score first, for n stored scores."""
        return self._worse(stored if self._are_numbers else _dense_ranks(pa.array(stored, self.stored)))

    def sort_keys(self, stored: NDArray[Any]) -> list[Any]:
        """Return a sort key of each stored score, the best first, which does not depend on the other scores."""
        if self._are_numbers:
            stored = self._worse(stored)
        values: list[Any] = stored.tolist()
        return [Reversed(value) for value in values] if self.descending and not self._are_numbers else values

    def stored_key(self, key: Any) -> Any:
        """Return a sort key as a state stores it, in the type `stored`."""
        return key.value if isinstance(key, Reversed) else key

    def restored_key(self, value: Any) -> Any:
        """Return the sort key that a state stores as this value."""
        return Reversed(value) if self.descending and not self._are_numbers else value

    def score(self, key: Any) -> Any:
        """Return the stored score that has a sort key."""
        if not self.descending:
            return key
        if isinstance(key, Reversed):
            return key.value
        return ~key if isinstance(key, int) else -key

    @property
    def _are_numbers(self) -> bool:
        return bool(pa.types.is_floating(self.stored) or pa.types.is_integer(self.stored))

    def _worse(self, numbers: NDArray[Any]) -> Numbers:
        if not self.descending:
            return numbers
        return -numbers if numbers.dtype == np.float64 else ~numbers  # ~: the least integer has no negative


def _dense_ranks(column: pa.Array) -> NDArray[np.int64]:
    """Return the ranks of texts, bytes or decimals among their distinct values; text is ordered by code points."""
    return np.asarray(pc.rank(column, tiebreaker="dense")).astype(np.int64)
