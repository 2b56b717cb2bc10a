"""Aggregate functions bound to a column of a known type, with Spark SQL's result types and nulls."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from math import ceil
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tailrace.aggregate.accumulators import Accumulator, Count, ExactTotal, Extreme, Moments, Total
from tailrace.aggregate.chosen import Choice, Chosen
from tailrace.aggregate.functions import FUNCTIONS
from tailrace.aggregate.joint_moments import JointMoments, correlation, covariance
from tailrace.aggregate.kept import Kept, KeptInOrder, lists
from tailrace.aggregate.quantiles import quantiles
from tailrace.ground.grouped_rows import GroupedRows
from tailrace.ground.number_types import EXACT, is_number
from tailrace.ground.value_column import (
    ValueColumn,
    decimals,
    is_exact,
    is_of_64_bits,
    restored,
    stored_type,
)
from tailrace.windows.panes import Arrays

if TYPE_CHECKING:
    from tailrace.aggregate.distinct_sketch import DistinctSketch

MOST_DIGITS, _MORE_DIGITS = 38, 10
"""The digits of the longest decimal, and how many more digits a sum has than its values."""


_WORD = (1 << 64) - 1
_NO_TUPLES = pa.RecordBatch.from_pylist([], pa.schema([]))


class SecondColumn(NamedTuple):
    """A further column of the tuples that a function takes, and its type; its values may be null."""

    source: str
    dtype: pa.DataType


class Values(NamedTuple):
    """The values that a function is bound to.

    Attributes
    ----------
    source : str or None
        The column of the tuples; None: the condition itself, null where it is not true.
    dtype : DataType
        Its type.
    id_type : DataType
        The type of the tuples' ids.
    condition : str or None
        A boolean column of the tuples; where it is not true, the value is null.
    second : SecondColumn or None
        The second column of a function of two.
    """

    source: str | None
    dtype: pa.DataType
    id_type: pa.DataType = pa.string()
    condition: str | None = None
    second: SecondColumn | None = None

    @property
    def column(self) -> str:
        """The name of these values, unique within the query."""
        return (self.source or "") if self.condition is None else f"{self.condition}:{self.source or ''}"

    @property
    def types(self) -> dict[str, pa.DataType]:
        """The types of the columns of the tuples that are read, by name."""
        own = {} if self.source is None else {self.source: self.dtype}
        return own if self.second is None else own | {self.second.source: self.second.dtype}

    def read(self, tuples: pa.RecordBatch) -> ValueColumn:
        """Return the values of tuples."""
        if self.condition is None:
            return ValueColumn(tuples.column(self.source))
        holds = tuples.column(self.condition)
        values = holds if self.source is None else tuples.column(self.source)
        return ValueColumn(pc.if_else(holds.fill_null(False), values, pa.scalar(None, values.type)))


@dataclass(frozen=True)
class BoundFunction:
    """A function bound to a column; a frozen value that is sent to every worker.

    Attributes
    ----------
    result : DataType
        The type of its answers.
    accumulators : tuple of Accumulator
        The accumulators that it needs of a window's tuples.
    finish : callable
        Returns the answers of m windows from the columns of the accumulators and of `measure`.
    measure : callable or None
        Returns further columns of m windows from the rows of each; only for functions that keep values.
    count : Count or None
        Set if the result type can overflow; then an answer of a window with values that is null, infinite or NaN is an
        overflow, as values are finite.
    """

    result: pa.DataType
    accumulators: tuple[Accumulator, ...]
    finish: Callable[[Arrays], pa.Array]
    measure: Callable[[GroupedRows, Arrays], Arrays] | None = None
    count: Count | None = None


def bind_count(values: Values, parameters: Mapping[str, Any]) -> BoundFunction:
    """Bind `count`, the number of values that are not null."""
    count = Count(values.column)
    return BoundFunction(pa.int64(), (count,), partial(_integers, count.name))


def bind_sum(values: Values, parameters: Mapping[str, Any]) -> BoundFunction:
    """Bind `sum`: exact for integers and decimals; with `wide`, in a type that holds every sum of integers."""
    count, dtype = Count(values.column), values.dtype
    if not is_exact(dtype):
        total = Total(values.column)
        return BoundFunction(pa.float64(), (count, total), partial(_doubles, count.name, total.name), count=count)
    exact = ExactTotal(values.column, dtype)
    result = pa.decimal128(MOST_DIGITS, 0) if parameters.get("wide") else pa.int64()
    if pa.types.is_decimal(dtype):
        result = pa.decimal128(min(MOST_DIGITS, dtype.precision + _MORE_DIGITS), dtype.scale)
    return BoundFunction(result, (count, exact), partial(_exact, count.name, exact, result), count=count)


def bind_avg(values: Values, parameters: Mapping[str, Any]) -> BoundFunction:
    """Bind `avg`: the exact sum divided by the number of values; of decimals it is the nearest double."""
    count = Count(values.column)
    total = ExactTotal(values.column, values.dtype) if is_exact(values.dtype) else Total(values.column)
    scale = values.dtype.scale if pa.types.is_decimal(values.dtype) else 0
    may_overflow = count if isinstance(total, Total) else None
    return BoundFunction(pa.float64(), (count, total), partial(_mean, count.name, total, scale), count=may_overflow)


def bind_extreme(values: Values, parameters: Mapping[str, Any], how: Choice) -> BoundFunction:
    """Bind `min` or `max`."""
    dtype = values.dtype
    if not (is_of_64_bits(dtype) or pa.types.is_floating(dtype)):
        return bind_choice(values, parameters, how)
    assert how in ("min", "max")
    count, extreme = Count(values.column), Extreme(values.column, dtype, how)
    return BoundFunction(dtype, (count, extreme), partial(_stored, count.name, extreme.name, dtype))


def bind_choice(values: Values, parameters: Mapping[str, Any], choice: Choice) -> BoundFunction:
    """Bind a function that chooses one of the values."""
    count, chosen = Count(values.column), Chosen(values.column, values.dtype, choice, values.id_type)
    return BoundFunction(values.dtype, (count, chosen), partial(_stored, count.name, chosen.name, values.dtype))


def bind_extreme_by(values: Values, parameters: Mapping[str, Any], how: Choice) -> BoundFunction:
    """Bind `min_by` or `max_by`: the second column of the tuple with the least or the greatest value."""
    chosen = Chosen(values.column, values.dtype, how, values.id_type, values.second)
    dtype = chosen.chosen_type
    return BoundFunction(dtype, (chosen,), partial(_stored, chosen.is_value, chosen.name, dtype))


def bind_spread(values: Values, parameters: Mapping[str, Any], is_root: bool, freedom: int) -> BoundFunction:
    """Bind a variance or its root, with the divisor number of values − `freedom`."""
    moments = Moments(values.column)
    return BoundFunction(pa.float64(), (moments,), partial(_spread, moments, is_root, freedom))


def bind_quantile(values: Values, parameters: Mapping[str, Any], q: float | None = None) -> BoundFunction:
    """Bind a quantile, by linear interpolation as in `quantiles.quantiles`."""
    kept = Kept(values.column, values.dtype, in_doubles=True)
    measure = partial(_quantile, kept, parameters["q"] if q is None else q)
    return BoundFunction(pa.float64(), (kept,), partial(_doubles, "count", "quantile"), measure)


def bind_quantile_disc(values: Values, parameters: Mapping[str, Any]) -> BoundFunction:
    """Bind the least value that, with those below it, makes up a share of q or more."""
    kept = Kept(values.column, values.dtype, in_doubles=False)
    measure = partial(_quantile_disc, kept, Fraction(str(parameters["q"])))
    return BoundFunction(values.dtype, (kept,), partial(_stored, "count", "quantile", values.dtype), measure)


def bind_count_distinct(values: Values, parameters: Mapping[str, Any]) -> BoundFunction:
    """Bind the number of distinct values: exact, or a sketch's estimate with `approximate`."""
    if parameters.get("approximate"):
        from tailrace.aggregate.distinct_sketch import DistinctSketch

        sketch = DistinctSketch(values.column)
        return BoundFunction(pa.int64(), (sketch,), partial(_estimates, sketch))
    kept = Kept(values.column, values.dtype, in_doubles=False)
    return BoundFunction(pa.int64(), (kept,), partial(_integers, "distinct"), partial(_distinct, kept))


