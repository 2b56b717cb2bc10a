"""Geometries are read alike from texts and bytes; what would end the process or the whole column is one row's fault."""

from __future__ import annotations

import struct

import numpy as np
import pyarrow as pa
import pytest
import shapely
from hypothesis import given
from hypothesis import strategies as st

from kit.suite.examples import drawn
from tailrace.spatial_join.geometry import parsing
from tailrace.spatial_join.geometry.parsing import CURVES, DEEP, MOST_LEVELS, UNREAD, parse, parse_geojson

POINT = struct.pack("<BI2d", 1, 1, 1, 1)


def wkb(levels: int, kind: int = 7, order: str = "<", mark: int = 1, more: bytes = b"") -> bytes:
    """A point in so many containers of a type; `more`: what stands in each before the next one."""
    count = 1 + (len(more) > 0)
    point = struct.pack(f"{order}BI2d", mark, 1, 1, 1)
    return (struct.pack(f"{order}BII", mark, kind, count) + more) * levels + point


NESTS = {
    "collections": wkb,
    "big-endian": lambda n: wkb(n, order=">", mark=0),
    "multipoints": lambda n: wkb(n, kind=4),
    "multipolygons": lambda n: wkb(n, kind=6),
    "curves of curves": lambda n: wkb(n, kind=9),
    "an odd byte order, which GEOS takes for the last one": lambda n: wkb(1)[:9] + wkb(n - 1, mark=77),
    "a type of 4007": lambda n: wkb(n, kind=4007),
    "a type with heights": lambda n: wkb(n, kind=1007),
    "flags of a height": lambda n: wkb(n, kind=0x80000007),
    "behind a point": lambda n: wkb(n, more=POINT),
    "behind a line": lambda n: wkb(n, more=struct.pack("<BII4d", 1, 2, 2, 0, 0, 1, 1)),
    "behind a line with heights": lambda n: wkb(n, more=struct.pack("<BII6d", 1, 1002, 2, 0, 0, 1, 1, 2, 2)),
    "behind a polygon": lambda n: wkb(n, more=struct.pack("<BIII8d", 1, 3, 1, 4, 0, 0, 1, 0, 1, 1, 0, 0)),
    "with an identifier of a system": lambda n: struct.pack("<BIII", 1, 0x20000007, 4326, 1) * n + POINT,
}
"""By how they are nested, collections of n levels."""


@pytest.mark.parametrize("nest", NESTS)
def test_levels_of_bytes_are_counted_before_geos_parses_them(nest):
    """It ends the process at some ten thousand levels."""
    made = NESTS[nest]
    column = pa.array([POINT, made(50_000), made(MOST_LEVELS + 1), made(MOST_LEVELS), None], pa.binary())
    shapes, faults = parse(column)
    assert {row: fault for row, fault in faults.items() if fault == DEEP} == {1: DEEP, 2: DEEP}
    assert faults[4] == UNREAD
    assert shapes[0].equals(shapely.Point(1, 1))


@pytest.mark.parametrize("text", ["GEOMETRYCOLLECTION(", "geometrycollection (", "Geometrycollection Z(POINT (1 1), "])
def test_levels_of_texts_are_counted(text):
    deep = [text * levels + "POINT (2 2)" + ")" * levels for levels in (50_000, MOST_LEVELS + 3, MOST_LEVELS)]
    shapes, faults = parse(pa.array(["POINT (1 1)", *deep, text * 50_000]))
    assert {row for row, fault in faults.items() if fault == DEEP} == {1, 2, 4}
    assert shapes[0].equals(shapely.Point(1, 1))


def test_one_level_more_than_the_most_is_too_deep():
    text = "GEOMETRYCOLLECTION (" * (MOST_LEVELS + 3) + "POINT (2 2)" + ")" * (MOST_LEVELS + 3)
    assert parse(pa.array([text])).faults == {0: DEEP}
    assert parse(pa.array([wkb(MOST_LEVELS + 1)])).faults == {0: DEEP}


