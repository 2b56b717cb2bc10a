"""The registry of the query kinds: a new kind is a room beside `aggregate`, and a line here."""

from __future__ import annotations

import pyarrow as pa

from tailrace.aggregate.kind import Aggregate
from tailrace.kind.protocol import Kind
from tailrace.query.query import AggregateQuery, Query, TopKQuery, WindowedQuery
from tailrace.topk.kind import TopK
from tailrace.windows.sliding import Sliding


def _aggregate(query: Query, key_type: pa.DataType, id_type: pa.DataType) -> Kind:
    assert isinstance(query, AggregateQuery)
    section = query.aggregate
    columns = {"value": section.column} if section.column else {}
    return Aggregate(_sliding(query), section.function, columns, key_type, section.q, id_type)


def _topk(query: Query, key_type: pa.DataType, id_type: pa.DataType) -> Kind:
    assert isinstance(query, TopKQuery)
    section = query.topk
    descending, columns = section.order == "descending", {"score": section.score}
    return TopK(_sliding(query), section.k, descending, columns, key_type, id_type, section.method)


def _sliding(query: WindowedQuery) -> Sliding:
    return Sliding(query.window.size_ms, query.window.slide_ms)


KINDS = {"aggregate": _aggregate, "topk": _topk}


def build(query: Query, key_type: pa.DataType = pa.string(), id_type: pa.DataType = pa.string()) -> Kind:  # noqa: B008
    """Build the kind of a declared query, given the types of its stream's key and id: string or int64."""
    return KINDS[query.kind](query, key_type, id_type)
