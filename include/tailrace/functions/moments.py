"""Moments of values and of pairs, and the functions of them: variances, covariances and the correlation."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa

from tailrace.functions.function import BoundFunction, Function, Values
from tailrace.ground.arrow.grouped_rows import GroupedRows
from tailrace.ground.arrow.value_column import Floats, ValueColumn
from tailrace.windows.panes import Arrays


@dataclass(frozen=True)
class Moments:
    """The number, the mean and the sum of squared deviations of values, in doubles.

    They are merged as in Chan, Golub & LeVeque, Updating Formulae and a Pairwise Algorithm for Computing Sample
    Variances, 1979, so that no digit is lost if the mean is far greater than the deviations.
    """

    column: str

    @property
    def names(self) -> list[str]:
        return [f"{self.column}:{part}" for part in ("number", "mean", "squares")]

    @property
    def types(self) -> dict[str, pa.DataType]:
        return dict.fromkeys(self.names, pa.float64())

    def lift(self, values: ValueColumn, tuples: pa.RecordBatch) -> Arrays:
        parts = values.is_value.astype(np.float64), values.doubles, np.zeros(len(values.column))
        return dict(zip(self.names, parts, strict=True))

    def merge(self, rows: GroupedRows, columns: Arrays) -> Arrays:
        number, mean, squares = (columns[name] for name in self.names)
        with np.errstate(over="ignore", invalid="ignore"):
            count = rows.fold(number, "sum")
            merged, deviation = merged_means(rows, number, count, mean)
            spread = rows.fold(squares + number * deviation * deviation, "sum")
        return dict(zip(self.names, (count, merged, spread), strict=True))


def merged_means(rows: GroupedRows, number: Floats, count: Floats, mean: Floats) -> tuple[Floats, Floats]:
    """Return the mean of each of m groups, shape (m,), and the deviation of each of n rows' means from it, shape (n,).

    Means are added as differences from one mean of the group, so that equal values give exactly that value.
    """
    base = rows.fold(np.where(number > 0, mean, -np.inf), "max")
    base = np.where(count > 0, base, 0.0)
    offset = np.where(number > 0, mean - base[rows.group], 0.0)
    center = rows.fold(number * offset, "sum") / np.maximum(count, 1.0)
    return base + center, offset - center[rows.group]


@dataclass(frozen=True)
class JointMoments:
    """The moments of the pairs of tuples that have both values, in doubles.

    These are their number, both means, both sums of squared deviations, and the sum of the products of deviations. They
    are merged like `Moments` (Chan, Golub & LeVeque, 1979; Pébay, Formulas for Robust, One-Pass Parallel Computation of
    Covariances, 2008).

    Attributes
    ----------
    other : str
        The tuples' column with the second value of each pair.
    """

    column: str
    other: str

    @property
    def names(self) -> list[str]:
        parts = ("number", "mean", "other_mean", "squares", "other_squares", "products")
        return [f"joint {len(self.column)}:{self.column}:{self.other}:{part}" for part in parts]

    @property
    def types(self) -> dict[str, pa.DataType]:
        return dict.fromkeys(self.names, pa.float64())

    def lift(self, values: ValueColumn, tuples: pa.RecordBatch) -> Arrays:
        others = ValueColumn(tuples.column(self.other))
        is_pair, nothing = values.is_value & others.is_value, np.zeros(len(values.column))
        parts = is_pair.astype(np.float64), values.doubles, others.doubles, nothing, nothing, nothing
        return dict(zip(self.names, parts, strict=True))

    def merge(self, rows: GroupedRows, columns: Arrays) -> Arrays:
        number, *means, squares, other_squares, products = (columns[name] for name in self.names)
        with np.errstate(over="ignore", invalid="ignore"):
            count = rows.fold(number, "sum")
            merged, (one, other) = zip(*(merged_means(rows, number, count, mean) for mean in means), strict=True)
            sums = (squares, one, one), (other_squares, other, other), (products, one, other)
            spreads = (rows.fold(spread + number * left * right, "sum") for spread, left, right in sums)
            return dict(zip(self.names, (count, *merged, *spreads), strict=True))


def correlation(moments: JointMoments, columns: Arrays) -> pa.Array:
    """Return Pearson's r; null for a single pair, and if one of the columns does not vary."""
    _, _, _, one, other, both = (columns[name] for name in moments.names)
    with np.errstate(all="ignore"):
        product = one * other  # its root is exact if the columns are equal, unlike the product of their roots
        in_range = np.isfinite(product) & (product > 0)
        root = np.where(in_range, np.sqrt(product), np.sqrt(one) * np.sqrt(other))
        found = np.clip(both / root, -1, 1)
    found = np.where(np.isfinite(one) & np.isfinite(other), found, np.nan)
    return pa.array(found, mask=(one == 0) | (other == 0))


def covariance(moments: JointMoments, columns: Arrays, freedom: int) -> pa.Array:
    """Return the covariance, with the divisor number of pairs − `freedom`; null if that is not positive."""
    number, *_, both = (columns[name] for name in moments.names)
    return pa.array(both / np.maximum(number - freedom, 1), mask=number <= freedom)


def bind_spread(values: Values, parameters: Mapping[str, Any], is_root: bool, freedom: int) -> BoundFunction:
    """Bind a variance or its root, with the divisor number of values − `freedom`."""
    moments = Moments(values.column)
    return BoundFunction(pa.float64(), (moments,), partial(_spread, moments, is_root, freedom))


def bind_joint(
    values: Values, parameters: Mapping[str, Any], finish: Callable[[JointMoments, Arrays], pa.Array]
) -> BoundFunction:
    """Bind a statistic of pairs of numbers."""
    assert values.second is not None
    moments = JointMoments(values.column, values.second.source)
    return BoundFunction(pa.float64(), (moments,), partial(finish, moments))


def _spread(moments: Moments, is_root: bool, freedom: int, columns: Arrays) -> pa.Array:
    number, _, squares = (columns[name] for name in moments.names)
    variance = squares / np.maximum(number - freedom, 1)
    return pa.array(np.sqrt(variance) if is_root else variance, mask=number <= freedom)


_PAIRS = "double, over the tuples that have both values"
_joint = partial(Function, gives=_PAIRS, columns=("column", "other"), needs_name=True)
_deviation, _variance = partial(bind_spread, is_root=True), partial(bind_spread, is_root=False)
_stddev, _var = ("stddev(column)", "std(column)", "stddev_samp(column)"), ("var_samp(column)", "variance(column)")

MOMENTS = (
    Function("stddev", partial(_deviation, freedom=1), "double: of a sample, with the divisor n − 1", sql=_stddev),
    Function("stddev_pop", partial(_deviation, freedom=0), "double: with the divisor n"),
    Function("var", partial(_variance, freedom=1), "double: of a sample, with the divisor n − 1", sql=_var),
    Function("var_pop", partial(_variance, freedom=0), "double: with the divisor n"),
    _joint("corr", partial(bind_joint, finish=correlation)),
    _joint("covar_samp", partial(bind_joint, finish=partial(covariance, freedom=1))),
    _joint("covar_pop", partial(bind_joint, finish=partial(covariance, freedom=0))),
)
