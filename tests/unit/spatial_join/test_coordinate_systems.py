"""Geometries come in the coordinate system that their file declares: transformed to the query's, or refused by name."""

from __future__ import annotations

import json
from math import atan, degrees, sinh
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
import shapely
from pyproj import CRS

from tailrace.engine.compiled_query import CompiledQuery
from tailrace.ground.errors import Refused, Unfit
from tailrace.kind.table_place import TablePlace
from tailrace.query.declared import declared_query
from tailrace.sources.formats.registry import merge_types
from tailrace.sources.lookup.dimension_sources import ParquetTable
from tailrace.spatial_join.table.dimension_table import DimensionTable, parse

RADIUS = 6_378_137.0
"""Of the sphere of EPSG:3857, in metres."""

LATITUDE_FIRST = "EPSG:4258"
"""Its own axes are latitude and longitude, in this order."""

NORTHING_FIRST = "EPSG:2193"
"""Its own axes are northing and easting, in this order; 1,600,000 m east is the meridian of 173 degrees."""

MERIDIAN_173 = shapely.Point(1_600_000, 5_400_000)
BOX, METRES = shapely.box(0, 0, 1, 1), shapely.box(0, 0, 80, 80)
MERCATOR = {"type": "ProjectedCRS", "name": "WGS 84 / Pseudo-Mercator", "id": {"authority": "EPSG", "code": 3857}}
ABSENT = object()


def projjson(name: str) -> dict[str, Any]:
    return CRS.from_user_input(name).to_json_dict()


def geoparquet(path: Path, shapes: list[shapely.Geometry], crs: Any = ABSENT, **declared: Any) -> Path:
    """Write GeoParquet: ids 0, 1, …; without `crs` where it is absent."""
    column = {"encoding": "WKB", "geometry_types": []} | ({} if crs is ABSENT else {"crs": crs}) | declared
    geo = {"version": "1.1.0", "primary_column": "geometry", "columns": {"geometry": column}}
    rows = pa.table({"id": range(len(shapes)), "geometry": pa.array(shapely.to_wkb(shapes), pa.binary())})
    pq.write_table(rows.replace_schema_metadata({"geo": json.dumps(geo)}), path)
    return path


def geojson(path: Path, shape: shapely.Geometry, **members: Any) -> Path:
    feature = {"type": "Feature", "id": 0, "properties": {}, "geometry": json.loads(shapely.to_geojson(shape))}
    path.write_text(json.dumps({"type": "FeatureCollection", "features": [feature]} | members))
    return path


def named(name: str) -> dict[str, Any]:
    return {"type": "name", "properties": {"name": name}}


def read(path: Path, **options: Any) -> DimensionTable:
    return parse(path, path.read_bytes(), **options)


def refusal(path: Path, **options: Any) -> str:
    with pytest.raises(Refused) as refused:
        read(path, **options)
    (problem,) = refused.value.problems
    assert str(path) in problem.where
    assert problem.remedy
    return problem.fault


def bounds(table: DimensionTable) -> list[float]:
    return shapely.bounds(table.shapes)[0].tolist()


@pytest.mark.parametrize("crs", [MERCATOR, projjson("EPSG:3857")], ids=["by its code", "by its definition"])
def test_metres_of_geoparquet_become_degrees(tmp_path, crs):
    side = degrees(80 / RADIUS), degrees(atan(sinh(80 / RADIUS)))
    assert bounds(read(geoparquet(tmp_path / "t.parquet", [METRES], crs))) == pytest.approx([0, 0, *side], abs=1e-12)


@pytest.mark.parametrize("name", ["urn:ogc:def:crs:EPSG::3857", "urn:x-ogc:def:crs:EPSG:3857", "EPSG:3857"])
def test_metres_of_geojson_become_degrees(tmp_path, name):
    side = degrees(80 / RADIUS), degrees(atan(sinh(80 / RADIUS)))
    table = read(geojson(tmp_path / "t.geojson", METRES, crs=named(name)))
    assert bounds(table) == pytest.approx([0, 0, *side], abs=1e-12)


