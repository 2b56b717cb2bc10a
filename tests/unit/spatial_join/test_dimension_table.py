"""A table is read from each format alike, and what can't be a table is refused with where, what, and what is right."""

from __future__ import annotations

import json
import struct
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
import pytest
import shapely

from tailrace.ground.errors import Refused
from tailrace.spatial_join.table.dimension_table import DimensionTable, parse

SQUARE, BOW = shapely.box(0, 0, 1, 1), shapely.Polygon([(0, 0), (2, 2), (2, 0), (0, 2)])
SPIKE = shapely.Polygon([(0, 0), (2, 0), (2, 1), (2, 5), (2, 1), (0, 1)])
LINE = shapely.LineString([(0, 0), (3, 4)])


def geojson(path, shapes, ids=None, names=None, member=True):
    features = []
    for number, shape in enumerate(shapes):
        geometry = shape if shape is None or isinstance(shape, dict | str) else json.loads(shapely.to_geojson(shape))
        feature = {"type": "Feature", "geometry": geometry, "properties": {}}
        identity = number if ids is None else ids[number]
        if identity is not None:
            (feature if member else feature["properties"])["id"] = identity
        if names is not None:
            feature["properties"]["name"] = names[number]
        features.append(feature)
    path.write_text(json.dumps({"type": "FeatureCollection", "features": features}), encoding="utf-8")
    return path


def table(path, geometries, **columns):
    rows = pa.table({**columns, "geometry": geometries})
    (pa.csv.write_csv if path.suffix == ".csv" else pa.parquet.write_table)(rows, path)
    return path


def read(path: Path, **options) -> DimensionTable:
    return parse(path, path.read_bytes(), **options)


def refusal(path, **options):
    with pytest.raises(Refused) as refused:
        read(path, **options)
    for problem in refused.value.problems:
        assert str(path) in problem.where
        assert problem.remedy
    return refused.value.problems


WRITERS = {
    "member.geojson": lambda path, shapes, ids: geojson(path, shapes, ids, ["a", "b"]),
    "property.json": lambda path, shapes, ids: geojson(path, shapes, ids, ["a", "b"], member=False),
    "wkb.parquet": lambda path, shapes, ids: table(path, pa.array(shapely.to_wkb(shapes)), id=ids, name=["a", "b"]),
    "large.geoparquet": lambda path, shapes, ids: table(
        path, pa.array(shapely.to_wkb(shapes), pa.large_binary()), id=ids, name=["a", "b"]
    ),
    "wkt.parquet": lambda path, shapes, ids: table(path, pa.array(shapely.to_wkt(shapes)), id=ids, name=["a", "b"]),
    "view.parquet": lambda path, shapes, ids: table(
        path, pa.array(shapely.to_wkt(shapes), pa.string_view()), id=ids, name=["a", "b"]
    ),
    "wkt.csv": lambda path, shapes, ids: table(path, pa.array(shapely.to_wkt(shapes)), id=ids, name=["a", "b"]),
    "hex.csv": lambda path, shapes, ids: table(
        path, pa.array(shapely.to_wkb(shapes, hex=True)), id=ids, name=["a", "b"]
    ),
}


@pytest.mark.parametrize("name", WRITERS)
@pytest.mark.parametrize("ids", [[7, -3], ["north", "007"]])
def test_formats(tmp_path, name, ids):
    shapes = np.array([SQUARE, LINE], object)
    rows = read(WRITERS[name](tmp_path / name, shapes, ids), columns=["name"])
    assert rows.ids.to_pylist() == ids
    assert rows.ids.type == (pa.string() if isinstance(ids[0], str) else pa.int64())
    assert shapely.equals(rows.shapes, shapes).all()
    assert {name: column.to_pylist() for name, column in rows.columns.items()} == {"name": ["a", "b"]}
    assert rows.skipped == ()
    assert len(rows) == 2


@pytest.mark.parametrize("name", WRITERS)
def test_the_id_may_be_any_column_and_columns_need_not_be_taken(tmp_path, name):
    rows = read(WRITERS[name](tmp_path / name, np.array([SQUARE, LINE], object), [1, 2]), id="name")
    assert rows.ids.to_pylist() == ["a", "b"]
    assert rows.columns == {}


