"""Geometries on a lattice of integers that share edges, corners, holes and lines; the same in each run."""

from __future__ import annotations

import numpy as np
import shapely

_WKT = """
POINT (0 0); POINT (2 0); POINT (3 0); POINT (2 2); POINT (3 3); POINT (4 2); POINT (6 6); POINT (1 5); POINT (9 9)
MULTIPOINT ((0 0), (6 6)); MULTIPOINT ((2 2), (3 3), (9 9)); MULTIPOINT ((2 0), (4 0)); MULTIPOINT ((2 0))
LINESTRING (0 0, 6 0); LINESTRING (1 0, 5 0); LINESTRING (2 0, 4 0); LINESTRING (3 0, 8 0); LINESTRING (4 0, 2 0)
LINESTRING (0 0, 6 6); LINESTRING (6 0, 0 6); LINESTRING (2 2, 4 2); LINESTRING (2 2, 4 2, 4 4, 2 4, 2 2)
LINESTRING (0 0, 3 0, 3 3); LINESTRING (0 3, 6 3, 6 6, 3 6, 3 0); LINESTRING (-1 3, 7 3); LINESTRING (6 0, 6 6, 8 6)
LINESTRING (2 0, 3 2, 4 0); LINESTRING (1 1, 2 1, 2 1, 1 1); LINESTRING (3 0, 3 2); LINESTRING (0 6, 0 0, 6 0, 6 6)
MULTILINESTRING ((0 0, 3 0), (3 0, 6 0)); MULTILINESTRING ((0 0, 2 2), (4 4, 6 6))
MULTILINESTRING ((2 2, 4 4), (2 4, 4 2))
POLYGON ((0 0, 6 0, 6 6, 0 6, 0 0)); POLYGON ((0 0, 3 0, 6 0, 6 3, 6 6, 0 6, 0 0))
POLYGON ((2 2, 4 2, 4 4, 2 4, 2 2))
POLYGON ((0 0, 6 0, 6 6, 0 6, 0 0), (2 2, 4 2, 4 4, 2 4, 2 2))
POLYGON ((0 0, 6 0, 6 6, 0 6, 0 0), (3 0, 4 2, 2 2, 3 0))
POLYGON ((0 0, 6 0, 6 6, 0 6, 0 0), (0 0, 3 1, 1 3, 0 0))
POLYGON ((0 0, 6 0, 6 6, 0 6, 0 0), (2 0, 3 2, 1 2, 2 0), (4 0, 5 2, 4 2, 4 0))
POLYGON ((0 0, 6 0, 6 6, 0 6, 0 0), (1 1, 3 1, 3 3, 1 3, 1 1), (3 3, 5 3, 5 5, 3 5, 3 3))
POLYGON ((3 0, 4 2, 2 2, 3 0))
POLYGON ((0 0, 6 0, 6 1, 1 1, 1 5, 6 5, 6 6, 0 6, 0 0)); POLYGON ((1 1, 6 1, 6 5, 1 5, 1 1))
POLYGON ((6 0, 9 0, 9 6, 6 6, 6 0))
POLYGON ((6 6, 9 6, 9 9, 6 9, 6 6)); POLYGON ((0 0, 2 0, 3 2, 4 0, 6 0, 3 6, 0 0)); POLYGON ((2 0, 4 0, 3 2, 2 0))
POLYGON ((0 0, 3 0, 0 3, 0 0)); POLYGON ((3 0, 6 0, 6 3, 3 0)); POLYGON ((3 3, 9 3, 9 9, 3 9, 3 3))
POLYGON ((7 1, 8 1, 8 2, 7 2, 7 1))
MULTIPOLYGON (((0 0, 2 0, 2 2, 0 2, 0 0)), ((2 2, 4 2, 4 4, 2 4, 2 2)))
MULTIPOLYGON (((0 0, 2 0, 1 2, 0 0)), ((2 0, 4 0, 3 2, 2 0)))
MULTIPOLYGON (((0 0, 6 0, 6 6, 0 6, 0 0), (1 1, 5 1, 5 5, 1 5, 1 1)), ((2 2, 4 2, 4 4, 2 4, 2 2)))
GEOMETRYCOLLECTION (POINT (9 9), LINESTRING (2 0, 4 0))
GEOMETRYCOLLECTION (POLYGON ((2 2, 4 2, 4 4, 2 4, 2 2)), LINESTRING (4 3, 6 3))
GEOMETRYCOLLECTION (POINT (1 1), GEOMETRYCOLLECTION (LINESTRING (0 0, 0 6), MULTIPOINT ((3 3), (6 0))))
GEOMETRYCOLLECTION (POINT (2 0))
POINT EMPTY; LINESTRING EMPTY; POLYGON EMPTY; MULTIPOINT EMPTY; GEOMETRYCOLLECTION EMPTY
"""


def lattice_geometries(drawn: int = 30, seed: int = 3) -> list[shapely.Geometry]:
    """Valid geometries on the lattice 0…9: those that meet in every way by design, and others drawn at random."""
    designed = [shapely.from_wkt(text) for line in _WKT.strip().splitlines() for text in line.split("; ")]
    random, found = np.random.default_rng(seed), list(designed)
    while len(found) < len(designed) + drawn:
        shape = drawn_geometry(random)
        if shape.is_valid:
            found.append(shape)
    return found


def drawn_geometry(random: np.random.Generator) -> shapely.Geometry:
    """A point, line, ring, polygon with or without a hole, or collection, on the lattice 0…6; it may be invalid."""
    corners = random.integers(0, 7, (5, 2))
    match random.integers(0, 6):
        case 0:
            return shapely.Point(corners[0])
        case 1:
            return shapely.LineString(corners[: random.integers(2, 6)])
        case 2:
            return shapely.Polygon(corners[: random.integers(3, 6)])
        case 3:
            low, high = np.sort(corners[:2], axis=0)
            return shapely.Polygon(shapely.box(*low, *high).exterior, [corners[2:]])
        case 4:
            return shapely.MultiPoint(corners[:3])
        case _:
            return shapely.GeometryCollection([shapely.LineString(corners[:2]), shapely.Point(corners[2])])


def all_pairs(geometries: list[shapely.Geometry]) -> tuple[list[shapely.Geometry], list[shapely.Geometry]]:
    """Every ordered pair of them, as two columns."""
    count = len(geometries)
    return [one for one in geometries for _ in range(count)], geometries * count