def bind_sum_distinct(values: Values, parameters: Mapping[str, Any]) -> BoundFunction:
    """Bind the sum of the distinct values, as exact as `sum`."""
    return _bind_distinct(values, bind_sum(values, parameters))


def bind_avg_distinct(values: Values, parameters: Mapping[str, Any]) -> BoundFunction:
    """Bind the average of the distinct values, as exact as `avg`."""
    return _bind_distinct(values, bind_avg(values, parameters))


def _bind_distinct(values: Values, each: BoundFunction) -> BoundFunction:
    """Bind a function of the distinct values, given the same function of all values."""
    kept, count = Kept(values.column, values.dtype, in_doubles=False), Count(values.column)
    measure = partial(_of_distinct, kept, each.accumulators)
    overflows = None if each.count is None else count
    return BoundFunction(each.result, (kept, count), each.finish, measure, overflows)


def bind_list(values: Values, parameters: Mapping[str, Any], is_set: bool) -> BoundFunction:
    """Bind a list of the values in the order of the tuples, or of the distinct ones, ascending.

    A list of more values than the limit is null, and an overflow.
    """
    kept = Kept(values.column, values.dtype, in_doubles=False)
    if not is_set:
        kept = KeptInOrder(values.column, values.dtype, in_doubles=False, id_type=values.id_type)
    count, finish = Count(values.column), partial(lists, values.dtype)
    measure = partial(kept.listed, parameters["limit"])
    return BoundFunction(pa.list_(values.dtype), (kept, count), finish, measure, count)


