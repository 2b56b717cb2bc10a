"""Selects and orders rows of a query's answers, by a reader's expressions."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tailrace.expressions.errors import AGGREGATE, ExpressionError
from tailrace.expressions.projection import Projected, Projection
from tailrace.expressions.types import column_type
from tailrace.ground.errors import refuse
from tailrace.ground.near_names import nearest
from tailrace.ground.words import counted
from tailrace.sql.tokens import TokenSpan, tokenize


class Order(NamedTuple):
    """An expression by which rows are ordered."""

    text: str
    descends: bool
    nulls_first: bool


def chosen(rows: pa.Table, where: str | None, order_by: str | None) -> pa.Array:
    """Return the positions of the selected rows, in the requested order.

    Parameters
    ----------
    where : str or None
        An expression over the columns. A row for which it is false or null is left out.
    order_by : str or None
        Expressions separated by commas, each optionally with ASC or DESC, and NULLS FIRST or NULLS LAST. As in Spark
        SQL, nulls come first in ascending order, else last, and NaN is greater than all numbers. Equal rows keep their
        order.

    Raises
    ------
    Refused
        When an expression can't be read, does not fit the columns, or fails for a row.
    """
    positions = pa.array(np.arange(rows.num_rows))
    if where is not None:
        positions = positions.filter(pa.array(_computed("--where", {}, where, rows).kept))
    if order_by is None:
        return positions
    kept, keys = rows.take(positions), list[tuple[pa.ChunkedArray, str]]()
    for order in _orders(order_by):
        name = f"--order-by {order.text}"
        value = _computed(name, {name: order.text}, None, kept).table[name]
        keys += _sort_keys(name, value, order)
    table = pa.table({str(number): key for number, (key, _) in enumerate(keys)})
    return positions.take(pc.sort_indices(table, [(str(number), way) for number, (_, way) in enumerate(keys)]))


def _orders(text: str) -> list[Order]:
    try:
        return [_order(item) for item in tokenize(text, "expressions with commas between them").split()]
    except ExpressionError as error:
        raise refuse("--order-by", f"{error.position}: {error.fault}", error.remedy) from None


def _order(item: TokenSpan) -> Order:
    nulls = item.word(-1) if item.word(-2) == "NULLS" else ""
    if nulls not in ("", "FIRST", "LAST"):
        raise item[-2:].error(f"nulls have no place {item[-1:].text}", "NULLS FIRST or NULLS LAST")
    value = item[:-2] if nulls else item
    descends = value.word(-1) == "DESC"
    value = value[:-1] if value.word(-1) in ("ASC", "DESC") else value
    if not len(value):
        raise item.error("an order without a value", "value DESC, key")
    if value.literal is not None:
        raise value.error(f"{value.text} is the same for all rows", "the name of a column, or an expression over some")
    return Order(value.text, descends, nulls == "FIRST" if nulls else not descends)


def _computed(option: str, columns: dict[str, str], where: str | None, rows: pa.Table) -> Projected:
    """Compute an option's expression over all rows."""
    try:
        projection = Projection.parse(columns, where)
        for name in projection.inputs:
            if name not in rows.column_names:
                near = nearest(name, rows.column_names) or f"one of {', '.join(rows.column_names)}"
                raise refuse(option, f"answers have no column {name}", near)
        types = {name: rows.schema.field(name).type for name in projection.inputs}
        computable = {name: column_type(dtype) for name, dtype in types.items()}
        if (other := next((name for name, dtype in computable.items() if dtype is None), None)) is not None:
            raise refuse(option, f"no expression reads {other}, which is {types[other]}", "another column")
        computed = projection.over(computable).run(rows)
    except ExpressionError as error:
        remedy = "a column of the answers" if error.remedy == AGGREGATE else error.remedy
        raise refuse(option, f"{error.position}: {error.fault}", remedy) from None
    if computed.failures:
        failed = computed.failures[0]
        fault = f"{failed.reason}, for {counted(int(failed.mask.sum()), 'answer')}"
        raise refuse(option, fault, "an expression that has a value for each, such as with try_cast or try_divide")
    return computed


def _sort_keys(name: str, value: pa.ChunkedArray, order: Order) -> list[tuple[pa.ChunkedArray, str]]:
    """Return the columns that order rows by a value, with their directions, as Arrow always puts nulls and NaN last."""
    if pa.types.is_nested(value.type):
        raise refuse(name, f"it is {value.type}, which has no order", "a number, a text or a time, such as of size(…)")
    way = "descending" if order.descends else "ascending"
    keys = [(value.is_null(), "descending" if order.nulls_first else "ascending")]
    if pa.types.is_floating(value.type):
        keys.append((pc.is_nan(value), way))
    return [*keys, (value, way)]