def test_heights_are_dropped_and_text_in_csv_may_have_lines_and_be_long(tmp_path):
    ring = np.column_stack([np.cos(np.linspace(0, 6, 60_000)), np.sin(np.linspace(0, 6, 60_000))])
    long = shapely.Polygon(ring)
    path = tmp_path / "t.csv"
    path.write_text(f'id,geometry,name\n1,"{long.wkt}","two\nlines"\n2,"POINT Z (1 2 3)",NA\n', encoding="utf-8")
    rows = read(path, columns=["name"])
    assert shapely.equals_exact(rows.shapes[0], long, 1e-9)
    assert not shapely.has_z(rows.shapes).any()
    assert {name: column.to_pylist() for name, column in rows.columns.items()} == {"name": ["two\nlines", "NA"]}


def test_empty_tables_and_empty_geometries_are_tables(tmp_path):
    assert len(read(geojson(tmp_path / "none.geojson", []))) == 0
    assert len(read(table(tmp_path / "none.parquet", pa.array([], pa.binary()), id=pa.array([], pa.int64())))) == 0
    (tmp_path / "none.csv").write_text("id,geometry\n")
    assert len(read(tmp_path / "none.csv")) == 0
    assert read(geojson(tmp_path / "a.geojson", [shapely.Polygon()])).shapes[0].is_empty


def nested(levels: int) -> dict:
    """Collections within each other."""
    geometry = {"type": "Point", "coordinates": [1, 1]}
    for _ in range(levels):
        geometry = {"type": "GeometryCollection", "geometries": [geometry]}
    return geometry


FAULTY = {
    "no geometry": (None, "no geometry"),
    "unreadable": ({"type": "Polygon", "coordinates": [[[0, 0], [1]]]}, "could not be read"),
    "far": (shapely.Point(116, 91), "degrees"),
    "invalid": (BOW, "not valid: Self-intersection"),
    "a collection of nothing": ({"type": "GeometryCollection", "geometries": "no list"}, "could not be read"),
    "no object": ("POINT (1 1)", "could not be read"),
    "nested": (nested(101), "nested more than 100 deep"),
}


@pytest.mark.parametrize("name", FAULTY)
def test_faulty_geometries_are_refused_or_skipped(tmp_path, name):
    shape, words = FAULTY[name]
    path = geojson(tmp_path / "t.geojson", [SQUARE, shape, LINE], names=["a", "b", "c"])
    (problem,) = refusal(path)
    assert "feature 2 (id 1)" in problem.where
    assert words in problem.fault
    assert "on_invalid: make_valid or skip" in problem.remedy
    rows = read(path, columns=["name"], on_invalid="skip")
    assert rows.ids.to_pylist() == [0, 2]
    assert rows.columns["name"].to_pylist() == ["a", "c"]
    assert shapely.equals(rows.shapes, np.array([SQUARE, LINE], object)).all()
    assert [str(one.fault) for one in rows.skipped] == [problem.fault]
    if name == "invalid":
        assert read(path, on_invalid="make_valid").shapes[1].equals(shapely.make_valid(BOW))
    else:
        assert words in refusal(path, on_invalid="make_valid")[0].fault


@pytest.mark.parametrize("place", ["nan", "inf"])
def test_coordinates_are_numbers(tmp_path, place):
    bad = shapely.Point(0.0, float(place))
    path = table(tmp_path / "t.parquet", pa.array(shapely.to_wkb(np.array([bad, SQUARE], object))), id=[1, 2])
    for on_invalid in ("refuse", "make_valid"):
        (problem,) = refusal(path, degrees=False, on_invalid=on_invalid)
        assert "row 1 (id 1)" in problem.where
        assert "NaN or infinite" in problem.fault
    assert read(path, degrees=False, on_invalid="skip").ids.to_pylist() == [2]


