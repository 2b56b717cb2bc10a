"""Kinds and summaries of one aggregate without a name, of the column `value`."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import fields
from typing import Any

import pyarrow as pa

from tailrace.aggregate.aggregates import Aggregates, NamedAggregate
from tailrace.aggregate.amend import AmendedAggregates
from tailrace.aggregate.function_section import FunctionSection
from tailrace.aggregate.kind import Aggregate
from tailrace.aggregate.partials import combine
from tailrace.aggregate.planning import aggregate_of
from tailrace.functions.function import Values
from tailrace.functions.registry import FUNCTIONS
from tailrace.kind.inputs import ColumnTypes
from tailrace.windows.panes import KeyedRows
from tailrace.windows.windows import Windows

NUMBERS = ("sum", "count", "avg", "min", "max", "median", "quantile")
"""Functions with a coverage threshold."""


def kind_of(
    windows: Windows,
    function: str,
    q: float | None = None,
    key_type: pa.DataType | None = None,
    id_type: pa.DataType | None = None,
    keys: Mapping[str, pa.DataType] | None = None,
    **more: Any,
) -> Aggregate:
    """The kind of a function of the column `value`; `count` counts tuples."""
    declared = {"function": function} | ({} if function == "count" else {"column": "value"})
    declared |= ({} if q is None else {"q": q}) | more
    types = ColumnTypes(key_type or pa.string(), id_type or pa.string())
    return aggregate_of(windows, FunctionSection.model_construct(**declared), types, keys)


def fields_of(kind: Aggregate) -> dict[str, Any]:
    """What a kind is made of, for one of a subclass."""
    return {each.name: getattr(kind, each.name) for each in fields(kind)}


def with_q(function: str, q: float = 0.5) -> dict[str, float]:
    """The parameters of a function, where it takes some."""
    return {"q": q} if FUNCTIONS[function].parameters else {}


def summary_of(function: str, q: float | None = None) -> AmendedAggregates:
    """The summary of a function of the column `value`; `count` counts tuples, and a quantile is the 0.9-quantile."""
    values = None if function == "count" else Values("value", pa.float64())
    parameters = with_q(function, 0.9 if q is None else q)
    return AmendedAggregates((NamedAggregate("value", function, values, parameters, True),))


def accumulated(summary: Aggregates, rows: KeyedRows) -> KeyedRows:
    """Rows with `tuples` and `total`, of which no value is null, with the accumulators of a summary in their place."""
    counts, total = rows.columns["tuples"], rows.columns["total"]
    columns = {name: total if dtype == pa.float64() else counts for name, dtype in summary.types.items()}
    return KeyedRows(rows.key, rows.time, columns)


def answered(summary: Aggregates, windows: KeyedRows) -> list[tuple[int, int, int, Any]]:
    """Key, end, tuples and answer of windows, sorted."""
    batch = pa.RecordBatch.from_pydict(windows.columns)
    values = summary.finish(batch)["value"].to_pylist()
    return sorted(
        zip(windows.key.tolist(), windows.time.tolist(), windows.columns["tuples"].tolist(), values, strict=True)
    )


def partials_of(windows: Windows, function: str, tuples: pa.RecordBatch) -> pa.RecordBatch:
    """The partials of a function of the column `value`, whose last accumulator is called `total`."""
    summary = summary_of(function)
    partials = combine(windows, summary, tuples)
    if function == "count":
        return partials
    *others, last = (name for name in summary.types if name != "tuples")
    names = [name for name in partials.schema.names if name not in others]
    return partials.select(names).rename_columns(["total" if name == last else name for name in names])