@pytest.mark.parametrize("name", ["OGC:CRS84", "EPSG:4326"])
def test_degrees_of_wgs_84_are_taken_bit_by_bit_longitude_first(tmp_path, name):
    place = shapely.Point(0.1 + 0.2, 1 / 3)
    for path in (
        geoparquet(tmp_path / "t.parquet", [place], projjson(name)),
        geoparquet(tmp_path / "absent.parquet", [place]),
        geojson(tmp_path / "t.geojson", place, crs=named(name)),
    ):
        assert bounds(read(path))[:2] == [0.1 + 0.2, 1 / 3]


def test_x_comes_first_whatever_the_order_of_the_axes(tmp_path):
    path = geoparquet(tmp_path / "t.parquet", [shapely.Point(10, 50)], projjson(LATITUDE_FIRST))
    assert bounds(read(path))[:2] == pytest.approx([10, 50], abs=1e-6)
    path = geoparquet(tmp_path / "t.parquet", [MERIDIAN_173], projjson(NORTHING_FIRST))
    assert bounds(read(path))[0] == pytest.approx(173, abs=1e-6)
    path = geojson(tmp_path / "t.geojson", MERIDIAN_173, crs=named("urn:ogc:def:crs:EPSG::2193"))
    assert bounds(read(path))[0] == pytest.approx(173, abs=1e-6)


@pytest.mark.parametrize(
    "write",
    [
        lambda path: geoparquet(path.with_suffix(".parquet"), [BOX], None),
        lambda path: geojson(path.with_suffix(".geojson"), BOX, crs=None),
    ],
    ids=["geoparquet", "geojson"],
)
def test_an_unknown_system_is_no_degrees_and_may_be_a_plane(tmp_path, write):
    path = write(tmp_path / "t")
    fault = refusal(path)
    assert "null, which means unknown" in fault
    assert "OGC:CRS84" in fault
    assert len(read(path, degrees=False)) == 1


def test_a_plane_takes_projected_coordinates_as_they_are_and_no_degrees(tmp_path):
    path = geoparquet(tmp_path / "t.parquet", [METRES], projjson("EPSG:3857"))
    assert bounds(read(path, degrees=False)) == [0, 0, 80, 80]
    fault = refusal(geoparquet(tmp_path / "t.parquet", [BOX]), degrees=False)
    assert "OGC:CRS84" in fault
    assert "planar" in fault


@pytest.mark.parametrize(
    ("crs", "words"),
    [
        ({"type": "ProjectedCRS", "name": "ours"}, "ours, which PROJ does not know"),
        (projjson("EPSG:4978"), "EPSG:4978"),
        (projjson("EPSG:4490"), "no transformation with a stated accuracy"),
        (7, "neither an object nor null"),
    ],
    ids=["undefined", "geocentric", "of another datum", "a number"],
)
def test_a_system_that_leads_to_no_degrees_is_refused(tmp_path, crs, words):
    assert words in refusal(geoparquet(tmp_path / "t.parquet", [BOX], crs))


@pytest.mark.parametrize("name", ["/etc/hostname", "+proj=longlat +init=/tmp/x:1", "WGS 84", "EPSG:0"])
def test_a_name_is_looked_up_and_nothing_else(tmp_path, name):
    assert "which PROJ does not know" in refusal(geojson(tmp_path / "t.geojson", BOX, crs=named(name)))


def test_a_crs_of_geojson_has_a_name_and_is_the_collections(tmp_path):
    link = {"type": "link", "properties": {"href": "http://example.com/crs"}}
    assert "no name" in refusal(geojson(tmp_path / "t.geojson", BOX, crs=link))
    path = geojson(tmp_path / "t.geojson", BOX)
    content = json.loads(path.read_text())
    content["features"][0]["geometry"]["crs"] = named("EPSG:3857")
    path.write_text(json.dumps(content))
    assert "a crs of its own" in refusal(path)


def test_a_vertex_beyond_the_systems_area_is_a_fault_of_its_row(tmp_path):
    path = geoparquet(tmp_path / "t.parquet", [MERIDIAN_173, shapely.Point(1e9, 1e9)], projjson("EPSG:25832"))
    assert "beyond the area" in refusal(path)
    assert read(path, on_invalid="skip").ids.to_pylist() == [0]