def test_planar_coordinates_have_no_range(tmp_path):
    path = geojson(tmp_path / "t.geojson", [shapely.Point(1e6, 1e6)])
    assert len(read(path, degrees=False)) == 1
    refusal(path)
    assert len(read(geojson(tmp_path / "edge.geojson", [shapely.Point(-180, 90)]))) == 1


def test_areas_made_valid_stay_areas(tmp_path):
    path = geojson(tmp_path / "t.geojson", [SPIKE, shapely.Polygon([(0, 0), (1, 1), (2, 2)])])
    mended = read(path, on_invalid="make_valid").shapes
    assert mended[0].equals(shapely.box(0, 0, 2, 1))
    assert mended[1].length == pytest.approx(8**0.5)
    assert shapely.is_valid(mended).all()


def test_what_geos_fails_to_check_is_a_fault(tmp_path, monkeypatch):
    def fail(shape, **_):
        raise shapely.GEOSException("it is too small")

    path = geojson(tmp_path / "t.geojson", [SQUARE, BOW])
    monkeypatch.setattr(shapely, "make_valid", fail)
    assert "too small" in refusal(path, on_invalid="make_valid")[0].fault
    monkeypatch.setattr(shapely, "is_valid_reason", fail)
    monkeypatch.setattr(shapely, "is_valid", fail)
    assert len(refusal(path)) == 2
    assert len(read(path, on_invalid="skip")) == 0


ARC = struct.pack("<BII6d", 1, 8, 3, 0, 0, 1, 1, 2, 0)
CURVES = {
    "CIRCULARSTRING (0 0, 1 1, 2 0)": ARC,
    "COMPOUNDCURVE (CIRCULARSTRING (0 0, 1 1, 2 0))": struct.pack("<BII", 1, 9, 1) + ARC,
    "CURVEPOLYGON (CIRCULARSTRING (0 0, 1 1, 0 0))": struct.pack("<BII", 1, 10, 1) + ARC,
    "MULTICURVE (CIRCULARSTRING (0 0, 1 1, 2 0))": struct.pack("<BII", 1, 11, 1) + ARC,
    "GEOMETRYCOLLECTION (CIRCULARSTRING (0 0, 1 1, 2 0))": struct.pack("<BII", 1, 7, 1) + ARC,
}
WRITTEN = {
    "wkt.csv": lambda text, wkb: pa.array([SQUARE.wkt, text, LINE.wkt]),
    "hex.csv": lambda text, wkb: pa.array([SQUARE.wkb_hex, wkb.hex(), LINE.wkt]),
    "wkt.parquet": lambda text, wkb: pa.array([SQUARE.wkt, text, LINE.wkt]),
    "wkb.parquet": lambda text, wkb: pa.array([SQUARE.wkb, wkb, LINE.wkb]),
    "wkb.geoparquet": lambda text, wkb: pa.array([SQUARE.wkb, wkb, LINE.wkb], pa.binary_view()),
}
DEEP = {
    "GEOMETRYCOLLECTION (" * 50_000 + "POINT (1 1)" + ")" * 50_000: struct.pack("<BII", 1, 7, 1) * 50_000
    + struct.pack("<BI2d", 1, 1, 1, 1)
}


@pytest.mark.parametrize("name", WRITTEN)
@pytest.mark.parametrize(("text", "wkb"), (CURVES | DEEP).items(), ids=[*CURVES, "nested"])
def test_curves_and_deep_nests_are_faults_of_their_rows(tmp_path, name, text, wkb):
    path = table(tmp_path / name, WRITTEN[name](text, wkb), id=[1, 2, 3])
    (problem,) = refusal(path)
    assert "row 2 (id 2)" in problem.where
    assert ("nested more than 100 deep" if text in DEEP else "is of curves") in problem.fault
    assert problem.fault == refusal(path, on_invalid="make_valid")[0].fault
    rows = read(path, on_invalid="skip")
    assert rows.ids.to_pylist() == [1, 3]
    assert shapely.equals(rows.shapes, np.array([SQUARE, LINE], object)).all()


