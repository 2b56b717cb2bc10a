"""The fields of a query file that name the columns of a kind's parts."""

from __future__ import annotations

from typing import Any

import pytest

from tailrace.engine.compiled_query import CompiledQuery
from tailrace.query.declared import declared_query

STREAM = {"source": {"format": "parquet", "path": "in"}, "event_time": "ts", "id": "id"}
NAMED = {"sum": {"function": "sum", "column": "net"}, "most": {"function": "max", "column": "net"}}


@pytest.mark.parametrize(
    ("section", "fields"),
    [
        ({"aggregate": NAMED | {"n": {"function": "count"}}}, {"value_net": "aggregate.sum.column"}),
        ({"topk": {"k": 3, "score": "price"}}, {"score": "topk.score"}),
    ],
)
def test_the_first_field_that_names_a_column_is_found(section: dict[str, Any], fields: dict[str, str]) -> None:
    (kind,) = section
    query = {"name": "q", "kind": kind, "streams": {"s": STREAM}, "window": "1 min"} | section
    assert CompiledQuery.declare(declared_query(query)).sources["s"].part_fields == fields


EMD = {"threshold": 0.5, "histogram": "hist", "select": ["left.camera", "right.lens", "left.hist"]}
NEAR = {"join": "interval", "interval": {"lower": "-1 s", "upper": "1 s"}, "relation": "dwithin", "distance": "1 km"}
NEAR |= {"geometry": {"left": {"x": "lon", "y": "lat"}, "right": {"wkt": "geom"}}}
NEAR |= {"select": ["distance", "left.taxi", "right.name"]}


@pytest.mark.parametrize(
    ("fields", "left", "right"),
    [
        (
            {"kind": "emd_join", "window": {"size": "1 s"}, "emd_join": EMD},
            {"histogram": "emd_join.histogram", "left_camera": "emd_join.select", "left_hist": "emd_join.select"},
            {"histogram": "emd_join.histogram", "right_lens": "emd_join.select"},
        ),
        (
            {"kind": "spatial_join", "spatial_join": NEAR},
            {
                "x": "spatial_join.geometry.left.x",
                "y": "spatial_join.geometry.left.y",
                "left_taxi": "spatial_join.select",
            },
            {"wkt": "spatial_join.geometry.right.wkt", "right_name": "spatial_join.select"},
        ),
    ],
)
def test_fields_of_joins_name_the_columns_of_their_side(
    fields: dict[str, Any], left: dict[str, str], right: dict[str, str]
) -> None:
    query = declared_query({"name": "q", "streams": {"left": STREAM, "right": STREAM}} | fields)
    assert [each.part_fields for each in CompiledQuery.declare(query).sources.values()] == [left, right]


def test_the_parts_of_tuples_stay_in_the_order_in_which_checkpoints_have_them() -> None:
    each = {
        "move": {"expression": "n / sum(weight) FILTER (WHERE weight < 7)"},
        "venue": {"function": "min_by", "column": "place", "by": "price"},
        "n": {"function": "sum", "column": "net", "where": "net > 5"},
    }
    query = {"name": "q", "kind": "aggregate", "streams": {"s": STREAM}, "window": "1 min", "aggregate": each}
    values = ["value_price", "value_place", "value_net", "value_weight"]
    assert [*CompiledQuery.declare(declared_query(query)).sources["s"].carried] == [
        *values,
        "condition_n",
        "condition__1",
    ]
