"""Generated tables of polygons, points that are hard for them, and the pairs by GEOS, one pair at a time."""

from __future__ import annotations

import numpy as np
import shapely
from hypothesis import strategies as st

from tailrace.spatial_join.geometry.geometries import Geometries, Points

AREAS = {"stars": 7, "tiles": 12, "overlapping": 9, "multi": 6}


def star(random, x, y, size, corners, hole=True):
    """A star around a place, with a star as its hole, that touches its shell at a vertex now and then."""
    turn = np.sort(random.uniform(0, 2 * np.pi, corners))
    turn[0] = 0.0
    reach = random.uniform(0.5, 1, corners) * size
    shell = np.column_stack([x + reach * np.cos(turn), y + reach * np.sin(turn)])
    inner = np.column_stack([x + 0.4 * reach * np.cos(turn), y + 0.4 * reach * np.sin(turn)])
    if hole and random.random() < 0.3:
        inner[0] = shell[0]
    polygon = shapely.Polygon(shell, [inner] if hole else [])
    return polygon if polygon.is_valid else shapely.Polygon(shell).buffer(0)


def tiles(random, side=4, depth=6):
    """A partition of the unit square into cells with crooked borders that neighbours share exactly."""
    lines = np.linspace(0, 1, side + 1)

    def border(start, end):
        share = np.linspace(0, 1, depth)[:, None]
        path = start + share * (end - start)
        path[1:-1] += random.uniform(-0.02, 0.02, (depth - 2, 2))
        return path

    corner = np.array([[(x, y) for y in lines] for x in lines])
    across = [[border(corner[i, j], corner[i + 1, j]) for j in range(side + 1)] for i in range(side)]
    up = [[border(corner[i, j], corner[i, j + 1]) for j in range(side)] for i in range(side + 1)]
    polygons = []
    for i in range(side):
        for j in range(side):
            ring = [across[i][j][:-1], up[i + 1][j][:-1], across[i][j + 1][:0:-1], up[i][j][:0:-1]]
            polygons.append(shapely.Polygon(np.concatenate(ring)))
    return polygons


def areas(seed, kind):
    """Polygons of a kind in and around the unit square, valid ones."""
    random = np.random.default_rng(seed)
    if kind == "tiles":
        shapes = tiles(random)
    elif kind == "overlapping":
        shapes = [star(random, 0.5, 0.5, random.uniform(0.1, 1), 9) for _ in range(6)] + [shapely.box(0, 0, 1, 1)] * 2
    elif kind == "multi":
        stars = [star(random, i / 6, j / 2, 0.08, 8) for i in range(6) for j in range(2)]
        shapes = [shapely.MultiPolygon([stars[k], stars[k + 6]]) for k in range(6)]
        shapes.append(
            shapely.MultiPolygon([shapely.box(0, 2, 1, 3), shapely.box(1, 3, 2, 4)])
        )  # they touch at a corner
    else:
        shapes = [star(random, *random.uniform(0, 1, 2), 0.15, 12) for _ in range(7)]
    shapes = np.array(shapes, object)
    assert shapely.is_valid(shapes).all()
    return shapes


def mixed_rows(seed):
    """Polygons, among points, lines, collections and empty geometries."""
    polygons = areas(seed, "stars")
    corner = shapely.get_coordinates(polygons[0])[0]
    return np.array(
        [
            shapely.Point(*corner),
            *polygons[:3],
            shapely.Polygon(),
            shapely.LineString([corner, (0.5, 0.5)]),
            *polygons[3:],
            shapely.GeometryCollection([polygons[2], shapely.Point(3, 3)]),
            shapely.MultiPoint([corner, (0.2, 0.3)]),
            shapely.Point(),
        ],
        object,
    )


def hard_points(random, shapes, count=40):
    """Points at random, on vertices, on edges and next to them in doubles, level with vertices, and far away."""
    corners = shapely.get_coordinates(shapes)
    low, high = corners.min(axis=0), corners.max(axis=0)
    some = corners[random.integers(0, len(corners), count)]
    lines = shapely.boundary(shapes[random.integers(0, len(shapes), count)])
    edge = shapely.get_coordinates(shapely.line_interpolate_point(lines, random.uniform(0, 1, count), normalized=True))
    near = np.nextafter(edge, edge + random.choice([-1.0, 0.0, 1.0], edge.shape))
    level = np.column_stack([random.uniform(low[0], high[0], count), some[:, 1]])
    above = np.column_stack([some[:, 0], random.uniform(low[1], high[1], count)])
    outside = np.array([low - 1, high + 1, high * 1e9 + 1, [-1e308, 1e308], [low[0], high[1]], [0.0, -0.0]])
    inside = random.uniform(low, high, (3 * count, 2))
    places = np.concatenate([inside, some, edge, near, level, above, outside, inside[:3]])
    return Points(places[:, 0].copy(), places[:, 1].copy())


def by_geos(relation, left: Geometries, shapes):
    """The pairs of unprepared GEOS, each asked on its own; empty geometries have none."""
    test = getattr(shapely, relation)
    return [
        (i, j)
        for i, one in enumerate(left.shapes)
        for j, other in enumerate(shapes)
        if not one.is_empty and not other.is_empty and test(one, other)
    ]


def listed(pairs):
    """The columns of pairs as a list of pairs."""
    return list(zip(pairs.left.tolist(), pairs.right.tolist(), strict=True))


@st.composite
def grid_polygons(draw):
    """Valid polygons with corners on a small grid of integers, so that many points are on edges; with holes."""
    shapes = []
    for _ in range(draw(st.integers(1, 4))):
        corners = draw(st.lists(st.tuples(st.integers(0, 8), st.integers(0, 8)), min_size=3, max_size=9, unique=True))
        polygon = shapely.Polygon(corners)
        polygon = polygon if polygon.is_valid and polygon.area > 0 else shapely.MultiPoint(corners).envelope.buffer(1)
        cut = shapely.box(*draw(st.tuples(st.integers(0, 4), st.integers(0, 4))), 6, 6).buffer(-0.5, join_style="mitre")
        less = polygon.difference(cut)
        shapes.append(less if less.geom_type in ("Polygon", "MultiPolygon") and not less.is_empty else polygon)
    return np.array(shapes, object)
