"""The geometries of a stream: what is none goes to quarantine with its reason, all else is stored as it came."""

from __future__ import annotations

import struct

import numpy as np
import pyarrow as pa
import pytest
import shapely

from tailrace.spatial_join.geometry.geometries import Points, Shaped
from tailrace.spatial_join.geometry_input import GeometryInput

BOWTIE = "POLYGON ((0 0, 1 1, 1 0, 0 1, 0 0))"
WKT = [
    ("POINT (1 2)", None),
    ("POINT Z (1 2 3)", None),
    ("POLYGON ((0 0, 2 0, 2 2, 0 2, 0 0))", None),
    ("POINT EMPTY", None),
    ("GEOMETRYCOLLECTION (POINT (1 1), LINESTRING (0 0, 1 1))", None),
    ("POINT (-180 90)", None),
    (None, "no geometry that could be read: WKT"),
    ("POINT 1 2", "no geometry that could be read: WKT"),
    ("CIRCULARSTRING (0 0, 1 1, 2 0)", "is of curves"),
    ("COMPOUNDCURVE (CIRCULARSTRING (0 0, 1 1, 2 0), (2 0, 0 0))", "is of curves"),
    ("GEOMETRYCOLLECTION (POINT (1 1), CIRCULARSTRING (0 0, 1 1, 2 0))", "is of curves"),
    ("GEOMETRYCOLLECTION (" * 50_000 + "POINT (1 1)" + ")" * 50_000, "nested more than 100 deep"),
    ("POINT (nan 1)", "NaN or infinite"),
    ("LINESTRING (0 0, inf 1)", "NaN or infinite"),
    ("POINT (1e400 1)", "NaN or infinite"),
    ("POLYGON ((0 0, 1 0, 1 nan, 0 0))", "NaN or infinite"),
    ("POINT (180.5 1)", "not in degrees"),
    ("POINT (1 -90.5)", "not in degrees"),
    (BOWTIE, "not valid: self-intersection"),
    ("POLYGON ((0 0, 2 0, 2 2, 0 2, 0 0), (5 5, 6 5, 6 6, 5 5))", "not valid: hole lies outside shell"),
]


ARC = struct.pack("<BII6d", 1, 8, 3, 0, 0, 1, 1, 2, 0)
ODD = {
    "CIRCULARSTRING": ARC,
    "COMPOUNDCURVE": struct.pack("<BII", 1, 9, 1) + ARC,
    "GEOMETRYCOLLECTION (POINT (1 1), CIRCULAR": struct.pack("<BII", 1, 7, 1) + ARC,
    "GEOMETRYCOLLECTION (GEOMETRY": struct.pack("<BII", 1, 7, 1) * 50_000 + struct.pack("<BI2d", 1, 1, 1, 1),
}
"""The WKB of texts that shapely writes none of, by how they begin."""


def odd_wkb(text: str | None) -> bytes | None:
    return next((wkb for start, wkb in ODD.items() if text is not None and text.startswith(start)), None)


def reasons_of(made: GeometryInput, values: dict[str, pa.Array]) -> list[str | None]:
    """The first reason against each record."""
    reasons: list[str | None] = [None] * len(next(iter(values.values())))
    for mask, reason in made.check(values):
        for place in np.flatnonzero(mask):
            reasons[place] = reasons[place] or reason
    return reasons


@pytest.mark.parametrize("part", ["wkt", "wkb"])
def test_what_is_no_geometry_is_rejected_with_its_reason(part):
    texts = [text for text, _ in WKT]
    column = pa.array(texts, pa.string())
    if part == "wkb":
        readable = [None if odd_wkb(text) else text for text in texts]
        with np.errstate(all="ignore"):
            shapes = shapely.from_wkt(np.array(readable, object), on_invalid="ignore")
        wkbs = [b"\x01" if wkb is None else wkb for wkb in shapely.to_wkb(shapes)]
        column = pa.array([odd_wkb(text) or wkb for text, wkb in zip(texts, wkbs, strict=True)], pa.binary())
    found = reasons_of(GeometryInput({part: "where"}), {part: column})
    for (text, expected), reason in zip(WKT, found, strict=True):
        assert (reason is None) == (expected is None), (text, reason)
        if reason is not None:
            assert expected.replace("WKT", part.upper()) in reason
            assert "where" in reason


def test_coordinates_in_the_plane_have_no_bounds():
    column = pa.array(["POINT (180.5 1)", "POINT (5e8 -9e9)"])
    assert reasons_of(GeometryInput({"wkt": "where"}, degrees=False), {"wkt": column}) == [None, None]


