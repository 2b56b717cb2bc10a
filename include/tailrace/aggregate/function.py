"""An aggregate function: one frozen object with all that the package needs to know of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from tailrace.aggregate import folds
from tailrace.aggregate.folds import Floats, Fold, Ints
from tailrace.ground.columns import group_sums
from tailrace.windows.panes import Columns, late_tuples


@dataclass(frozen=True)
class Accumulated:
    """A column of an accumulator, in doubles.

    Attributes
    ----------
    fold : 'sum', 'min', 'max' or 'keep'
        How the rows of a pane, and of a window, merge. An accumulator that keeps all values has one column.
    of : callable
        Gives the column of single tuples from their values, shape (n,): the values themselves by default.
    """

    fold: Fold
    of: Callable[[Floats], Floats] = np.asarray


@dataclass(frozen=True)
class Function:
    """An aggregate function: the summary of a pane and the answer of a window (`windows.panes.Summary`).

    Attributes
    ----------
    name : str
        Its name in query files.
    finish : callable
        Takes `tuples` and the accumulator's columns of m windows, as `folds.gather` returns them, and its parameters by
        name; returns the answers, doubles of shape (m,).
    accumulator : dict
        The columns that stand for tuples beside their number, by name. Their names pass the shuffle and are stored.
    parameters : dict
        The types of the fields that a query file gives beside the function, as pydantic takes them.
    needs_column : bool
        Whether it is a function of values; else it counts tuples, and a query may leave the column out.
    threshold : callable or None
        Gives the coverage threshold λ_thr from error, risk, population and the parameters; None: the function promises
        nothing. It takes an accumulator of one column.
    sum_of : callable or None
        Gives the sum that stands behind answers, from these and `tuples`: then late tuples can be added to an answer
        without reading history. It takes an accumulator of one sum. None: such windows are evaluated again.
    """

    name: str
    finish: Callable[..., Floats]
    accumulator: Mapping[str, Accumulated] = field(default_factory=lambda: {"total": Accumulated("sum")})
    parameters: Mapping[str, Any] = field(default_factory=dict)
    needs_column: bool = True
    threshold: Callable[..., float] | None = None
    sum_of: Callable[[Floats, Ints], Floats] | None = None

    def __post_init__(self) -> None:
        """Refuse what the operators can't keep."""
        if "keep" in self.folds and len(self.folds) > 1:
            raise ValueError(f"{self.name}: an accumulator that keeps all values has one column")
        if self.threshold is not None and [*self.accumulator] != ["total"]:
            raise ValueError(f"{self.name}: a function that promises has an accumulator of one column, total")
        if self.sum_of is not None and (self.folds, [*self.accumulator]) != (("sum",), ["total"]):
            raise ValueError(f"{self.name}: a function that is amended has an accumulator of one sum, total")

    @property
    def folds(self) -> tuple[Fold, ...]:
        """The folds of the accumulator's columns."""
        return tuple(column.fold for column in self.accumulator.values())

    @property
    def types(self) -> dict[str, pa.DataType]:
        return {"tuples": pa.int64()} | dict.fromkeys(self.accumulator, pa.float64())

    def accumulate(self, values: Floats) -> list[Floats]:
        """Return the accumulator's columns of single tuples, given their values."""
        return [column.of(values) for column in self.accumulator.values()]

    def merge(self, group_id: Ints, columns: Columns) -> tuple[Ints, Columns]:
        group_id, *merged = folds.merge(self.folds, group_id, *(columns[name] for name in self.types))
        return group_id, dict(zip(self.types, merged, strict=True))

    def late(self, group_id: Ints, columns: Columns) -> tuple[Ints, dict[str, pa.Array]]:
        """Sum late rows: `total` is the sum of their values where answers are amended, else null."""
        if self.sum_of is None:
            return late_tuples(group_id, columns)
        group_id, (tuples, total) = group_sums(group_id, columns["tuples"], columns["total"])
        return group_id, {"tuples": pa.array(tuples), "total": pa.array(total)}

    def answer(self, group_id: Ints, row: Ints, columns: Columns) -> tuple[Ints, Columns]:
        """Answer each window by a row with its `tuples` and `value`."""
        group_id, tuples, *totals = folds.gather(self.folds, group_id, row, *(columns[name] for name in self.types))
        return group_id, {"tuples": tuples, "value": self.finish(tuples, *totals)}

    def with_parameters(self, parameters: Mapping[str, float]) -> Function:
        """Return the function with the parameters that a query declares."""
        if not parameters:
            return self
        threshold = None if self.threshold is None else partial(self.threshold, **parameters)
        return replace(self, finish=partial(self.finish, **parameters), threshold=threshold)