def test_what_is_no_number_before_it_is_transformed_is_named_so(tmp_path):
    crs = projjson("EPSG:3857")
    with np.errstate(invalid="ignore"):
        line = shapely.from_wkt("LINESTRING (0 0, nan 1)")
    path = geoparquet(tmp_path / "t.parquet", [shapely.Point(np.inf, 0), line, shapely.Point(), METRES], crs)
    assert read(path, on_invalid="skip").ids.to_pylist() == [2, 3]
    assert {problem.fault for problem in read(path, on_invalid="skip").skipped} == {"a coordinate is NaN or infinite"}


def test_what_crosses_the_border_of_degrees_once_transformed_is_a_fault_of_its_row(tmp_path):
    """Its edges would go round the world the other way; two parts on both sides are right."""
    across = shapely.box(3_100_000, 0, 3_500_000, 9)
    parts = shapely.MultiPolygon([shapely.box(3_100_000, 0, 3_100_009, 9), shapely.box(3_500_000, 0, 3_500_009, 9)])
    path = geoparquet(tmp_path / "t.parquet", [across, parts], projjson("EPSG:3832"))
    assert "180 degrees" in refusal(path)
    assert read(path, on_invalid="skip").ids.to_pylist() == [1]


@pytest.mark.parametrize("border", [20037508.34, 20037508.342789244, 20037508.3427893, 20037508.3428, 20037508.35])
@pytest.mark.parametrize("side", [-1, 1])
def test_a_border_with_few_decimals_is_the_border(tmp_path, border, side):
    """By a centimetre and less it lies beyond 180 degrees, and PROJ takes some of it to the other side of the world."""
    left, right = sorted([side * 19e6, side * border])
    table = read(geoparquet(tmp_path / "t.parquet", [shapely.box(left, 0, right, 9)], MERCATOR))
    longitudes = sorted([side * degrees(19e6 / RADIUS), side * 180])
    assert bounds(table)[::2] == pytest.approx(longitudes, abs=1e-7)
    assert max(map(abs, bounds(table))) <= 180


def test_what_is_farther_beyond_the_border_is_no_rounding(tmp_path):
    path = geoparquet(tmp_path / "t.parquet", [shapely.box(19e6, 0, 20_037_510, 9)], MERCATOR)
    assert "180 degrees" in refusal(path)


@pytest.mark.parametrize("degrees", [True, False])
def test_spherical_edges_are_refused_but_of_points_which_have_none(tmp_path, degrees):
    crs = projjson("EPSG:3857" if not degrees else "OGC:CRS84")
    path = geoparquet(tmp_path / "t.parquet", [BOX], crs, edges="spherical")
    assert "its edges are spherical" in refusal(path, degrees=degrees)
    path = geoparquet(tmp_path / "t.parquet", [shapely.Point(1, 2)], crs, edges="spherical")
    assert len(read(path, degrees=degrees)) == 1


def test_srids_are_looked_at_in_every_format(tmp_path):
    wkb = shapely.to_wkb(shapely.set_srid(BOX, 3857), include_srid=True)
    path = tmp_path / "t.parquet"
    pq.write_table(pa.table({"id": [0], "geometry": pa.array([wkb], pa.binary())}), path)
    assert "SRID 3857" in refusal(path)
    csv = tmp_path / "t.csv"
    pa.csv.write_csv(pa.table({"id": [0], "geometry": [wkb.hex()]}), csv)
    assert "SRID 3857" in refusal(csv)
    assert len(read(path, degrees=False)) == 1


@pytest.mark.parametrize(("srid", "fits"), [(0, True), (3857, True), (4326, False)])
def test_srids_agree_with_the_file(tmp_path, srid, fits):
    path = geoparquet(tmp_path / "t.parquet", [BOX], projjson("EPSG:3857"))
    table = pq.read_table(path)
    wkb = shapely.to_wkb(shapely.set_srid(BOX, srid), include_srid=True)
    pq.write_table(table.set_column(1, "geometry", pa.array([wkb], pa.binary())), path)
    if fits:
        assert bounds(read(path))[2] == pytest.approx(degrees(1 / RADIUS))
    else:
        assert "SRID 4326, and the file declares the crs EPSG:3857" in refusal(path)


