"""The registry of aggregate functions; a new one is a line: its fold, and the answer from a window's folded rows."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar

import numpy as np
import pyarrow as pa

from tailrace.aggregate import folds
from tailrace.aggregate.folds import Floats, Fold, Ints
from tailrace.windows.panes import Columns


@dataclass(frozen=True)
class Function:
    """An aggregate function: the summary of a pane and the answer of a window (`windows.panes.Summary`).

    Attributes
    ----------
    finish : callable
        Takes `tuples` and `total` of m windows, as `folds.gather` returns them; returns their answers, doubles of shape
        (m,).
    """

    fold: Fold
    finish: Callable[..., Floats]

    types: ClassVar[dict[str, pa.DataType]] = {"tuples": pa.int64(), "total": pa.float64()}

    @property
    def adds(self) -> bool:
        return self.fold == "sum"

    def merge(self, code: Ints, columns: Columns) -> tuple[Ints, Columns]:
        code, tuples, total = folds.merge(self.fold, code, columns["tuples"], columns["total"])
        return code, {"tuples": tuples, "total": total}

    def answer(self, code: Ints, row: Ints, columns: Columns) -> tuple[Ints, Columns]:
        """One row for each window: `tuples`, and the answer as `total`."""
        code, tuples, total = folds.gather(self.fold, code, row, columns["tuples"], columns["total"])
        return code, {"tuples": tuples, "total": self.finish(tuples, total)}


def quantiles(tuples: Ints, values: Floats, q: float) -> Floats:
    """The q-quantile of each window, by linear interpolation between the values next to place q · (tuples − 1).

    That is definition 7 of Hyndman & Fan, Sample Quantiles in Statistical Packages, The American Statistician 50, 1996,
    and the default of numpy and R.

    Parameters
    ----------
    tuples : ndarray, shape (m,)
        The number of values of each window, at least 1.
    values : ndarray, shape (Σ tuples,)
        Finite; those of one window after another, ascending in each.
    q : float
        In [0, 1].

    Returns
    -------
    ndarray, shape (m,)
        Each lies between the two values next to its place, even where their difference overflows a double.
    """
    place = (tuples - 1) * q
    below, start = np.floor(place), np.cumsum(tuples) - tuples
    low, high = (values[start + neighbour.astype(np.int64)] for neighbour in (below, np.ceil(place)))
    share = place - below
    # Not low + (high − low) · share: the difference may overflow. Clipped, as rounding may leave the range [low, high].
    quantile: Floats = np.clip(low * (1 - share) + high * share, low, high)
    return quantile


FUNCTIONS: dict[str, Function] = {
    "sum": Function("sum", lambda tuples, total: total),
    "count": Function("sum", lambda tuples, total: tuples.astype(float)),
    "avg": Function("sum", lambda tuples, total: total / tuples),
    "min": Function("min", lambda tuples, total: total),
    "max": Function("max", lambda tuples, total: total),
    "median": Function("keep", partial(quantiles, q=0.5)),
    "quantile": Function("keep", quantiles),  # the query declares its q
}


def function_of(name: str, q: float | None) -> Function:
    """Look up a function in the registry and bind the declared q to it, if there is one."""
    function = FUNCTIONS[name]
    return function if q is None else replace(function, finish=partial(function.finish, q=q))