def test_levels_of_hexadecimal_texts_are_counted():
    column = pa.array([POINT.hex(), wkb(50_000).hex(), "POINT (1 1)"])
    shapes, faults = parse(column, np.array([True, True, False]))
    assert faults == {1: DEEP}
    assert shapely.equals(shapes[[0, 2]], shapely.Point(1, 1)).all()


def test_levels_of_json_are_counted():
    def nested(levels: int) -> dict:
        geometry = {"type": "Point", "coordinates": [1, 1]}
        for _ in range(levels):
            geometry = {"type": "GeometryCollection", "geometries": [{"type": "GeometryCollection"}, geometry]}
        return geometry

    assert parse_geojson([nested(1), nested(MOST_LEVELS + 1), nested(50_000)]).faults.keys() >= {1, 2}
    assert parse_geojson([nested(50_000)]).faults == {0: DEEP}


def test_wide_geometries_are_not_deep():
    polygons = [shapely.box(i, 0, i + 0.5, 1) for i in range(500)]
    collections = [shapely.GeometryCollection([shapely.Point(i, i)]) for i in range(500)]
    shell = shapely.box(-1, -1, 501, 2)
    wide = [
        shapely.MultiPolygon(polygons),
        shapely.GeometryCollection(collections),
        shapely.Polygon(shell.exterior, [part.exterior for part in polygons]),
        shapely.MultiPoint(np.arange(2000.0).reshape(-1, 2)),
        shapely.LineString(np.arange(2000.0).reshape(-1, 2)),
    ]
    for column in (pa.array(shapely.to_wkt(wide)), pa.array(shapely.to_wkb(wide))):
        shapes, faults = parse(column)
        assert not faults
        assert shapely.equals(shapes, wide).all()


def build(tree: list | None) -> shapely.Geometry:
    if tree is None:
        return shapely.LineString([(0, 0), (1, 1)])
    return shapely.GeometryCollection([build(part) for part in tree])


def levels_of(tree: list | None) -> int:
    return 0 if tree is None else 1 + max(map(levels_of, tree), default=0)


@drawn(100)
@given(st.recursive(st.none(), lambda tree: st.lists(tree, max_size=3), max_leaves=12), st.sampled_from([0, 1]))
def test_the_levels_are_those_of_the_geometry(tree, order):
    shape, levels = build(tree), levels_of(tree)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(parsing, "SHORT", 0)
        for most in {max(levels - 1, 0), levels}:
            patch.setattr(parsing, "MOST_LEVELS", most)
            assert bool(parse(pa.array([shapely.to_wkb(shape, byte_order=order)])).faults) == (levels > most)
        patch.setattr(parsing, "MULTIPOLYGON_LEVELS", 1)  # of a line
        assert not parse(pa.array([shape.wkt])).faults


@pytest.mark.parametrize("odd", range(9))
def test_a_curve_is_the_fault_of_its_row_wherever_it_stands(odd):
    texts = [f"POINT ({row} 0)" for row in range(9)]
    texts[odd] = "CIRCULARSTRING (0 0, 1 1, 2 0)"
    shapes, faults = parse(pa.array(texts))
    assert faults == {odd: CURVES}
    assert [None if shape is None else shape.x for shape in shapes] == [None if r == odd else r for r in range(9)]


@pytest.mark.parametrize("end", [1, 4, 5, 8, 20])
def test_bytes_that_end_early_are_unread(end):
    line = shapely.to_wkb(shapely.LineString(np.arange(400.0).reshape(-1, 2)))
    assert parse(pa.array([line[:end], wkb(200)[: 5 + end]])).faults == {0: UNREAD, 1: UNREAD}
    assert parse(pa.array([line[:-end]])).faults == {0: UNREAD}


def test_no_values_give_no_geometries():
    for column in (pa.array([], pa.string()), pa.array([], pa.binary())):
        assert len(parse(column).shapes) == 0
    assert len(parse_geojson([]).shapes) == 0
