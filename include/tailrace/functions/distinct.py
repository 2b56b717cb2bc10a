"""Functions of the distinct values of a window, and lists of its values."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa

from tailrace.functions.accumulators import Accumulator, Count
from tailrace.functions.function import BoundFunction, Function, Values, to_integers
from tailrace.functions.kept import Kept, KeptInOrder, lists
from tailrace.functions.sums import bind_avg, bind_sum
from tailrace.ground.arrow.grouped_rows import GroupedRows
from tailrace.ground.arrow.value_column import ValueColumn, restored, stored_type
from tailrace.windows.panes import Arrays

if TYPE_CHECKING:
    from tailrace.functions.distinct_sketch import DistinctSketch

_NO_TUPLES = pa.RecordBatch.from_pylist([], pa.schema([]))


def bind_count_distinct(values: Values, parameters: Mapping[str, Any]) -> BoundFunction:
    """Bind the number of distinct values: exact, or a sketch's estimate with `approximate`."""
    if parameters.get("approximate"):
        from tailrace.functions.distinct_sketch import DistinctSketch

        sketch = DistinctSketch(values.column)
        return BoundFunction(pa.int64(), (sketch,), partial(_estimates, sketch))
    kept = Kept(values.column, values.dtype, in_doubles=False)
    return BoundFunction(pa.int64(), (kept,), partial(to_integers, "distinct"), partial(_distinct, kept))


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

    A list with more values than the limit is null, and counts as an overflow.
    """
    kept = Kept(values.column, values.dtype, in_doubles=False)
    if not is_set:
        kept = KeptInOrder(values.column, values.dtype, in_doubles=False, id_type=values.id_type)
    count, finish = Count(values.column), partial(lists, values.dtype)
    measure = partial(kept.listed, parameters["limit"])
    return BoundFunction(pa.list_(values.dtype), (kept, count), finish, measure, count)


def _of_distinct(kept: Kept, accumulators: Sequence[Accumulator], rows: GroupedRows, columns: Arrays) -> Arrays:
    """Merge accumulators over one row for each distinct value, as if there were no other rows."""
    group, row = kept.distinct_rows(rows, columns)
    stored = pa.array(columns[kept.name][row], stored_type(kept.dtype))
    values = ValueColumn(restored(stored, np.zeros(len(row), bool), kept.dtype))
    distinct = GroupedRows(group.astype(np.int32), len(rows), np.arange(len(rows)))
    merged: Arrays = {}
    for each in accumulators:
        merged |= each.merge(distinct, each.lift(values, _NO_TUPLES))
    return merged


def _estimates(sketch: DistinctSketch, columns: Arrays) -> pa.Array:
    return pa.array(sketch.counts(columns))


def _distinct(kept: Kept, rows: GroupedRows, columns: Arrays) -> Arrays:
    return {"distinct": kept.distinct(rows, columns)}


_SKETCH = "bigint, exact; with `approximate: true` by a sketch: exact up to 4,096 values, and off by some 2 % beyond"
_LIST = "a list of the column's type, in the order of `first`. Of more values than `limit` it is null, and `overflowed`"
_LIST_SQL = ("collect_list(column, limit)", "array_agg(column, limit)")
_AVG_SQL = ("avg(DISTINCT column)", "mean(DISTINCT column)")
_kept = partial(Function, keeps_values=True)
_list = partial(_kept, takes="any", parameters=("limit",), of_distinct="collect_set", needs_name=True)

DISTINCT = (
    _kept(
        "count_distinct",
        bind_count_distinct,
        _SKETCH,
        "any",
        ("count(DISTINCT column)",),
        options={"approximate": "approx_count_distinct(column)"},
        of_distinct="count_distinct",
        in_own_type=True,
    ),
    _kept("sum_distinct", bind_sum_distinct, "as `sum`, of each value once", sql=("sum(DISTINCT column)",)),
    _kept("avg_distinct", bind_avg_distinct, "as `avg`, of each value once", sql=_AVG_SQL),
    _list("collect_list", partial(bind_list, is_set=False), _LIST, sql=_LIST_SQL, in_order=True),
    _list("collect_set", partial(bind_list, is_set=True), "as `collect_list`, of each value once, ascending"),
)