def test_invalid_geometries_are_made_valid_on_request():
    made = GeometryInput({"wkt": "where"}, makes_valid=True)
    tuples = pa.record_batch({"wkt": pa.array([BOWTIE, "POINT (1 2)"])})
    assert reasons_of(made, {"wkt": tuples.column("wkt")}) == [None, None]
    rows = pa.record_batch(made.rows(tuples), schema=made.schema)
    shapes = made.geometries(rows).shapes
    assert shapely.is_valid(shapes).all()
    assert shapes[0].area == pytest.approx(0.5)
    assert shapes[1].equals(shapely.Point(1, 2))
    bad = pa.array(["POLYGON ((0 0, 1 0, 1 nan, 0 0))", None])
    assert all(reasons_of(made, {"wkt": bad}))


def star(corners: int) -> str:
    """A ring whose edges cross each other by the square of their number."""
    return shapely.Polygon(np.random.default_rng(1).random((corners, 2))).wkt


def test_what_crosses_itself_too_often_is_not_made_valid():
    """Of 400 corners it takes seconds and 127 MB, of 800 four times as much."""
    made = GeometryInput({"wkt": "where"}, makes_valid=True)
    reason, other = reasons_of(made, {"wkt": pa.array([star(800), BOWTIE])})
    assert other is None
    assert "where is not valid: its edges cross more than 1,000 times, too often to make it valid" in reason


def test_a_geometry_that_geos_fails_to_check_is_rejected_and_no_other(monkeypatch):
    poison, is_valid, why = shapely.Point(9, 9), shapely.is_valid, shapely.is_valid_reason

    def failing(ask):
        def asked(shapes):
            if shapely.equals(shapes, poison).any():
                raise shapely.GEOSException("IllegalStateException: side location conflict at 9 9")
            return ask(shapes)

        return asked

    monkeypatch.setattr(shapely, "is_valid", failing(is_valid))
    monkeypatch.setattr(shapely, "is_valid_reason", failing(why))
    for makes_valid in (False, True):
        made = GeometryInput({"wkt": "where"}, makes_valid=makes_valid)
        found = reasons_of(made, {"wkt": pa.array(["POINT (1 1)", "POINT (9 9)", BOWTIE, None])})
        assert [bool(reason) for reason in found] == [False, True, not makes_valid, True]
        assert "side location conflict" in found[1]


def test_points_by_coordinates_have_bounds_in_degrees():
    values = {"x": pa.array([180.0, 180.1, 0.0, -181.0]), "y": pa.array([90.0, 0.0, -90.1, 0.0])}
    found = reasons_of(GeometryInput({"x": "lon", "y": "lat"}), values)
    assert [bool(reason) for reason in found] == [False, True, True, True]
    assert "lon" in found[1]
    assert "lat" in found[2]
    assert reasons_of(GeometryInput({"x": "lon", "y": "lat"}, degrees=False), values) == [None] * 4


def test_points_are_stored_as_columns_and_others_as_bytes():
    points = GeometryInput({"x": "lon", "y": "lat"})
    tuples = pa.record_batch({"x": [1.0, 2.0], "y": [3.0, 4.0]})
    read = points.geometries(pa.record_batch(points.rows(tuples), schema=points.schema))
    assert isinstance(read, Points)
    assert (read.x.tolist(), read.y.tolist()) == ([1.0, 2.0], [3.0, 4.0])
    texts = GeometryInput({"wkt": "where"})
    line = ["LINESTRING (0 0, 1 1)", "POINT EMPTY"]
    mixed = texts.geometries(pa.record_batch(texts.rows(pa.record_batch({"wkt": line})), schema=texts.schema))
    assert isinstance(mixed, Shaped)
    assert [shape.wkt for shape in mixed.shapes] == line
    only_points = pa.record_batch({"wkt": ["POINT Z (1 2 7)", "POINT (3 4)"]})
    read = texts.geometries(pa.record_batch(texts.rows(only_points), schema=texts.schema))
    assert isinstance(read, Points)
    assert read.y.tolist() == [2.0, 4.0]


def test_a_record_with_an_srid_other_than_4326_is_rejected():
    shapes = [shapely.Point(1, 2), *(shapely.set_srid(shapely.Point(1, 2), srid) for srid in (4326, 3857))]
    values = {"wkb": pa.array([*(shapely.to_wkb(shape, include_srid=True) for shape in shapes), b"no geometry"])}
    reasons = reasons_of(GeometryInput({"wkb": "geom"}), values)
    assert reasons[:2] == [None, None]
    assert "geom has an SRID other than 4326" in reasons[2]
    assert "no geometry" in reasons[3]
    assert reasons_of(GeometryInput({"wkb": "geom"}, degrees=False), values)[:3] == [None] * 3
