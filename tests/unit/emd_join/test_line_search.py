"""The search on a line finds the pairs of brute force, whatever its filters, blocks and steps."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import wasserstein_distance

from kit.oracles.emd_oracle import TIMES, agree, case, distances, edge, generated, joined, pairs
from kit.suite.examples import drawn
from tailrace.emd_join import line_search
from tailrace.emd_join.line_search import LineSearch

pytestmark = pytest.mark.slow


@pytest.mark.parametrize("filters", [line_search.FILTERS, {"centroid"}, {"coarse"}, set()])
@pytest.mark.parametrize("bins", [1, 2, 40])
def test_the_search_on_a_line_finds_the_pairs_of_the_wasserstein_distance(monkeypatch, filters, bins):
    monkeypatch.setattr(line_search, "QUERIES", 7)
    monkeypatch.setattr(line_search, "TARGETS", 11)
    monkeypatch.setattr(line_search, "PIECE", 3)
    random = np.random.default_rng(bins)
    queries, targets = generated(random, bins, 30), np.concatenate([generated(random, bins, 40), np.eye(bins)])
    steps = random.uniform(0.1, 2, bins - 1)
    places = np.concatenate([[0.0], np.cumsum(steps)])
    true = np.array([[wasserstein_distance(places, places, p, q) for q in targets] for p in queries])
    times = random.integers(0, 1000, len(queries)), random.integers(0, 1000, len(targets))
    for threshold, reach_ms in ((0.0, 1000), (2.0, 300), (6.0, 0), (6.0, 1000), (1e6, 1000)):
        search = LineSearch(steps, threshold, frozenset(filters))
        answers, _ = joined(search, queries, targets, times, reach_ms)
        agree(answers, pairs(true, times, reach_ms, threshold), exact=True)


@drawn(150)
@given(case(count=9), st.data())
def test_on_a_line_of_any_steps_the_pairs_are_those_of_brute_force(drawn, data):
    rows = drawn[1]
    bins = rows.shape[1]
    steps = np.array(data.draw(st.lists(st.sampled_from([0.5, 1.0, 3.0]), min_size=bins - 1, max_size=bins - 1)))
    places = np.concatenate([[0.0], np.cumsum(steps)])
    queries, targets = rows[:4], rows[4:]
    times = tuple(
        np.array(data.draw(st.lists(TIMES, min_size=len(side), max_size=len(side)))) for side in (queries, targets)
    )
    true = distances(queries, targets, np.abs(places[:, None] - places))
    threshold = data.draw(st.sampled_from([0.0, 1.0, *true.ravel().tolist()]))
    reach_ms = data.draw(st.sampled_from([0, 5, 100]))
    answers, _ = joined(LineSearch(steps, threshold), queries, targets, times, reach_ms)
    agree(answers, pairs(true, times, reach_ms, threshold), True, edge(true, threshold))