def rows_of(directory: Path) -> DimensionTable:
    place = TablePlace(directory, "parquet", ("id", "geometry"))
    return parse(directory, ParquetTable(place).read({}).content, suffix=".parquet")


def test_files_of_a_directory_keep_their_system_and_have_one(tmp_path):
    geoparquet(tmp_path / "a.parquet", [METRES], MERCATOR)
    assert bounds(rows_of(tmp_path))[2] == pytest.approx(degrees(80 / RADIUS))
    path = geoparquet(tmp_path / "b.parquet", [METRES], projjson("EPSG:3857"))
    pq.write_table(pq.read_table(path).set_column(0, "id", pa.array([1])), path)
    assert len(rows_of(tmp_path)) == 2, "a code and a definition are the same system"
    geoparquet(tmp_path / "c.parquet", [BOX])
    with pytest.raises(Refused, match=r"EPSG:3857 \(WGS 84 / Pseudo-Mercator\), and OGC:CRS84"):
        rows_of(tmp_path)
    pq.write_table(pq.read_table(path).replace_schema_metadata(None), tmp_path / "c.parquet")
    with pytest.raises(Refused, match="none that is declared"):
        rows_of(tmp_path)


def stream_types(path: Path, crs: str = "degrees", column: str = "wkb") -> dict[str, str]:
    """The types of a stream's file, as both engines take it up."""
    stream = {"source": {"format": "parquet", "path": str(path)}, "event_time": "t", "arrival_time": "t", "id": "id"}
    section = {"join": "table", "geometry": {"left": {column: "geometry"}}, "relation": "within", "crs": crs}
    section |= {"table": {"path": str(path), "id": "id"}}
    query = declared_query({"name": "q", "kind": "spatial_join", "streams": {"left": stream}, "spatial_join": section})
    return merge_types(path, "parquet", CompiledQuery.declare(query).sources["left"], {})


def stream_file(path: Path, shapes: list[shapely.Geometry], crs: Any = ABSENT, **declared: Any) -> Path:
    geoparquet(path, shapes, crs, **declared)
    table = pq.read_table(path)
    pq.write_table(table.append_column("t", pa.array(np.zeros(len(shapes), np.int64))), path)
    return path


def test_a_streams_file_is_in_the_querys_system_or_refused_with_both_names(tmp_path):
    path = stream_file(tmp_path / "s.parquet", [METRES], MERCATOR)
    with pytest.raises(Unfit) as refused:
        stream_types(path)
    (problem,) = refused.value.problems
    assert str(path) in problem.where
    assert "column geometry" in problem.where
    assert "EPSG:3857 (WGS 84 / Pseudo-Mercator)" in problem.fault
    assert "OGC:CRS84" in problem.fault
    assert stream_types(path, "planar")["geometry"] == "binary"
    for crs in (ABSENT, projjson("EPSG:4326")):
        stream_file(path, [BOX], crs)
        assert stream_types(path)["geometry"] == "binary"
        with pytest.raises(Unfit, match="planar"):
            stream_types(path, "planar")
    stream_file(path, [BOX], None)
    with pytest.raises(Unfit, match="unknown"):
        stream_types(path)


def test_a_streams_edges_are_planar_unless_it_declares_points(tmp_path):
    path = stream_file(tmp_path / "s.parquet", [BOX], edges="spherical", geometry_types=["Polygon", "Point"])
    with pytest.raises(Unfit, match="its edges are spherical"):
        stream_types(path)
    stream_file(path, [shapely.Point(1, 1)], edges="spherical", geometry_types=["Point", "MultiPoint Z"])
    assert stream_types(path)["geometry"] == "binary"


def test_a_file_whose_geometries_the_query_does_not_read_is_taken(tmp_path):
    path = stream_file(tmp_path / "s.parquet", [METRES], MERCATOR)
    table = pq.read_table(path).rename_columns(["id", "shape", "t"])
    pq.write_table(table.append_column("geometry", pa.array([BOX.wkb])), path)
    assert stream_types(path)["geometry"] == "binary"
