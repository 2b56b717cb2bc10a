"""The geometries of a stream: what is none goes to quarantine with its reason, all else is stored as it came."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
import shapely

from tailrace.spatial_join.geometries import Points, Shaped
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
    ("CIRCULARSTRING (0 0, 1 1, 2 0)", "no geometry that could be read: WKT"),
    ("COMPOUNDCURVE (CIRCULARSTRING (0 0, 1 1, 2 0), (2 0, 0 0))", "no geometry that could be read: WKT"),
    ("POINT (nan 1)", "NaN or infinite"),
    ("LINESTRING (0 0, inf 1)", "NaN or infinite"),
    ("POINT (1e400 1)", "NaN or infinite"),
    ("POLYGON ((0 0, 1 0, 1 nan, 0 0))", "NaN or infinite"),
    ("POINT (180.5 1)", "not in degrees"),
    ("POINT (1 -90.5)", "not in degrees"),
    (BOWTIE, "not valid: self-intersection"),
    ("POLYGON ((0 0, 2 0, 2 2, 0 2, 0 0), (5 5, 6 5, 6 6, 5 5))", "not valid: hole lies outside shell"),
]


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
        curves = [(text is not None and "CURVE" in text) or "CIRCULAR" in (text or "") for text in texts]
        readable = [None if curve else text for text, curve in zip(texts, curves, strict=True)]
        with np.errstate(all="ignore"):
            shapes = shapely.from_wkt(np.array(readable, object), on_invalid="ignore")
        column = pa.array([b"\x01" if wkb is None else wkb for wkb in shapely.to_wkb(shapes)], pa.binary())
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
