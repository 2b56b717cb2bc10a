"""Invalid geometries are made valid, unless that would take memory and time beyond reason."""

from __future__ import annotations

import numpy as np
import pytest
import shapely

from tailrace.spatial_join.geometry.parsing import Parsed
from tailrace.spatial_join.geometry.validity import FAR, INFINITE, MOST_CROSSINGS, check


def checked(*shapes: shapely.Geometry, degrees: bool = False, makes_valid: bool = True) -> Parsed:
    return check(Parsed(np.array([*shapes, None], object)[:-1], {}), degrees, makes_valid)


def star(corners: int) -> shapely.Polygon:
    return shapely.Polygon(np.random.default_rng(1).random((corners, 2)))


def zigzag(teeth: int) -> shapely.Polygon:
    """A ring whose way back crosses each tooth of its way there."""
    x, y = np.arange(teeth), np.arange(teeth) % 2
    return shapely.Polygon(np.concatenate([np.stack([x, y], 1), np.stack([x, 1 - y], 1)[::-1]]))


TANGLED = {
    "a star": star(400),
    "a large star": star(5_000),
    "one in many": shapely.MultiPolygon([shapely.box(5, 5, 6, 6), star(400)]),
    "one in a collection": shapely.GeometryCollection([shapely.GeometryCollection([star(400)]), shapely.Point(1, 1)]),
    "teeth": zigzag(2_000),
    "crossed boxes": shapely.MultiPolygon(
        [shapely.box(i, 0, i + 0.5, 30) for i in range(30)] + [shapely.box(0, i, 30, i + 0.5) for i in range(30)]
    ),
    "one edge to and fro": shapely.Polygon([(0, 0), *[(i % 2 + 1e-3 * i, 0) for i in range(200)], (0, 1)]),
    "edges whose boxes meet": shapely.Polygon(
        [point for i in range(1_500) for point in ((i, i), (i + 9_000, i + 9_000.5))] + [(10, -5), (0, 9_000)]
    ),
}


@pytest.mark.parametrize("name", TANGLED)
def test_what_crosses_itself_too_often_is_not_given_to_geos(monkeypatch, name):
    shape = TANGLED[name]
    assert not shape.is_valid
    monkeypatch.setattr(shapely, "make_valid", lambda *_, **__: pytest.fail("it takes too much"))
    shapes, faults = checked(shapely.Point(1, 1), shape)
    assert list(faults) == [1]
    assert f"cross more than {MOST_CROSSINGS:,} times" in faults[1]
    assert shapes[0].equals(shapely.Point(1, 1))


ROUND = np.linspace(0, 2 * np.pi, 20_000, endpoint=False)
EIGHT = shapely.Polygon(np.stack([np.sin(ROUND), np.sin(2 * ROUND)], axis=1))
MENDED = {
    "a small star": star(40),
    "an eight of 20,000 corners": EIGHT,
    "teeth": zigzag(400),
    "a hundred bows": shapely.MultiPolygon(
        [shapely.Polygon([(3 * i, 0), (3 * i + 2, 2), (3 * i + 2, 0), (3 * i, 2)]) for i in range(100)]
    ),
    "a collection": shapely.GeometryCollection([EIGHT, shapely.Point(1, 1), shapely.LineString([(0, 0), (1, 1)])]),
}


@pytest.mark.parametrize("name", MENDED)
def test_what_crosses_itself_here_and_there_is_made_valid(name):
    shape = MENDED[name]
    assert not shape.is_valid
    shapes, faults = checked(shape)
    assert not faults
    assert shapes[0].is_valid
    assert shapes[0].area > 0
    assert checked(shape, makes_valid=False).faults[0].startswith("is not valid: Self-intersection")


def test_far_and_infinite_geometries_are_not_made_valid(monkeypatch):
    monkeypatch.setattr(shapely, "make_valid", lambda *_, **__: pytest.fail("it is rejected anyway"))
    far = shapely.Polygon([(0, 0), (200, 200), (200, 0), (0, 200)])
    infinite = shapely.Polygon([(0, 0), (1, np.inf), (1, 0), (0, 1)])
    with np.errstate(invalid="ignore"):
        assert checked(far, infinite, shapely.Point(1, 1), degrees=True).faults == {0: FAR, 1: INFINITE}
