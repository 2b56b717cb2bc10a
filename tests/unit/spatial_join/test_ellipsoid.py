"""Chords bound geodesics on both sides, and widened envelopes hold all that is within the distance."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.oracles.spatial_oracle import GEOD, LATITUDES, LONGITUDES
from kit.suite.examples import drawn
from tailrace.spatial_join.geometry.ellipsoid import longest_chord, longest_geodesic, places_of, shortest_chord, widened

LIMITS = st.sampled_from([0.0, 1e-4, 1.0, 1000.0, 1e5, 1.5e6, 6e6, 9.9e6, 1.2e7, 1.9e7])


def random_pairs(count: int = 40_000, seed: int = 0) -> tuple[np.ndarray, ...]:
    """Points all over the ellipsoid, and others 1 mm to half the world away, in all directions."""
    random = np.random.default_rng(seed)
    x, y = random.uniform(-180, 180, count), np.degrees(np.arcsin(random.uniform(-1, 1, count)))
    y[: count // 10] = random.choice([-90, 90, 0, 89.999, -89.999, 45], count // 10)
    x2, y2, _ = GEOD.fwd(x, y, random.uniform(-180, 180, count), 10.0 ** random.uniform(-3, 7.3, count))
    x2[-1000:], y2[-1000:] = (x[-1000:] + 360) % 360 - 180, -y[-1000:] + random.normal(0, 1e-3, 1000)
    return x, y, x2, np.clip(y2, -90, 90)


def test_places_are_the_geocentric_coordinates():
    from pyproj import Transformer

    x, y, *_ = random_pairs(1000)
    wanted = Transformer.from_crs("EPSG:4979", "EPSG:4978", always_xy=True).transform(x, y, np.zeros(1000))
    np.testing.assert_allclose(places_of(x, y), wanted, atol=2e-8)


def test_chords_bound_geodesics_on_both_sides():
    x, y, x2, y2 = random_pairs()
    exact = GEOD.inv(x, y, x2, y2)[2]
    chord = np.linalg.norm(places_of(x, y) - places_of(x2, y2), axis=0)
    assert (chord <= longest_chord(exact)).all()
    assert (exact <= longest_geodesic(chord)).all()
    least = np.array([shortest_chord(limit) for limit in exact.tolist()])
    assert (longest_geodesic(np.maximum(least, 0))[least >= 0] <= exact[least >= 0] * (1 + 1e-11) + 1e-5).all()
    near = exact < 1e5
    assert near.sum() > 10_000
    assert (longest_geodesic(chord) - exact)[near].max() < 0.03, "bounds are so tight that few pairs are measured"
    assert (longest_chord(exact) - chord)[near].max() < 0.03


def test_the_bounds_are_those_of_the_curvature():
    """At the extremes of the radius of curvature the bounds are attained, so neither can be closer."""
    pole = GEOD.inv(0, 90, 0, 89)[2]
    equator = GEOD.inv(0, -0.5, 0, 0.5)[2]
    chords = [
        float(np.linalg.norm(places_of(np.zeros(2), np.array(ends)) @ [1, -1])) for ends in ([90.0, 89.0], [-0.5, 0.5])
    ]
    assert float(longest_chord(np.array(pole))) == pytest.approx(chords[0], abs=1e-4)
    assert float(longest_geodesic(np.array(chords[1]))) == pytest.approx(equator, abs=1e-4)


def holds(boxes, row: int, x: np.ndarray, y: np.ndarray) -> np.ndarray:
    own = boxes.bounds[boxes.row == row]
    west, south, east, north = own[:, :, None].transpose(1, 0, 2)
    return ((west <= x) & (x <= east) & (south <= y) & (y <= north)).sum(axis=0)


@drawn(300)
@given(LONGITUDES, LATITUDES, LIMITS, st.sampled_from([0.0, 1e-9, 0.01, 5.0, 200.0]), st.integers(0, 2**32))
def test_no_point_within_the_distance_lies_outside(x, y, limit, size, seed):
    bounds = np.array([[np.nan] * 4, [x, y, min(x + size, 180), min(y + size / 3, 90)]])
    boxes = widened(bounds, limit)
    assert set(boxes.row.tolist()) == {1}
    random = np.random.default_rng(seed)
    share = random.uniform(size=(2, 500))
    share[:, :200] = share[:, :200].round()
    inside = bounds[1, :2, None] + share * (bounds[1, 2:] - bounds[1, :2])[:, None]
    azimuth = np.where(share[0] < 0.5, random.uniform(-180, 180, 500), random.choice([-90, 0, 90, 180], 500))
    ends = np.array(GEOD.fwd(inside[0], inside[1], azimuth, np.full(500, limit)))[:2]
    assert (holds(boxes, 1, *ends) == 1).all(), "each point lies in one box alone"
    if limit < 1e6 and abs(y) < 60 and size < 1:
        assert (boxes.bounds[:, 3] - boxes.bounds[:, 1]).max() < size + 2.02 * limit / 110_000 + 1e-6


def test_boxes_go_on_beyond_the_antimeridian_and_around_the_poles():
    bounds = np.array([[179.999, 0, 179.999, 0], [180, 0, 180, 0], [-180, 5, -180, 5], [7, 90, 7, 90], [0, 0, 0, 0]])
    boxes = widened(bounds.astype(float), 0.0)
    assert boxes.row.tolist() == [0, 1, 2, 3, 4, 2, 1]
    near = {row: boxes.bounds[boxes.row == row][:, [0, 2]].round(6).tolist() for row in range(5)}
    assert near[0] == [[179.999, 179.999]]
    assert sorted(near[1]) == sorted(near[2]) == [[-180, -180], [180, 180]]
    assert near[3] == [[-180, 180]]
    assert widened(np.array([[-1.0, 0, 1, 0]]), 1.9e7).bounds.tolist() == [[-180, -90, 180, 90]]
    assert (np.abs(boxes.bounds) <= [180, 90] * 2).all()
    assert widened(np.array([[-100.0, 0, 100, 1]]), 9.5e6).bounds[:, [0, 2]].tolist() == [[-180, 180]], "no overlap"


def test_nothing_is_widened_to_nothing():
    assert len(widened(np.zeros((0, 4)), 5.0).row) == 0
    assert len(widened(np.full((2, 4), np.nan), 5.0).row) == 0