def bind_joint(
    values: Values, parameters: Mapping[str, Any], finish: Callable[[JointMoments, Arrays], pa.Array]
) -> BoundFunction:
    """Bind a statistic of pairs of numbers."""
    assert values.second is not None
    moments = JointMoments(values.column, values.second.source)
    return BoundFunction(pa.float64(), (moments,), partial(finish, moments))


def _integers(name: str, columns: Arrays) -> pa.Array:
    return pa.array(columns[name], pa.int64())


def _doubles(count: str, name: str, columns: Arrays) -> pa.Array:
    return pa.array(columns[name], pa.float64(), mask=columns[count] == 0)


def _stored(count: str, name: str, dtype: pa.DataType, columns: Arrays) -> pa.Array:
    return restored(pa.array(columns[name], stored_type(dtype)), columns[count] == 0, dtype)


def _exact(count: str, total: ExactTotal, result: pa.DataType, columns: Arrays) -> pa.Array:
    """Return sums in their result type, null where they exceed it."""
    low, high = total.words(columns)
    is_null = columns[count] == 0
    if pa.types.is_decimal(result):
        is_null = is_null | total.overflows(columns) | ~_has_digits(low, high, result.precision)
        return decimals(low, high, is_null, result)
    return pa.array(low, mask=is_null | (high != low >> 63) | total.overflows(columns))


def _has_digits(low: np.ndarray, high: np.ndarray, digits: int) -> np.ndarray:
    """Test whether integers of 128 bits have at most `digits` decimal digits."""
    bound = 10**digits
    top, rest = bound >> 64, np.uint64(bound & (2**64 - 1))
    negative = high < 0
    low_bits = low.view(np.uint64)
    magnitude_low = np.where(negative, ~low_bits + np.uint64(1), low_bits)
    magnitude_high = np.where(negative, ~high + (low_bits == 0), high)
    within: np.ndarray = (magnitude_high < top) | ((magnitude_high == top) & (magnitude_low < rest))
    return within & (magnitude_high >= 0)


