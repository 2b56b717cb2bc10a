"""The fields of a query file that name columns of its stream."""

from __future__ import annotations

from typing import Any

import pytest

from tailrace.engine.column_fields import column_fields
from tailrace.query.declared import declared_query

STREAM = {"source": {"format": "parquet", "path": "in"}, "event_time": "ts", "id": "id"}
NAMED = {"sum": {"function": "sum", "column": "net"}, "most": {"function": "max", "column": "net"}}


@pytest.mark.parametrize(
    ("section", "fields"),
    [
        ({"aggregate": NAMED | {"n": {"function": "count"}}}, {"net": "aggregate.sum.column"}),
        ({"topk": {"k": 3, "score": "price"}}, {"price": "topk.score"}),
    ],
)
def test_the_first_field_that_names_a_column_is_found(section: dict[str, Any], fields: dict[str, str]) -> None:
    (kind,) = section
    query = {"name": "q", "kind": kind, "streams": {"s": STREAM}, "window": "1 min"} | section
    assert column_fields(declared_query(query)) == fields
