"""A declared join with a table: what is refused and why, and the kind that it becomes."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from tailrace.ground.errors import Refused
from tailrace.kind.inputs import ColumnTypes
from tailrace.kinds import build
from tailrace.panels.explanation import explanation
from tailrace.query.late_tuples import require_late_tuples
from tailrace.query.loading import load
from tailrace.spatial_join.table.table_join import SpatialTableJoin

STREAM = "{source: {format: parquet, path: l}, event_time: event_time, arrival_time: arrival_time, id: id}"
TEXT = f"""\
name: where
kind: spatial_join
streams:
  left: {STREAM}
spatial_join:
  join: table
  geometry: {{left: {{x: lon, y: lat}}}}
  relation: within
  table: {{path: zones.csv, id: zone, geometry: shape, on_invalid: skip}}
"""


@pytest.fixture
def query_of(tmp_path):
    def make(old: str = "", new: str = "", more: str = ""):
        assert old in TEXT
        path = tmp_path / "where.yaml"
        path.write_text(TEXT.replace(old, new, 1) + more)
        return load(path)

    return make


@pytest.mark.parametrize(
    ("old", "new", "more", "field", "wrong"),
    [
        (
            "  table: {path: zones.csv, id: zone, geometry: shape, on_invalid: skip}\n",
            "",
            "",
            "table",
            "needs the table",
        ),
        ("{path: zones.csv, id", "{id", "", "table.path", "is missing"),
        ("path: zones.csv", "path: ''", "", "table.path", "has no value"),
        ("on_invalid: skip", "on_invalid: drop", "", "table.on_invalid", "'drop' is no on_invalid"),
        ("on_invalid: skip", "on_no_match: keep", "", "table.on_no_match", "'keep' is no on_no_match"),
        (
            "on_invalid: skip",
            "on_no_match: null",
            "answers: {postgres: {connection: reports, table: zones}}\n",
            "table.on_no_match",
            "a key of PostgreSQL takes no null",
        ),
        ("on_invalid: skip", "format: orc", "", "table.format", "'orc' is no format"),
        ("path: zones.csv", "format: postgres, table: maps.zones", "", "table.connection", "is missing"),
        ("path: zones.csv", "format: postgres, connection: maps", "", "table.table", "is missing"),
        ("path: zones.csv", "format: postgres, connection: maps, table: a.b.c", "", "table.table", "does not fit"),
        ("on_invalid: skip", "connection: maps", "", "table.connection", "takes no connection"),
        ("on_invalid: skip", "format: delta, table: maps.zones", "", "table.table", "takes no table"),
        (
            "on_invalid: skip",
            "format: postgres, connection: maps, table: zones",
            "",
            "table.path",
            "format postgres takes no path",
        ),
        ("on_invalid: skip", "valid_from: zone", "", "table.valid_from", "zone has another part in the table"),
        ("on_invalid: skip", "valid_to: t, valid_from: t", "", "table.valid_to", "t has another part in the table"),
        (
            "relation: within",
            "relation: within\n  select: [left.event_time]",
            "",
            "select",
            "answers have as left_time",
        ),
        ("relation: within", "relation: within\n  grid: 8", "", "grid", "join table takes no grid"),
        ("relation: within", "relation: within\n  extent: [0, 0, 1, 1]", "", "extent", "takes no extent"),
        ("relation: within", "relation: within\n  bin: 1 h", "", "bin", "takes no bin"),
        ("y: lat}}", "y: lat}, right: {wkt: g}}", "", "geometry.right", "the right geometries are the table's"),
        (
            f"  left: {STREAM}",
            f"  left: {STREAM}\n  right: {STREAM}",
            "",
            "streams",
            "join table takes one stream, left",
        ),
        ("  left: ", "  taxis: ", "", "streams", "takes the streams left and right, here is taxis"),
        ("", "", "window: {size: 1 s, slide: 1 s}\n", "window", "join table takes no window"),
        ("", "", "disorder: {policy: k_slack, k: 1 s}\n", "disorder", "it waits for none"),
        ("", "", "disorder: {policy: none}\n", "disorder", "it waits for none"),
        ("", "", "disorder: {policy: none, tick: 1 s}\n", "disorder", "it waits for none"),
        ("", "", "disorder: {idle: 10 s}\n", "disorder", "it waits for none"),
        ("", "", "disorder: {deduplicate: true}\n", "disorder", "drops none"),
        ("", "", "correction: {gap: 5 s}\n", "correction", "nothing to be corrected"),
    ],
)
def test_what_does_not_fit_is_refused(query_of, old, new, more, field, wrong):
    with pytest.raises(Refused) as refused:
        query_of(old, new, more)
    (problem,) = refused.value.problems
    assert problem.where.endswith(field)
    assert wrong in problem.fault
    assert problem.remedy


def test_a_table_stands_beside_the_query_file(query_of, tmp_path):
    query = query_of()
    assert query.table.place.path == tmp_path / "zones.csv"
    assert (query.table.id, query.table.geometry, query.table.on_invalid) == ("zone", "shape", "skip")
    assert query.table.degrees


def test_a_table_of_postgres_is_named_by_its_connection_and_leaves_the_checkpoint_as_it_is(query_of):
    query = query_of("path: zones.csv", "format: postgres, connection: maps, table: geo.zones")
    assert str(query.table.place) == "geo.zones of connection maps"
    assert query.table.place.suffix == ".parquet"
    assert query.connections == ["maps"]
    assert query_of().connections == []
    assert query.structure() == query_of().structure()


def test_no_tuple_of_it_is_late(query_of):
    query = query_of()
    assert not query.has_late_tuples
    with pytest.raises(Refused, match="none is late"):
        require_late_tuples(query)


def test_it_becomes_a_kind_with_the_types_of_the_stream_and_the_table(query_of):
    kind = build(query_of(), [ColumnTypes(id=pa.string()), ColumnTypes(id=pa.int64())])
    assert isinstance(kind, SpatialTableJoin)
    assert kind.answer.field("left_id").type == pa.string()
    assert kind.answer.field("right_id").type == pa.int64()
    assert kind.lookup.method == "indexed"


def test_columns_of_the_stream_are_selected(query_of):
    query = query_of(
        "relation: within", "relation: within\n  distance: 1 km\n  select: [left.taxi, distance, left.lon]"
    )
    kind = build(query, [ColumnTypes(carried={"left_taxi": pa.int16(), "left_lon": pa.float32()}), ColumnTypes()])
    values = [("left_taxi", pa.int16()), ("distance", pa.float64()), ("left_lon", pa.float32())]
    assert [(field.name, field.type) for field in kind.answer][4:-1] == values
    (needed,) = kind.inputs
    assert needed.carried == {"left_taxi": "taxi", "left_lon": "lon"}


def test_a_checkpoint_is_bound_to_the_columns_of_the_table_but_not_to_its_path(query_of):
    first = query_of().structure()
    assert query_of("zones.csv", "others.csv").structure() == first
    assert query_of("zones.csv", "zones, format: delta").structure() == first
    assert query_of("id: zone", "id: name").structure() != first


def test_a_checkpoint_is_bound_to_validity_and_to_what_becomes_of_tuples_without_a_match(query_of):
    first = query_of().structure()
    assert query_of("on_invalid: skip", "on_invalid: skip, on_no_match: drop").structure() == first
    assert first["spatial_join.table.on_no_match"] == "drop"
    for more in ("valid_from: since", "valid_to: until", "on_no_match: null"):
        assert query_of("on_invalid: skip", f"on_invalid: skip, {more}").structure() != first


def test_a_bare_null_is_the_word(query_of):
    for text in ("null", "~", "'null'"):
        query = query_of("on_invalid: skip", f"on_invalid: skip, on_no_match: {text}")
        assert build(query, [ColumnTypes(), ColumnTypes()]).answers_unmatched
    assert not build(query_of(), [ColumnTypes(), ColumnTypes()]).answers_unmatched


@pytest.mark.parametrize(
    ("more", "words"),
    [
        ("", ("raster", "whole table")),
        ("\n  method: native", ("each row of the table is tested",)),
        ("\n  method: external", ("DuckDB",)),
    ],
)
def test_the_plan_is_explained(query_of, more, words):
    text = str(explanation(query_of("relation: within", f"relation: within{more}")))
    assert all(word in text for word in words)


def test_paths_are_given_as_they_are_written(query_of):
    assert query_of("zones.csv", "/far/zones.csv").table.path == Path("/far/zones.csv")


def test_columns_of_the_table_are_selected_but_not_its_id(query_of):
    select = "relation: within\n  select: [right.name, left.taxi, right.area]"
    kind = build(query_of("relation: within", select))
    assert kind.answer.names[4:] == ["right_name", "left_taxi", "right_area", "tuples"]
    assert kind.lookup.table.columns == (("right_name", "name"), ("right_area", "area"))
    with pytest.raises(Refused, match=r"right\.zone is the id of the table") as refused:
        query_of("relation: within", "relation: within\n  select: [right.zone]")
    assert refused.value.problems[0].where.endswith("spatial_join.select")