def _mean(count: str, total: ExactTotal | Total, scale: int, columns: Arrays) -> pa.Array:
    number = columns[count]
    divisor = np.maximum(number, 1)
    totals = columns[total.name] if isinstance(total, Total) else total.doubles(columns)
    means = totals / (divisor * 10.0**scale)
    if isinstance(total, ExactTotal) and pa.types.is_decimal(total.dtype):
        low, high = total.words(columns)
        is_rounded = (np.abs(totals) > EXACT) | (divisor * 5.0**scale > EXACT)  # a double holds no more of one of them
        for index in np.flatnonzero(is_rounded & ~total.overflows(columns)).tolist():
            exact = (int(high[index]) << 64) + (int(low[index]) & _WORD)
            means[index] = exact / (int(divisor[index]) * 10**scale)  # Python rounds a quotient of integers once
    return pa.array(means, mask=number == 0)


def _spread(moments: Moments, is_root: bool, freedom: int, columns: Arrays) -> pa.Array:
    number, _, squares = (columns[name] for name in moments.names)
    variance = squares / np.maximum(number - freedom, 1)
    return pa.array(np.sqrt(variance) if is_root else variance, mask=number <= freedom)


def _of_distinct(kept: Kept, accumulators: Sequence[Accumulator], rows: GroupedRows, columns: Arrays) -> Arrays:
    """Merge accumulators over a row of each distinct value; the result is as if these were all rows."""
    group, row = kept.distinct_rows(rows, columns)
    stored = pa.array(columns[kept.name][row], stored_type(kept.dtype))
    values = ValueColumn(restored(stored, np.zeros(len(row), bool), kept.dtype))
    distinct = GroupedRows(group.astype(np.int32), len(rows), np.arange(len(rows)))
    merged: Arrays = {}
    for each in accumulators:
        merged |= each.merge(distinct, each.lift(values, _NO_TUPLES))
    return merged


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


def _estimates(sketch: DistinctSketch, columns: Arrays) -> pa.Array:
    return pa.array(sketch.counts(columns))


def _distinct(kept: Kept, rows: GroupedRows, columns: Arrays) -> Arrays:
    return {"distinct": kept.distinct(rows, columns)}


BINDINGS: dict[str, Callable[[Values, Mapping[str, Any]], BoundFunction]] = {
    "sum": bind_sum,
    "count": bind_count,
    "avg": bind_avg,
    "min": partial(bind_extreme, how="min"),
    "max": partial(bind_extreme, how="max"),
    "median": partial(bind_quantile, q=0.5),
    "quantile": bind_quantile,
    "quantile_disc": bind_quantile_disc,
    "stddev": partial(bind_spread, is_root=True, freedom=1),
    "stddev_pop": partial(bind_spread, is_root=True, freedom=0),
    "var": partial(bind_spread, is_root=False, freedom=1),
    "var_pop": partial(bind_spread, is_root=False, freedom=0),
    "count_distinct": bind_count_distinct,
    "first": partial(bind_choice, choice="first"),
    "last": partial(bind_choice, choice="last"),
    "any_value": partial(bind_choice, choice="first"),
    "min_by": partial(bind_extreme_by, how="min"),
    "max_by": partial(bind_extreme_by, how="max"),
    "bool_and": partial(bind_extreme, how="min"),
    "bool_or": partial(bind_extreme, how="max"),
    "collect_list": partial(bind_list, is_set=False),
    "collect_set": partial(bind_list, is_set=True),
    "sum_distinct": bind_sum_distinct,
    "avg_distinct": bind_avg_distinct,
    "corr": partial(bind_joint, finish=correlation),
    "covar_samp": partial(bind_joint, finish=partial(covariance, freedom=1)),
    "covar_pop": partial(bind_joint, finish=partial(covariance, freedom=0)),
}
"""Binds each function of `functions.FUNCTIONS` to the values of a column, with its parameters."""


_TAKES: dict[str, Callable[[pa.DataType], bool]] = {
    "numbers": is_number,
    "booleans": pa.types.is_boolean,
    "any": lambda dtype: True,
}


def takes(function: str, dtype: pa.DataType) -> bool:
    """Test whether a function takes values of a type."""
    return _TAKES[FUNCTIONS[function].takes](dtype)
