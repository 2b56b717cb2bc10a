"""Corrects answers by late tuples alone: merges the streamed answer with the late tuples' answer."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tailrace.aggregate.aggregates import Aggregates, NamedAggregate
from tailrace.functions.function import Values
from tailrace.functions.registry import FUNCTIONS
from tailrace.functions.sums import MOST_DIGITS
from tailrace.ground.arrow.columns import pair, unify
from tailrace.ground.arrow.grouped_rows import GroupedRows
from tailrace.ground.arrow.value_column import Ints
from tailrace.windows.panes import Arrays

_IDENTITY = ("key", "window_end", "tuples")

AMOUNTS, TOTAL = "values", "total"
"""The columns of late rows with which answers are amended, over the tuples of each row.

`AMOUNTS` is a struct with a field for each aggregate. A single unnamed aggregate has `TOTAL` instead.
"""


def amounts_of(aggregates: Sequence[NamedAggregate]) -> dict[str, pa.DataType]:
    """Return the columns of late rows with which answers are amended.

    Named aggregates have none if one of them can't be amended. An unnamed aggregate always has `TOTAL`, which is null
    if its answers are evaluated from history.
    """
    if _in_doubles(aggregates):
        return {TOTAL: pa.float64()}
    return {AMOUNTS: pa.struct(_fields(aggregates))} if are_amended(aggregates) else {}


@dataclass(frozen=True)
class AmendedAggregates(Aggregates):
    """The aggregates of a query, with amounts in late rows if all its functions can be amended."""

    def late(self, group_id: Ints, columns: Arrays) -> tuple[Ints, dict[str, pa.Array]]:
        codes, rows = GroupedRows.from_codes(group_id)
        tuples = rows.fold(columns["tuples"], "sum")
        late = {"tuples": pa.array(tuples)}
        if not are_amended(self.aggregates):
            return codes, late | {
                name: pa.nulls(len(rows), dtype) for name, dtype in amounts_of(self.aggregates).items()
            }
        merged = pa.RecordBatch.from_pydict({"tuples": tuples} | self.merge_rows(rows, columns))
        parts = Aggregates(tuple(map(_part, self.aggregates))).finish(merged)
        if _in_doubles(self.aggregates):
            return codes, late | {TOTAL: parts[self.aggregates[0].name]}
        fields = _fields(self.aggregates)
        return codes, late | {AMOUNTS: pa.StructArray.from_arrays([parts[each.name] for each in fields], fields=fields)}


def amend(aggregates: Sequence[NamedAggregate], answers: pa.Table, late: pa.Table) -> pa.RecordBatch | None:
    """Add the late tuples to the streamed answers.

    Parameters
    ----------
    answers : Table
        `key`, `window_end`, `tuples` and the aggregates: each window at most once.
    late : Table
        `key`, `window_end`, `tuples` and the columns of `amounts_of`: any number of rows per window.

    Returns
    -------
    RecordBatch or None
        `key`, `time` (the window's end), the aggregates and `tuples`. Windows are left out if an aggregate can't be
        computed from these (its streamed sum is null, or the new one overflows). None if a function can't be amended.
    """
    if not are_amended(aggregates):
        return None
    fields = _fields(aggregates)
    late = pa.table({name: late.column(name) for name in _IDENTITY} | _amounts(aggregates, late))
    parts = [
        pa.table(
            {name: rows.column(name) for name in _IDENTITY}
            | {field.name: rows.column(field.name).cast(field.type) for field in fields}
        )
        for rows in (answers, late)
    ]
    both = pa.concat_tables(parts).combine_chunks()
    keys, (key,) = unify([both.column("key")])
    end = both.column("window_end").to_numpy()
    code, split = pair(end, key)
    codes, rows = GroupedRows.from_codes(code)
    merging = Aggregates(tuple(_merging(each, field) for each, field in zip(aggregates, fields, strict=True)))
    batch = both.to_batches()[0] if both.num_rows else pa.RecordBatch.from_pylist([], both.schema)
    merged = {"tuples": rows.fold(np.asarray(batch.column("tuples")), "sum")}
    merged |= merging.merge_rows(rows, merging.lift(batch))
    finished = merging.finish(pa.RecordBatch.from_pydict(merged))
    is_known = np.ones(len(codes), bool)
    streamed = np.zeros(len(both), bool)
    streamed[: answers.num_rows] = True
    columns: dict[str, pa.Array] = {}
    for each in aggregates:
        value, is_fit = _narrowed(finished[each.name], each)
        is_known &= is_fit
        if each.function == "sum":  # a streamed sum is null without values, or on overflow
            is_null = streamed & np.asarray(both.column(each.name).combine_chunks().is_null())
            is_known &= rows.fold(is_null.astype(np.int64), "max") == 0
        columns[each.name] = value
    time, key = split(codes)
    columns = {
        "key": keys.take(pa.array(key)),
        "time": pa.array(time),
        **columns,
        "tuples": pa.array(merged["tuples"]),
    }
    return pa.RecordBatch.from_pydict(columns).filter(pa.array(is_known))


def are_amended(aggregates: Sequence[NamedAggregate]) -> bool:
    """Test whether answers can be amended, see `amend`."""
    return all(map(_is_amended, aggregates))


def _is_amended(aggregate: NamedAggregate) -> bool:
    """Test whether an aggregate's answers can be amended; a sum can't if a part of it could overflow.

    An aggregate within an expression has no answers to amend. With aggregates in doubles, only sums and counts can be
    amended, as late rows have only these.
    """
    if aggregate.within is not None or FUNCTIONS[aggregate.function].amended_as is None:
        return False
    if aggregate.in_doubles:
        return aggregate.function == "sum" or aggregate.values is None
    result = aggregate.result
    return not (aggregate.function == "sum" and pa.types.is_decimal(result) and result.precision == MOST_DIGITS)


def _in_doubles(aggregates: Sequence[NamedAggregate]) -> bool:
    return any(aggregate.in_doubles for aggregate in aggregates)


def _fields(aggregates: Sequence[NamedAggregate]) -> list[pa.Field]:
    return [pa.field(aggregate.name, _part(aggregate).result) for aggregate in aggregates]


def _part(aggregate: NamedAggregate) -> NamedAggregate:
    """Return the aggregate over a part of a window, whose integer sums can be arbitrarily large."""
    return replace(aggregate, parameters={"wide": True}) if aggregate.function == "sum" else aggregate


def _merging(aggregate: NamedAggregate, field: pa.Field) -> NamedAggregate:
    """Return the aggregate that merges its answers over parts of a window."""
    function = FUNCTIONS[aggregate.function].amended_as
    assert function is not None
    return NamedAggregate(aggregate.name, function, Values(aggregate.name, field.type), {})


def _amounts(aggregates: Sequence[NamedAggregate], late: pa.Table) -> dict[str, pa.ChunkedArray]:
    """Return the answers over the tuples of late rows, by the names of the aggregates."""
    if not _in_doubles(aggregates):
        return dict(zip((each.name for each in aggregates), late.column(AMOUNTS).flatten(), strict=True))
    (aggregate,) = aggregates
    return {aggregate.name: late.column("tuples" if aggregate.values is None else TOTAL)}


def _narrowed(merged: pa.Array, aggregate: NamedAggregate) -> tuple[pa.Array, NDArray[np.bool_]]:
    """Return merged answers in the aggregate's type, and a mask of those that are finite and fit the type."""
    result = aggregate.result
    if aggregate.function == "count":
        merged = merged.fill_null(0)
    if pa.types.is_floating(result):
        return merged, np.isfinite(np.asarray(merged.fill_null(0.0), np.float64))
    if merged.type == result:
        return merged, np.ones(len(merged), bool)
    bound = Decimal(1 << 63) if pa.types.is_integer(result) else Decimal(10) ** (result.precision - result.scale)
    limit = pa.scalar(bound, merged.type)
    fits = pc.less(pc.abs(merged), limit)  # −2⁶³ is recomputed, too
    return pc.if_else(fits, merged, pa.scalar(None, merged.type)).cast(result), np.asarray(fits.fill_null(True))
