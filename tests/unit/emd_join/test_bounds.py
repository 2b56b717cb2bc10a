"""Each bound of the Earth Mover's Distance is one: lower ≤ exact ≤ upper, against a linear program."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.oracles.emd_oracle import case, emd, emd_by_pot, histograms
from kit.suite.examples import drawn
from tailrace.emd_join import ground_distance, line_distance, normal_bound, ordered_flow, reference_bound
from tailrace.emd_join.dual_solution import DualSolution
from tailrace.emd_join.exact import solve
from tailrace.emd_join.independent_minimisation import IndependentMinimisation
from tailrace.emd_join.triangle import DistanceBounds

pytestmark = pytest.mark.slow

TOLERANCE = 1e-9


@drawn(150)
@given(case(count=3))
def test_the_solver_gives_the_distance_and_a_dual_solution_that_attains_it_and_bounds_all_others(drawn):
    costs, (p, q, other) = drawn
    solved = solve(p, q, costs)
    assert solved.distance == pytest.approx(emd(p, q, costs), abs=TOLERANCE)
    assert (solved.dual.phi[:, None] + solved.dual.pi - costs).max() <= TOLERANCE
    assert solved.dual.lower_bound(p, q) == pytest.approx(solved.distance, abs=TOLERANCE)
    assert solved.dual.lower_bound(other, q) <= emd(other, q, costs) + TOLERANCE


@drawn(150)
@given(case(), st.data())
def test_bounds_hold(drawn, data):
    costs, (p, q) = drawn
    exact = emd(p, q, costs)
    lower = IndependentMinimisation(costs).between(p[None], q[None])[0]
    assert reference_bound.between(p[None], q[None], costs)[0] >= exact - TOLERANCE
    upper = ordered_flow.between(p[None], q[None], costs, np.array(data.draw(st.permutations(range(len(costs))))))[0]
    assert lower <= exact + TOLERANCE
    assert upper >= exact - TOLERANCE
    places = normal_bound.projection(costs)
    left, right = (normal_bound.normals_of(one[None], places) for one in (p, q))
    assert left.lower_bound(right)[0] <= exact + TOLERANCE


@drawn(150)
@given(case(), st.data())
def test_a_pair_within_the_threshold_has_its_key_in_the_range(drawn, data):
    costs, (p, q) = drawn
    exact = emd(p, q, costs)
    potential = np.array(data.draw(st.lists(st.floats(-20, 20), min_size=len(costs), max_size=len(costs))))
    for dual in (DualSolution.from_potential(potential, costs), DualSolution.from_bin(0, costs)):
        assert (dual.phi[:, None] + dual.pi - costs).max() <= TOLERANCE
        assert abs(dual.key(p[None]) - dual.key(q[None]))[0] <= exact + TOLERANCE  # as Π = −Φ, this is eq. 5


@drawn(100)
@given(case(count=4), st.data())
def test_what_a_query_tells_of_the_next_holds(drawn, data):
    costs, (query, following, *others) = drawn
    exact = np.array([emd(query, one, costs) for one in others])
    known = DistanceBounds(exact - np.array([0, 0.1]), exact + np.array([0, 0.3]))
    apart = emd(query, following, costs)
    bounds = known.of_next(apart - data.draw(st.sampled_from([0, 0.2])), apart + data.draw(st.sampled_from([0, 0.2])))
    for one, lower, upper in zip(others, *bounds, strict=True):
        assert lower - TOLERANCE <= emd(following, one, costs) <= upper + TOLERANCE


@drawn(100)
@given(st.integers(1, 40), st.sampled_from([1.0, 255.0]), st.data())
def test_on_a_line_the_distance_has_a_closed_form_and_the_coarse_one_is_a_lower_bound(n, scale, data):
    p, q = data.draw(histograms(n, 2))
    costs = ground_distance.line(n, scale)
    assert ground_distance.is_line(costs)
    rows = [line_distance.cumulated(one[None], np.diagonal(costs, 1)) for one in (p, q)]
    exact = line_distance.between(*rows)[0, 0]
    assert exact == pytest.approx(emd_by_pot(p, q, costs), abs=TOLERANCE)
    assert exact == pytest.approx(solve(p, q, costs).distance, abs=TOLERANCE)
    assert line_distance.between(*map(line_distance.coarse, rows))[0, 0] <= exact + TOLERANCE
    centroids = [line_distance.centroids(one[None], np.diagonal(costs, 1))[0] for one in (p, q)]
    assert abs(centroids[0] - centroids[1]) <= exact + TOLERANCE
    flow = ordered_flow.between(p[None], q[None], costs, np.arange(n))[0]
    assert flow == pytest.approx(exact, abs=TOLERANCE), "the flow in the line's order is the best one"


def test_the_normal_of_a_histogram_is_as_far_from_it_as_samples_of_both_say():
    random = np.random.default_rng(1)
    places = np.array([0.0, 3.0, 1.0, 7.0])
    histogram = np.array([[0.4, 0.3, 0.1, 0.2]])
    normals = normal_bound.normals_of(histogram, places)
    count = 400_000
    sample = np.sort(random.choice(places, count, p=histogram[0]))
    drawn = np.sort(random.normal(normals.mean[0], normals.deviation[0], count))
    assert normals.error[0] == pytest.approx(np.abs(sample - drawn).mean(), abs=0.02)
    assert normal_bound.between_normals(np.array([2.0]), np.array([0.0])) == pytest.approx(2.0)
    apart = np.abs(random.normal(1.0, 0.5, count)).mean()
    assert normal_bound.between_normals(np.array([1.0]), np.array([0.5])) == pytest.approx(apart, abs=0.01)


def test_faults_of_a_metric_are_told_with_the_bins():
    good = ground_distance.grid((2, 2))
    assert ground_distance.fault(good) is None
    for change, told in (
        ((0, 1, np.nan), "bins 0 and 1 is not a finite number"),
        ((2, 1, -1.0), "bins 2 and 1 is negative"),
        ((0, 3, 1.0), "bins 0 and 3 is not the distance back"),
        ((1, 1, 0.5), "bins 1 and 1 is not 0, though"),
    ):
        bad = good.copy()
        bad[change[0], change[1]] = change[2]
        assert told in ground_distance.fault(bad)
    far = good.copy()
    far[0, 3] = far[3, 0] = 2.5
    assert ground_distance.fault(far) == "the distance of bins 0 and 3 is longer than the way over bin 1"
    zero = good.copy()
    zero[0, 1] = zero[1, 0] = 0.0
    assert "is 0, though these are two bins" in ground_distance.fault(zero)
    assert ground_distance.fault(good[:3]) == "its shape is (3, 4), not (n, n)"
    assert ground_distance.fault(np.float64(1)) == "its shape is (), not (n, n)"
    assert not ground_distance.is_line(good)


@drawn(100)
@given(case(count=6), st.floats(0, 3))
def test_independent_minimisation_sends_each_bin_to_the_nearest_with_room(drawn, enough):
    costs, rows = drawn
    p, q = rows[:3], rows[3:]
    wanted = [max(_sent(one, two, costs), _sent(two, one, costs)) for one, two in zip(p, q, strict=True)]
    assert IndependentMinimisation(costs).between(p, q) == pytest.approx(np.array(wanted), abs=TOLERANCE)
    some = IndependentMinimisation(costs).between(p, q, enough)
    assert (some <= np.array(wanted) + TOLERANCE).all()
    assert np.minimum(some, enough) == pytest.approx(np.minimum(wanted, enough), abs=TOLERANCE)


def _sent(p, q, costs):
    """LB_IM in one direction, by its definition."""
    cost = 0.0
    for index, mass in enumerate(np.maximum(p - q, 0)):
        left = mass
        for other in sorted(range(len(q)), key=lambda other, index=index: costs[index, other]):
            moved = min(left, max(q[other] - p[other], 0))
            cost, left = cost + moved * costs[index, other], left - moved
    return cost