def test_a_row_that_crosses_itself_too_often_is_refused_though_it_were_to_be_made_valid(tmp_path):
    star = shapely.Polygon(np.random.default_rng(1).random((800, 2)))
    path = geojson(tmp_path / "t.geojson", [SQUARE, star, BOW])
    (problem,) = refusal(path, on_invalid="make_valid")
    assert "feature 2 (id 1)" in problem.where
    assert "cross more than 1,000 times" in problem.fault


def test_no_more_than_twenty_faults_are_told(tmp_path):
    problems = refusal(geojson(tmp_path / "t.geojson", [None] * 30))
    assert len(problems) == 21
    assert problems[-1].fault == "10 more"


@pytest.mark.parametrize(
    ("ids", "words"),
    [
        ([1, None, 2], "feature 2 has no id"),
        ([1, 2, 1], "features 1 and 3 have the same id 1"),
        (["a", "a", "b"], "features 1 and 2 have the same id a"),
        ([1.5, 2.5, 3.5], "type double"),
        ([1, "a", 2], "not of one type"),
        ([True, False, True], "type bool"),
    ],
)
@pytest.mark.parametrize("on_invalid", ["refuse", "skip"])
def test_ids_are_there_once_and_integers_or_texts(tmp_path, ids, words, on_invalid):
    path = geojson(tmp_path / "t.geojson", [SQUARE, LINE, None], ids)
    assert words in refusal(path, on_invalid=on_invalid)[0].fault


def test_ids_fit_in_64_bits(tmp_path):
    geometries = pa.array(shapely.to_wkb(np.array([SQUARE], object)))
    path = table(tmp_path / "t.parquet", geometries, id=pa.array([2**63], pa.uint64()))
    assert "2**63" in refusal(path)[0].fault
    assert read(table(path, geometries, id=pa.array(["a"]).dictionary_encode())).ids.to_pylist() == ["a"]


def test_missing_ids_and_geometries_in_csv(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("id,geometry\na,POINT (1 1)\n,POINT (2 2)\n")
    assert "row 2 has no id" in refusal(path)[0].fault
    path.write_text("id,geometry\na,\nb,POINT 2\nc,0102\n")
    assert [one.fault for one in refusal(path)] == [
        "it has no geometry",
        "its geometry could not be read",
        "its geometry could not be read",
    ]


def test_columns_are_there(tmp_path):
    path = geojson(tmp_path / "t.geojson", [SQUARE], names=["a"])
    assert "no feature has town" in refusal(path, columns=["town"])[0].fault
    assert "name" in refusal(path, id="town")[0].remedy
    assert "geometry" in refusal(path, geometry="shape")[0].remedy
    path = table(tmp_path / "t.parquet", pa.array([b""]), id=[1])
    assert "no column town" in refusal(path, columns=["town"])[0].fault
    assert "no column shape" in refusal(path, geometry="shape")[0].fault
    (tmp_path / "t.csv").write_text("id,geometry,id\n1,POINT (1 1),2\n")
    assert "more than one column id" in refusal(tmp_path / "t.csv")[0].fault


def test_geometries_are_texts_or_bytes(tmp_path):
    path = table(tmp_path / "t.parquet", pa.array([[0.0, 1.0]]), id=[1])
    assert "list" in refusal(path)[0].fault


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("t.geojson", b"{"),
        ("t.geojson", b"\xff\xfe\xff"),
        ("t.geojson", b'{"type": "Topology", "objects": {}}'),
        ("t.geojson", b"[1]"),
        ("t.geojson", b"[" * 100_000),
        ("t.geojson", b'{"type": "FeatureCollection", "features": [1]}'),
        ("t.parquet", b"PAR1"),
        ("t.csv", b""),
        ("t.csv", b"id,geometry\n1\n"),
        ("t.shp", b""),
        ("t", b""),
    ],
)
def test_what_is_no_table_is_refused(tmp_path, name, content):
    (tmp_path / name).write_bytes(content)
    refusal(tmp_path / name)


