"""The functions of ranks, quantiles and the median, computed for many windows at once."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from functools import partial
from math import ceil
from typing import Any

import numpy as np
import pyarrow as pa

from tailrace.functions.coverage import ranked
from tailrace.functions.function import BoundFunction, Function, Values, to_doubles, to_type
from tailrace.functions.kept import Kept
from tailrace.ground.arrow.grouped_rows import GroupedRows
from tailrace.ground.arrow.value_column import Floats, Ints
from tailrace.windows.panes import Arrays


def quantiles(tuples: Ints, values: Floats, q: float) -> Floats:
    """Return the q-quantile of each window, by linear interpolation at position q · (tuples − 1).

    This is definition 7 of Hyndman & Fan, Sample Quantiles in Statistical Packages, The American Statistician 50, 1996,
    and the default of numpy and R.

    Parameters
    ----------
    tuples : ndarray, shape (m,)
        The number of values of each window, at least 1.
    values : ndarray, shape (Σ tuples,)
        Finite; the values of all windows in turn, ascending in each.
    q : float
        In [0, 1].

    Returns
    -------
    ndarray, shape (m,)
        Each lies between the two values next to its position, even if their difference overflows a double.
    """
    index = (tuples - 1) * q
    below, start = np.floor(index), np.cumsum(tuples) - tuples
    low, high = (values[start + neighbour.astype(np.int64)] for neighbour in (below, np.ceil(index)))
    share = index - below
    # low + (high − low) · share could overflow in the difference. The result is clipped, as rounding may leave the
    # range [low, high].
    quantile: Floats = np.clip(low * (1 - share) + high * share, low, high)
    return quantile


def bind_quantile(values: Values, parameters: Mapping[str, Any], q: float | None = None) -> BoundFunction:
    """Bind a quantile, by linear interpolation as in `quantiles.quantiles`."""
    kept = Kept(values.column, values.dtype, in_doubles=True)
    measure = partial(_quantile, kept, parameters["q"] if q is None else q)
    return BoundFunction(pa.float64(), (kept,), partial(to_doubles, "count", "quantile"), measure)


def bind_quantile_disc(values: Values, parameters: Mapping[str, Any]) -> BoundFunction:
    """Bind the least value at or below which a share of at least q of the values lies."""
    kept = Kept(values.column, values.dtype, in_doubles=False)
    measure = partial(_quantile_disc, kept, Fraction(str(parameters["q"])))
    return BoundFunction(values.dtype, (kept,), partial(to_type, "count", "quantile", values.dtype), measure)


def _quantile(kept: Kept, q: float, rows: GroupedRows, columns: Arrays) -> Arrays:
    counts, values = kept.ascending(rows, columns)
    answers = np.zeros(len(counts))
    answers[counts > 0] = quantiles(counts[counts > 0], values, q)
    return {"count": counts, "quantile": answers}


def _quantile_disc(kept: Kept, q: Fraction, rows: GroupedRows, columns: Arrays) -> Arrays:
    counts, row = kept.ascending_rows(rows, columns)
    sizes, of_group = np.unique(counts, return_inverse=True)
    places = np.array([max(ceil(q * size) - 1, 0) for size in sizes.tolist()], np.int64)  # q · n rounded up, exactly
    place = np.cumsum(counts) - counts + places[of_group]
    values = columns[kept.name]
    answers = np.full(len(counts), None if values.dtype == object else 0, values.dtype)
    answers[counts > 0] = values[row[place[counts > 0]]]
    return {"count": counts, "quantile": answers}


_QUANTILE = "double, interpolated at place q · (n − 1), counted from 0"
_DISC = "the column's type: the value at place q · n of n in ascending order, counted from 1 and rounded up"
_CONT_SQL = ("percentile(column, q)", "percentile_cont(q) WITHIN GROUP (ORDER BY column)")
_DISC_SQL = ("percentile_disc(q) WITHIN GROUP (ORDER BY column)",)
_rank = partial(Function, keeps_values=True)
_at = partial(_rank, parameters=("q",))

RANKS = (
    _rank("median", partial(bind_quantile, q=0.5), "as `quantile` with `q: 0.5`", threshold=partial(ranked, q=0.5)),
    _at("quantile", bind_quantile, _QUANTILE, sql=_CONT_SQL, threshold=ranked),
    _at("quantile_disc", bind_quantile_disc, _DISC, "any", _DISC_SQL),
)
