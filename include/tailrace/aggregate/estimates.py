"""Scales early answers by the expected coverage of their window, to estimates of the whole window with an interval.

For a window that closes while a share c of its tuples is expected to have arrived, the estimate of a sum or a count is
S/c, where S is the sum over the tuples that have (a count is a sum of ones). This is the estimator of Horvitz &
Thompson, A Generalization of Sampling Without Replacement From a Finite Universe, JASA 47, 1952. If each tuple has
arrived with probability c, independently of the others and of its value, it is unbiased, and an unbiased estimate of
its variance is (1 − c)/c² · Σv² over the tuples that have arrived. For a count k, that is k(1 − c)/c², which is also
the variance of the number of missing tuples, negative binomial given k.

c itself varies between windows by φ (`CoverageCurves.spread`), which adds (S φ/c²)². So the standard error is

    √((1 − c) Σv² + (S φ/c)²) / c,

and the interval reaches 1.96 of them to either side: it holds the whole window's value for 95 % of windows, by the
normal distribution.

Assumptions: delays depend neither on values nor on keys; the window's delays are like the ones in the 64 windows before
it (not at the beginning of a burst); no few values dominate the sum (a missing one is in no Σv²).

An answer is scaled only if its interval does not contain S. Otherwise S is as plausible as the estimate, and scaling
would move the error without reducing it. That is so with few tuples, as the number of missing ones is then mostly
chance, and with erratic coverage.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tailrace.aggregate.aggregates import NamedAggregate
from tailrace.aggregate.interval_names import interval_names
from tailrace.ground.arrow.number_types import as_doubles
from tailrace.ground.arrow.value_column import Floats

COVERAGE, SPREAD = "=coverage", "=spread"
"""Columns of closed windows: the expected coverage, and its standard deviation between windows."""

ERRORS = 1.96
"""Standard errors on either side of an estimate, for a level of 95 %."""

_LARGEST_INTEGER = 2.0**62


@dataclass(frozen=True)
class Scaled:
    """The estimates of n answers, in doubles; `value` is the raw value if `is_scaled` is false."""

    is_scaled: NDArray[np.bool_]
    value: Floats
    low: Floats
    high: Floats


def scale(total: Floats, squares: Floats, coverage: Floats, spread: Floats) -> Scaled:
    """Scale sums by the expected coverage, given Σv and Σv² of the tuples that have arrived; shape (n,) each."""
    with np.errstate(all="ignore"):
        value = total / coverage
        reach = ERRORS * np.sqrt((1 - coverage) * squares + (total * spread / coverage) ** 2) / coverage
        is_scaled = (np.abs(value - total) > reach) & np.isfinite(value + reach)
    return Scaled(is_scaled, np.where(is_scaled, value, total), value - reach, value + reach)


def raw_name(aggregate: NamedAggregate) -> str:
    """Return the name of the answers' column with the raw aggregate, over the tuples that have arrived."""
    return interval_names(aggregate.name)[2] if aggregate.is_estimated else aggregate.name


def interval_types(aggregate: NamedAggregate) -> dict[str, pa.DataType]:
    """Return the types of the further columns of an estimated answer."""
    low, high, raw = interval_names(aggregate.name)
    return {low: pa.float64(), high: pa.float64(), raw: aggregate.result}


def estimate(aggregate: NamedAggregate, raw: pa.Array, windows: pa.RecordBatch) -> dict[str, pa.Array]:
    """Return the columns of an answer, given the closed windows with their accumulators, `COVERAGE` and `SPREAD`."""
    squares = None if aggregate.squares is None else np.asarray(windows.column(aggregate.squares.name))
    return estimated(aggregate, raw, squares, *(np.asarray(windows.column(name)) for name in (COVERAGE, SPREAD)))


def estimated(
    aggregate: NamedAggregate, raw: pa.Array, squares: Floats | None, coverage: Floats, spread: Floats
) -> dict[str, pa.Array]:
    """Return the columns of an answer: its value, and its low, high and raw values; shape (n,).

    Parameters
    ----------
    raw : Array, shape (n,)
        The answers over the tuples that have arrived.
    squares : ndarray, shape (n,), or None
        Σv² of these tuples; None for a count.
    """
    total = as_doubles(raw).to_numpy(zero_copy_only=False)
    scaled = scale(total, total if squares is None else squares, coverage, spread)
    is_scaled = scaled.is_scaled & fits(aggregate.result, scaled.value)
    low, high, of_raw = interval_names(aggregate.name)
    bounds = {name: pa.array(column, mask=~is_scaled) for name, column in ((low, scaled.low), (high, scaled.high))}
    return {aggregate.name: _chosen(is_scaled, scaled.value, raw), **bounds, of_raw: raw}


def whole(aggregate: NamedAggregate, raw: pa.Array) -> dict[str, pa.Array]:
    """Return the columns of an answer that is no estimate, such as a corrected one, which has no interval.

    An interval of no width would mean that no further tuple can come. Without an interval, the value is the value of
    the tuples so far.
    """
    low, high, of_raw = interval_names(aggregate.name)
    none = pa.nulls(len(raw), pa.float64())
    return {aggregate.name: raw, low: none, high: none, of_raw: raw}


def fits(dtype: pa.DataType, value: Floats) -> NDArray[np.bool_]:
    """Test which values fit a type of sums or counts, with room for rounding."""
    if pa.types.is_decimal(dtype):
        return np.asarray(np.abs(value) < 10.0 ** (dtype.precision - dtype.scale - 1))
    return np.asarray(np.abs(value) < _LARGEST_INTEGER) if pa.types.is_integer(dtype) else np.isfinite(value)


def _chosen(is_scaled: NDArray[np.bool_], value: Floats, raw: pa.Array) -> pa.Array:
    """Return the scaled values in the type of the raw ones, rounded to it, and the raw ones elsewhere."""
    scaled = np.where(is_scaled, value, 0.0)
    if pa.types.is_integer(raw.type):
        scaled = np.rint(scaled).astype(np.int64)
    return pc.if_else(pa.array(is_scaled), pa.array(scaled).cast(raw.type), raw)
