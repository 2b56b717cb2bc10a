"""The correction of several aggregates by the late tuples alone: the answers over both parts merge into one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from decimal import Decimal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tailrace.aggregate.aggregates import Aggregates, NamedAggregate
from tailrace.aggregate.typed import MOST_DIGITS, Values
from tailrace.aggregate.typed_functions import TYPED_FUNCTIONS
from tailrace.aggregate.value_column import Ints
from tailrace.ground.columns import pair, unify
from tailrace.ground.grouped_rows import GroupedRows
from tailrace.windows.panes import Columns

AMOUNTS = "values"
"""The column of late rows: the answers over their tuples, a field for each aggregate."""


def amounts_of(aggregates: Sequence[NamedAggregate]) -> dict[str, pa.DataType]:
    """Return the columns of a late row by which answers are amended; none where one of the aggregates can't be."""
    if not all(_is_amended(aggregate) for aggregate in aggregates):
        return {}
    return {AMOUNTS: pa.struct([pa.field(aggregate.name, _part(aggregate).result) for aggregate in aggregates])}


@dataclass(frozen=True)
class AmendedAggregates(Aggregates):
    """Several aggregates, of whose late rows answers are amended where all functions can be."""

    def late(self, group_id: Ints, columns: Columns) -> tuple[Ints, dict[str, pa.Array]]:
        codes, rows = GroupedRows.of(group_id)
        tuples = rows.fold(columns["tuples"], "sum")
        late = {"tuples": pa.array(tuples)}
        for name, dtype in amounts_of(self.aggregates).items():
            merged = pa.RecordBatch.from_pydict({"tuples": tuples} | self.merge_rows(rows, columns))
            parts = Aggregates(tuple(map(_part, self.aggregates))).finish(merged)
            late[name] = pa.StructArray.from_arrays([parts[each.name] for each in dtype], fields=[*dtype])
        return codes, late


def amend_all(aggregates: Sequence[NamedAggregate], answers: pa.Table, late: pa.Table) -> pa.RecordBatch | None:
    """Add the late tuples to the streamed answers.

    Parameters
    ----------
    answers : Table
        `key`, `window_end`, `tuples` and the aggregates: each window at most once.
    late : Table
        `key`, `window_end`, `tuples` and `AMOUNTS`: any number of rows a window.

    Returns
    -------
    RecordBatch or None
        `key`, `time` (the window's end), the aggregates and `tuples`, without windows of which an aggregate is not
        known from these: its streamed sum is null, or the new one overflows. None where a function can't be amended.
    """
    amounts = amounts_of(aggregates).get(AMOUNTS)
    if amounts is None:
        return None
    parts = [_parts(answers, amounts), _parts(late.flatten().rename_columns(_names(late)), amounts)]
    both = pa.concat_tables(parts).combine_chunks()
    keys, (key,) = unify([both.column("key")])
    end = both.column("window_end").to_numpy()
    code, split = pair(end, key)
    codes, rows = GroupedRows.of(code)
    merging = Aggregates(tuple(_merging(each, amounts) for each in aggregates))
    batch = both.to_batches()[0] if both.num_rows else pa.RecordBatch.from_pylist([], both.schema)
    merged = {"tuples": rows.fold(np.asarray(batch.column("tuples")), "sum")}
    merged |= merging.merge_rows(rows, merging.of(batch))
    finished = merging.finish(pa.RecordBatch.from_pydict(merged))
    is_known = np.ones(len(codes), bool)
    streamed = np.zeros(len(both), bool)
    streamed[: answers.num_rows] = True
    columns: dict[str, pa.Array] = {}
    for each in aggregates:
        value, is_fit = _narrowed(finished[each.name], each)
        is_known &= is_fit
        if each.function == "sum":  # a streamed sum is null where it had no values, or where it overflowed
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


def _is_amended(aggregate: NamedAggregate) -> bool:
    """Test whether an aggregate's answers can be amended; a sum whose part could overflow can't."""
    if TYPED_FUNCTIONS[aggregate.function].amended_as is None:
        return False
    result = aggregate.result
    return not (aggregate.function == "sum" and pa.types.is_decimal(result) and result.precision == MOST_DIGITS)


def _part(aggregate: NamedAggregate) -> NamedAggregate:
    """Return the aggregate over a part of a window, whose sums of integers are held however large they are."""
    return replace(aggregate, parameters={"wide": True}) if aggregate.function == "sum" else aggregate


def _merging(aggregate: NamedAggregate, amounts: pa.StructType) -> NamedAggregate:
    """Return the aggregate that merges its answers over parts of a window."""
    function = TYPED_FUNCTIONS[aggregate.function].amended_as
    assert function is not None
    return NamedAggregate(aggregate.name, function, Values(aggregate.name, amounts.field(aggregate.name).type), {})


def _names(late: pa.Table) -> list[str]:
    """Return the columns of late rows, with the fields of the amounts in place of the struct."""
    names: list[str] = []
    for field in late.schema:
        names += [each.name for each in field.type] if field.name == AMOUNTS else [field.name]
    return names


def _parts(rows: pa.Table, amounts: pa.StructType) -> pa.Table:
    columns = {name: rows.column(name) for name in ("key", "window_end", "tuples")}
    return pa.table(columns | {field.name: rows.column(field.name).cast(field.type) for field in amounts})


def _narrowed(merged: pa.Array, aggregate: NamedAggregate) -> tuple[pa.Array, NDArray[np.bool_]]:
    """Return merged answers in the aggregate's type, and which are known: finite, and held by the type."""
    result = aggregate.result
    if aggregate.function == "count":
        merged = merged.fill_null(0)
    if pa.types.is_floating(result):
        return merged, np.isfinite(np.asarray(merged.fill_null(0.0), np.float64))
    if merged.type == result:
        return merged, np.ones(len(merged), bool)
    bound = Decimal(1 << 63) if pa.types.is_integer(result) else Decimal(10) ** (result.precision - result.scale)
    limit = pa.scalar(bound, merged.type)
    fits = pc.less(pc.abs(merged), limit)  # of −2⁶³, too, the answer is computed again
    return pc.if_else(fits, merged, pa.scalar(None, merged.type)).cast(result), np.asarray(fits.fill_null(True))
