"""The origins of the columns of answers, by kind: through derived columns, conditions and expressions."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tailrace.panels.explanation import explanation
from tailrace.query.column_lineage import TABLE, ColumnLineage, Origin, column_lineage
from tailrace.query.declared import declared_query

SOURCE = {"format": "parquet", "path": "events"}
STREAM: dict[str, Any] = {"source": SOURCE, "event_time": "ts", "arrival_time": "came", "id": "id"}
WHERE = "status = 'paid' and gross > 0"
EVENTS = STREAM | {
    "columns": {
        "gross": "amount * 1.19",
        "renamed": "`country`",
        "again": "renamed",
        "upper_country": "upper(again)",
        "amount": "gross - payload.fee",
        "both": "amount + gross",
    },
    "where": WHERE,
}


def lineage(fields: dict[str, Any]) -> ColumnLineage:
    return column_lineage(declared_query({"name": "q"} | fields))


def ways(origins: tuple[Origin, ...]) -> list[tuple[str, str]]:
    return [(origin.column, origin.way) for origin in origins]


def aggregates(each: dict[str, Any], **stream: Any) -> ColumnLineage:
    fields = {"kind": "aggregate", "streams": {"events": EVENTS | stream}, "window": {"size": "1 s", "slide": "1 s"}}
    return lineage(fields | {"aggregate": each})


def test_an_aggregate_comes_from_the_sources_columns_behind_the_derived_ones() -> None:
    found = aggregates({"total": {"function": "sum", "column": "both"}, "tax": {"function": "max", "column": "gross"}})
    total = [("amount", "AGGREGATION"), ("payload", "AGGREGATION")]
    assert ways(found.columns["total"]) == total, "a name means the source's column until a derived one takes it"
    assert found.columns["tax"] == (Origin("events", "amount", "AGGREGATION", "max(gross)"),)


def test_conditions_and_order_are_no_values_and_expressions_have_what_their_columns_have() -> None:
    found = aggregates(
        {
            "rate": {"expression": "failures / (all_of + total)"},
            "all_of": {"function": "count"},
            "failures": {"function": "count", "where": "code >= 500"},
            "total": {"function": "sum", "column": "gross", "where": "upper_country = 'DE'"},
            "newest": {"function": "last", "column": "user"},
        }
    )
    assert found.columns["failures"] == (Origin("events", "code", "FILTER", "code >= 500"),)
    assert ways(found.columns["total"]) == [("amount", "AGGREGATION"), ("country", "FILTER")]
    assert found.columns["rate"] == found.columns["failures"] + found.columns["total"]
    assert ways(found.columns["newest"]) == [("user", "AGGREGATION"), ("ts", "SORT"), ("came", "SORT"), ("id", "SORT")]
    assert "all_of" not in found.columns, "a count of tuples comes from no column"


def test_an_aggregate_in_an_expression_comes_from_its_columns_as_one_with_a_name() -> None:
    found = aggregates(
        {
            "newest": {"function": "last", "column": "user"},
            "share": {"expression": "sum(gross) FILTER (WHERE upper_country = 'DE') / count(*) + length(last(user))"},
        }
    )
    own = (("amount", "AGGREGATION"), ("country", "FILTER"))
    assert ways(found.columns["share"]) == [*own, *ways(found.columns["newest"])]
    assert [name for name in found.columns if not name.startswith("window_")] == ["newest", "share"]


def test_keys_windows_and_the_streams_condition() -> None:
    found = aggregates({"n": {"function": "count"}}, key=["again", "upper_country"])
    assert found.columns["again"] == (Origin("events", "country", "IDENTITY"),)
    assert found.columns["upper_country"] == (Origin("events", "country", "TRANSFORMATION", "upper(again)"),)
    assert ways(found.columns["key"]) == [("country", "TRANSFORMATION")]
    assert ways(found.columns["window_end"]) == [("ts", "TRANSFORMATION")]
    assert found.answers == (
        Origin("events", "status", "FILTER", WHERE),
        Origin("events", "amount", "FILTER", WHERE),
        Origin("events", "country", "GROUP_BY"),
        Origin("events", "ts", "WINDOW"),
    )
    assert ways(aggregates({"n": {"function": "count"}}, key="user").columns["key"]) == [("user", "IDENTITY")]


def test_one_function_without_a_name_is_the_column_value() -> None:
    found = aggregates({"function": "avg", "column": "gross"})
    assert found.columns["value"] == (Origin("events", "amount", "AGGREGATION", "avg(gross)"),)


def test_a_ranking() -> None:
    fields = {"kind": "topk", "streams": {"events": EVENTS}, "window": {"size": "1 s", "slide": "1 s"}}
    found = lineage(fields | {"topk": {"k": 2, "score": "price"}})
    assert {name: ways(found.columns[name]) for name in ("rank", "id", "score")} == {
        "rank": [("price", "SORT")],
        "id": [("id", "IDENTITY")],
        "score": [("price", "IDENTITY")],
    }


def test_a_ranking_with_further_columns() -> None:
    fields = {"kind": "topk", "streams": {"events": EVENTS}, "window": {"size": "1 s", "slide": "1 s"}}
    found = lineage(fields | {"topk": {"k": 2, "score": "price", "select": ["venue", "again"]}})
    assert ways(found.columns["venue"]) == [("venue", "IDENTITY")]
    assert ways(found.columns["again"]) == [("country", "IDENTITY")]


def emd(**section: Any) -> ColumnLineage:
    streams = {"left": STREAM | {"columns": {"hist": "raw"}}, "right": STREAM | {"where": "ok"}}
    fields = {"kind": "emd_join", "streams": streams, "window": {"size": "1 s"}}
    return lineage(fields | {"emd_join": {"threshold": 0.5, "histogram": "hist", "bins": 4} | section})


def test_pairs_of_histograms() -> None:
    found = emd()
    assert found.columns["left_id"] == (Origin("left", "id", "IDENTITY"),)
    assert found.columns["right_time"] == (Origin("right", "ts", "IDENTITY"),)
    histograms = [("left", "raw"), ("right", "hist")]
    assert found.columns["distance"] == tuple(Origin(*each, "TRANSFORMATION") for each in histograms)
    assert found.answers == (
        Origin("right", "ok", "FILTER", "ok"),
        *(Origin(side, "ts", "JOIN") for side in ("left", "right")),
        *(Origin(*each, "JOIN") for each in histograms),
    )


def test_a_condition_over_pairs_filters_by_both_sides() -> None:
    condition = "left.camera <> right.camera"
    answers = emd(where=condition, select=["left.camera"])
    assert [origin for origin in answers.answers if origin.expression == condition] == [
        Origin(side, "camera", "FILTER", condition) for side in ("left", "right")
    ]
    assert answers.columns["left_camera"] == (Origin("left", "camera", "IDENTITY"),)


def test_pairs_of_geometries_and_a_table() -> None:
    streams = {"left": STREAM, "right": STREAM}
    section = {"geometry": {"left": {"x": "lon", "y": "lat"}, "right": {"wkt": "geom"}}, "relation": "within"}
    section |= {"select": ["left.taxi", "right.name", "distance"]}
    window = {"size": "1 s", "slide": "1 s"}
    found = lineage(
        {"kind": "spatial_join", "streams": streams, "window": window, "spatial_join": {"join": "window"} | section}
    )
    geometry = [("lon", "TRANSFORMATION"), ("lat", "TRANSFORMATION"), ("geom", "TRANSFORMATION")]
    assert ways(found.columns["distance"]) == geometry
    assert found.columns["right_name"] == (Origin("right", "name", "IDENTITY"),)
    assert found.columns["window_end"] == tuple(Origin(side, "ts", "TRANSFORMATION") for side in streams)
    section["geometry"] = {"left": {"x": "lon", "y": "lat"}}
    table = {"path": "districts.geojson", "id": "code", "geometry": "shape"}
    joined = {"join": "table", "table": table} | section
    found = lineage({"kind": "spatial_join", "streams": {"left": STREAM}, "spatial_join": joined})
    assert found.columns["right_id"] == (Origin(TABLE, "code", "IDENTITY"),)
    assert found.columns["right_name"] == (Origin(TABLE, "name", "IDENTITY"),)
    assert found.answers == (
        *(Origin("left", column, "JOIN") for column in ("lon", "lat")),
        Origin(TABLE, "shape", "JOIN"),
    ), "each tuple is answered as it comes: no time decides"
    assert "right_time" not in found.columns


def test_the_plan_has_it_in_a_line_for_people(tmp_path: Path) -> None:
    fields = {"name": "q", "kind": "aggregate", "streams": {"events": EVENTS | {"key": ["user"]}}, "window": "1 s"}
    each = {"total": {"function": "sum", "column": "both"}, "n": {"function": "count"}}
    plan = explanation(declared_query(fields | {"aggregate": each}))
    assert plan["lineage"] == "key ← user; total ← amount, payload; which answers ← status, amount, user, ts"
