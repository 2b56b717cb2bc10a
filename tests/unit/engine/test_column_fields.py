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
    assert column_fields(declared_query(query), "s") == fields


EMD = {"threshold": 0.5, "histogram": "hist", "select": ["left.camera", "right.lens", "left.hist"]}
NEAR = {"join": "interval", "interval": {"lower": "-1 s", "upper": "1 s"}, "relation": "dwithin", "distance": "1 km"}
NEAR |= {"geometry": {"left": {"x": "lon", "y": "lat"}, "right": {"wkt": "geom"}}}
NEAR |= {"select": ["distance", "left.taxi", "right.name"]}


@pytest.mark.parametrize(
    ("fields", "left", "right"),
    [
        (
            {"kind": "emd_join", "window": {"size": "1 s"}, "emd_join": EMD},
            {"hist": "emd_join.histogram"},
            {"hist": "emd_join.histogram"},
        ),
        (
            {"kind": "spatial_join", "spatial_join": NEAR},
            {
                "lon": "spatial_join.geometry.left.x",
                "lat": "spatial_join.geometry.left.y",
            },
            {"geom": "spatial_join.geometry.right.wkt"},
        ),
    ],
)
def test_fields_of_joins_name_the_columns_of_their_side(
    fields: dict[str, Any], left: dict[str, str], right: dict[str, str]
) -> None:
    query = declared_query({"name": "q", "streams": {"left": STREAM, "right": STREAM}} | fields)
    assert [column_fields(query, side) for side in ("left", "right")] == [left, right]
