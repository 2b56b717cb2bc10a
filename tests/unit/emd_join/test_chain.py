"""The filter chain finds the pairs that a linear program finds, whatever filters it has."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from emd_oracle import case, emd
from tailrace.emd_join.chain import Chain

FILTERS = ("feasible", "independent", "flow", "triangle")


@settings(max_examples=100, deadline=None)
@given(case(count=9), st.sets(st.sampled_from(FILTERS)), st.booleans(), st.data())
def test_the_pairs_are_those_of_the_oracle(drawn, filters, exact, data):
    costs, rows = drawn
    queries, targets = rows[:4], rows[4:]
    distances = np.array([[emd(query, target, costs) for target in targets] for query in queries])
    threshold = data.draw(st.sampled_from([0.0, float(costs.max()) / 3, *distances.ravel().tolist()]))
    locality = Chain(costs, threshold, np.arange(len(costs)), exact, frozenset(filters)).start()
    for query, wanted in zip(queries, distances, strict=True):
        found, distance = locality.search(query, targets, np.arange(len(targets)))
        near = wanted <= threshold + 1e-9
        on_the_edge = np.abs(wanted - threshold - 1e-9) < 1e-10
        assert set(np.flatnonzero(near & ~on_the_edge)) <= set(found) <= set(np.flatnonzero(near | on_the_edge))
        assert distance == (pytest.approx(wanted[found], abs=1e-9) if exact else pytest.approx(np.nan, nan_ok=True))


def test_each_filter_spares_solves_where_neighbours_are_alike():
    random = np.random.default_rng(3)
    shot = random.dirichlet(np.ones(12))
    frames = [shot := np.maximum(shot + random.normal(0, 0.004, 12), 0) for _ in range(60)]
    frames = np.array([frame / frame.sum() for frame in frames])
    far = random.dirichlet(np.ones(12) * 0.3, 60)
    targets = np.concatenate([frames[::2], far])
    places = np.arange(12, dtype=float)
    costs = np.abs(places[:, None] - places)
    solved = {}
    for size in range(len(FILTERS) + 1):
        for filters in itertools.combinations(FILTERS, size):
            locality = Chain(costs, 0.3, np.arange(12)[::-1], False, frozenset(filters)).start()
            for query in frames[1::2]:
                locality.search(query, targets, np.arange(len(targets)))
            solved[filters] = locality.counts["exact"]
    assert solved[()] == 30 * 90
    for name in FILTERS:
        assert solved[(name,)] < 0.9 * solved[()], name
    assert solved[FILTERS] < 0.2 * solved[()]
