"""The moments of pairs of values, and the statistics that follow from them: correlation and covariances."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from tailrace.aggregate.accumulators import merged_means
from tailrace.ground.grouped_rows import GroupedRows
from tailrace.ground.value_column import ValueColumn
from tailrace.windows.panes import Arrays


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
    """Return Pearson's r, null of one pair and where one of the columns does not vary."""
    _, _, _, one, other, both = (columns[name] for name in moments.names)
    with np.errstate(all="ignore"):
        product = one * other  # its root is exact where the columns are equal, unlike the product of their roots
        in_range = np.isfinite(product) & (product > 0)
        root = np.where(in_range, np.sqrt(product), np.sqrt(one) * np.sqrt(other))
        found = np.clip(both / root, -1, 1)
    found = np.where(np.isfinite(one) & np.isfinite(other), found, np.nan)
    return pa.array(found, mask=(one == 0) | (other == 0))


def covariance(moments: JointMoments, columns: Arrays, freedom: int) -> pa.Array:
    """Return the covariance, with the divisor number of pairs − `freedom`; null where that is not positive."""
    number, *_, both = (columns[name] for name in moments.names)
    return pa.array(both / np.maximum(number - freedom, 1), mask=number <= freedom)