def csv_columns(path: Path, **texts: list[str]) -> dict[str, pa.Array]:
    rows = zip(*texts.values(), strict=True)
    lines = [f"{n},POINT (0 0),{','.join(row)}" for n, row in enumerate(rows)]
    path.write_text("\n".join([f"id,geometry,{','.join(texts)}", *lines, ""]), encoding="utf-8")
    return dict(read(path, columns=list(texts)).columns)


def test_a_column_of_csv_is_text_unless_all_of_its_texts_come_back_from_another_type(tmp_path):
    columns = csv_columns(
        tmp_path / "t.csv",
        fips=["06037", "06019"],
        phone=["+12135550100", ""],
        flag=["1", "true"],
        count=["7", ""],
        rate=["2.50", "1e-7"],
        open=["True", "false"],
        day=["2020-01-02", "2020-01-03"],
        word=["NA", "null"],
        none=["", ""],
    )
    assert {name: column.to_pylist() for name, column in columns.items()} == {
        "fips": ["06037", "06019"],
        "phone": ["+12135550100", None],
        "flag": ["1", "true"],
        "count": [7, None],
        "rate": [2.5, 1e-7],
        "open": [True, False],
        "day": ["2020-01-02", "2020-01-03"],
        "word": ["NA", "null"],
        "none": [None, None],
    }
    assert columns["none"].type == pa.null()


def test_int96_times_do_not_wrap(tmp_path):
    times = pa.array([datetime(9999, 12, 31, tzinfo=UTC)], pa.timestamp("us", "UTC"))
    rows = pa.table({"id": [1], "geometry": [shapely.to_wkb(shapely.Point(0, 0))], "until": times})
    pa.parquet.write_table(rows, tmp_path / "t.parquet", use_deprecated_int96_timestamps=True)
    (until,) = read(tmp_path / "t.parquet", columns=["until"]).columns["until"].cast(times.type).to_pylist()
    assert until == datetime(9999, 12, 31, tzinfo=UTC)


@pytest.mark.parametrize("name", ["id", "name", "geometry"])
def test_texts_that_are_no_utf_8_are_refused_by_column_and_row(tmp_path, name):
    good = {"id": ["a", "b"], "name": ["x", "y"], "geometry": ["POINT (0 0)", "POINT (1 1)"]}
    odd = pa.array([good[name][0].encode(), b"caf\xe9"]).view(pa.string())
    pa.parquet.write_table(pa.table(good | {name: odd}), tmp_path / "t.parquet")
    (problem,) = refusal(tmp_path / "t.parquet", columns=["name"])
    assert (problem.where, problem.fault) == (f"{tmp_path}/t.parquet: {name}", "the text of row 2 is no UTF-8")


def test_names_that_are_no_utf_8_and_names_that_come_twice_are_refused(tmp_path):
    odd = pa.schema([("id", pa.int64()), ("geometry", pa.string()), pa.field(b"caf\xe9", pa.int64())])
    pa.parquet.write_table(pa.table([[1], ["POINT (0 0)"], [1]], schema=odd), tmp_path / "t.parquet")
    assert "the name of a column is no UTF-8" in refusal(tmp_path / "t.parquet")[0].fault
    content = geojson(tmp_path / "t.geojson", [shapely.Point(0, 0)], [1], ["a"]).read_text()
    (tmp_path / "t.geojson").write_text(content.replace('"name"', '"name": "b", "name"'))
    assert "an object has the name 'name' more than once" in refusal(tmp_path / "t.geojson", columns=["name"])[0].fault
    (tmp_path / "t.geojson").write_text(content.replace('"a"', '"\\ud800"'))
    assert "half of a surrogate pair" in refusal(tmp_path / "t.geojson", columns=["name"])[0].fault


def test_a_byte_order_mark_before_a_table_is_no_part_of_it(tmp_path):
    for path in (
        geojson(tmp_path / "t.geojson", [shapely.Point(0, 0)], [1]),
        table(tmp_path / "t.csv", pa.array(["POINT (0 0)"]), id=[1]),
    ):
        path.write_bytes(b"\xef\xbb\xbf" + path.read_bytes())
        assert read(path).ids.to_pylist() == [1]
