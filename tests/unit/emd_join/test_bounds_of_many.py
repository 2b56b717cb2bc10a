"""Each bound of each filter, by itself, over 10,000 pairs with outliers among them: lower ≤ exact ≤ upper."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pytest

from kit.oracles.emd_oracle import emd, emd_by_pot, generated, grid_costs, metric_costs, outliers
from kit.oracles.sampled_forest import forest_of_samples
from tailrace.emd_join import ground_distance, line_distance, normal_bound, ordered_flow, reference_bound
from tailrace.emd_join.chain import Locality
from tailrace.emd_join.forest import Forest
from tailrace.emd_join.independent_minimisation import IndependentMinimisation
from tailrace.emd_join.tour import tour_of_bins
from tailrace.emd_join.triangle import DistanceBounds

pytestmark = pytest.mark.slow

TOLERANCE = 1e-9
LINE, GRID, CUBE, METRIC, LARGE = "line", "grid", "cube", "metric", "large"
COSTS = {
    LINE: (grid_costs(12), 3200),
    GRID: (grid_costs(3, 4), 2600),
    CUBE: (grid_costs(2, 2, 2), 2200),
    METRIC: (metric_costs(5, 9), 1800),
    LARGE: (grid_costs(4, 4, 4), 300),
}


class Sample(NamedTuple):
    costs: np.ndarray
    p: np.ndarray
    q: np.ndarray
    exact: np.ndarray


@pytest.fixture(scope="module", params=list(COSTS))
def sample(request):
    costs, count = COSTS[request.param]
    random = np.random.default_rng(len(costs))
    p, q = (generated(random, len(costs), count) for _ in range(2))
    p[: len(costs)] = q[: len(costs)]
    edge = outliers(len(costs))
    p[-len(edge) :], q[-len(edge) :] = edge, edge[::-1]
    exact = np.array([emd_by_pot(one, two, costs) for one, two in zip(p, q, strict=True)])
    return Sample(costs, p, q, exact)


def is_lower(bound, sample):
    assert bound.shape == sample.exact.shape
    assert (bound - sample.exact).max() <= TOLERANCE
    apart = sample.exact > 0.01
    assert (bound[apart] / sample.exact[apart]).max() > 0.99, "somewhere it is tight, or a wrong one would pass"


def is_upper(bound, sample):
    assert bound.shape == sample.exact.shape
    assert (sample.exact - bound).max() <= TOLERANCE
    apart = sample.exact > 0.01
    assert (bound[apart] / sample.exact[apart]).min() < 1.01, "somewhere it is tight, or a wrong one would pass"


@pytest.mark.needs("long")
def test_the_pairs_are_ten_thousand_and_their_distances_those_of_the_linear_program(sample):
    assert sum(count for _, count in COSTS.values()) > 10_000
    for index in np.linspace(0, len(sample.p) - 1, 8 if len(sample.costs) == 64 else 80).astype(int):
        assert sample.exact[index] == pytest.approx(emd(sample.p[index], sample.q[index], sample.costs), abs=TOLERANCE)


@pytest.mark.parametrize("count", [1, 4])
def test_keys_under_the_forest_differ_by_no_more_than_the_distance(sample, count):
    keys = [Forest.of_bins(sample.costs, count).keys(side) for side in (sample.p, sample.q)]
    is_lower(np.abs(keys[0] - keys[1]).max(axis=1), sample)


def test_keys_under_solutions_of_samples_differ_by_no_more_than_the_distance(sample):
    forest = forest_of_samples(sample.p[40:52], sample.costs)
    keys = [forest.keys(side) for side in (sample.p, sample.q)]
    is_lower(np.abs(keys[0] - keys[1]).max(axis=1), sample)
    assert len(forest.solutions) == 11


def test_dual_solutions_of_earlier_queries_bound_from_below(sample):
    locality = Locality(0)
    for solution in forest_of_samples(sample.p[40:52], sample.costs).solutions:
        locality.add(solution)
    bound = np.concatenate([locality.feasible_bound(p, q[None]) for p, q in zip(sample.p, sample.q, strict=True)])
    is_lower(bound, sample)


def test_independent_minimisation_bounds_from_below(sample):
    is_lower(IndependentMinimisation(sample.costs).between(sample.p, sample.q), sample)


def test_normals_bound_from_below(sample):
    places = normal_bound.projection(sample.costs)
    left, right = (normal_bound.normals_of(side, places) for side in (sample.p, sample.q))
    is_lower(left.lower_bound(right), sample)


SHAPES = {LINE: (12,), GRID: (3, 4), CUBE: (2, 2, 2), LARGE: (4, 4, 4)}


@pytest.mark.parametrize(("sample", "shape"), SHAPES.items(), indirect=["sample"])
def test_centroids_bound_from_below(sample, shape):
    places = ground_distance.grid_places(shape)
    assert ground_distance.grid(shape) == pytest.approx(sample.costs)
    is_lower(np.linalg.norm(sample.p @ places - sample.q @ places, axis=1), sample)


@pytest.mark.parametrize("sample", [LINE], indirect=True)
def test_on_a_line_the_closed_form_is_the_distance_and_the_coarse_sum_a_lower_bound(sample):
    p, q = (line_distance.cumulated(side, np.diagonal(sample.costs, 1)) for side in (sample.p, sample.q))
    assert np.diagonal(line_distance.between(p, q)) == pytest.approx(sample.exact, abs=TOLERANCE)
    is_lower(np.diagonal(line_distance.between(line_distance.coarse(p), line_distance.coarse(q))), sample)


def test_the_ordered_flow_bounds_from_above(sample):
    is_upper(ordered_flow.between(sample.p, sample.q, sample.costs, tour_of_bins(sample.costs)), sample)


def test_the_way_over_one_bin_bounds_from_above(sample):
    is_upper(reference_bound.between(sample.p, sample.q, sample.costs), sample)


def test_the_query_before_bounds_from_both_sides(sample):
    sample = Sample(sample.costs, *(column[::5] for column in sample[1:]))
    before = np.roll(sample.p, 1, axis=0)
    before[::3] = sample.p[::3]
    before[1::6] = sample.q[1::6]
    apart = np.array([emd_by_pot(one, two, sample.costs) for one, two in zip(before, sample.p, strict=True)])
    known = np.array([emd_by_pot(one, two, sample.costs) for one, two in zip(before, sample.q, strict=True)])
    for width in (0.0, 0.05):
        bounds = DistanceBounds(known - width, known + width).of_next(apart - width, apart + width)
        assert (bounds.lower - sample.exact).max() <= TOLERANCE
        assert (sample.exact - bounds.upper).max() <= TOLERANCE
    exactly = DistanceBounds(known, known).of_next(apart, apart)
    is_lower(exactly.lower, sample)
    is_upper(exactly.upper, sample)
