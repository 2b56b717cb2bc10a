"""The Earth Mover's Distance and its similarity join by their definitions; generated histograms; checks of a search."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import strategies as st
from scipy.optimize import linprog

from tailrace.emd_join.search import HistogramColumns

TOLERANCE = 1e-9
_SCALE = 1000.0
TIMES = st.integers(0, 20)


def emd(p: np.ndarray, q: np.ndarray, costs: np.ndarray) -> float:
    """The distance by its definition (paper 000, eq. 1): a linear program over all flows.

    The masses are scaled up, as the solver's tolerances are absolute.
    """
    n = len(p)
    flow = np.arange(n * n).reshape(n, n)
    rows = np.zeros((2 * n, n * n))
    for index in range(n):
        rows[index, flow[index]] = 1
        rows[n + index, flow[:, index]] = 1
    mass = np.concatenate([p, q])[:-1] * _SCALE
    options = {"primal_feasibility_tolerance": 1e-10, "dual_feasibility_tolerance": 1e-10}
    found = linprog(costs.ravel(), A_eq=rows[:-1], b_eq=mass, bounds=(0, None), method="highs", options=options)
    return float(found.fun) / _SCALE


def emd_by_pot(p: np.ndarray, q: np.ndarray, costs: np.ndarray) -> float:
    """The distance by POT, of whole histograms: quicker than the linear program."""
    import ot

    return float(ot.emd2(p, q, costs))


def distances(queries: np.ndarray, targets: np.ndarray, costs: np.ndarray) -> np.ndarray:
    """The distance of each query and each target."""
    return np.array([[emd_by_pot(query, target, costs) for target in targets] for query in queries])


def pairs(exact: np.ndarray, times: tuple[np.ndarray, np.ndarray], reach_ms: int, threshold: float) -> dict:
    """The distance of each pair of the join, by the query and the target."""
    return {
        (query, target): exact[query, target]
        for query, query_time in enumerate(times[0].tolist())
        for target, target_time in enumerate(times[1].tolist())
        if abs(query_time - target_time) <= reach_ms and exact[query, target] <= threshold + TOLERANCE
    }


def joined(search, queries, targets, times, reach_ms):
    """What a search finds, by the rows before they were put in order of the key; and the numbers of its work."""
    (one, first), (two, second) = (
        HistogramColumns.ordered(at, search.derived(rows)) for at, rows in zip(times, (queries, targets), strict=True)
    )
    found = search.find(one, two, reach_ms)
    assert (np.lexsort((found.target, found.query)) == np.arange(len(found.query))).all()
    keys = zip(first[found.query].tolist(), second[found.target].tolist(), strict=True)
    answers = dict(zip(keys, found.distance.tolist(), strict=True))
    assert len(answers) == len(found.query), "no pair comes twice"
    check_counts(found, search.filters, times, reach_ms)
    return answers, found


def check_counts(found, filters, times, reach_ms):
    """Every candidate is rejected or accepted by one filter, or solved; and every solve counts for a row."""
    counts = dict(found.counts)
    near = np.abs(times[0][:, None] - times[1]) <= reach_ms
    assert counts["candidates"] == near.sum()
    decided = {name: count for name, count in counts.items() if name not in ("candidates", "queries")}
    assert sum(decided.values()) == counts["candidates"]
    assert all(count >= 0 for count in decided.values())
    assert all(name in {*filters, "exact"} for name, count in decided.items() if count)
    assert found.solved_by_query.sum() == counts["exact"] + counts["queries"]
    assert found.solved_by_target.sum() == counts["exact"] + counts["queries"]
    assert [len(found.solved_by_query), len(found.solved_by_target)] == [len(side) for side in times]
    costs = (found.cost_by_query, found.solved_by_query), (found.cost_by_target, found.solved_by_target)
    for cost, solved in costs:
        assert cost.shape == (len(solved), 2)
        assert (cost >= 0).all()
        assert not cost[solved == 0, 1].any(), "a row without an exact distance has no cost of one"
    assert found.cost_by_query[:, 1].sum() == pytest.approx(found.cost_by_target[:, 1].sum())


def agree(answers, wanted, exact, on_the_edge=()):
    assert set(wanted) - set(on_the_edge) <= set(answers) <= set(wanted) | set(on_the_edge)
    for pair, distance in answers.items():
        if exact:
            assert distance == pytest.approx(wanted.get(pair, distance), abs=TOLERANCE)
        else:
            assert np.isnan(distance)


def edge(exact, threshold):
    """The pairs whose distance is so near to the threshold that rounding decides."""
    return list(zip(*(np.abs(exact - threshold - TOLERANCE) < TOLERANCE / 10).nonzero(), strict=True))


def grid_costs(*shape: int) -> np.ndarray:
    """The Euclidean distance of the cells of a grid in C order."""
    cells = list(np.ndindex(*shape))
    return np.array(
        [[sum((a - b) ** 2 for a, b in zip(one, two, strict=True)) ** 0.5 for two in cells] for one in cells]
    )


def metric_costs(seed: int, n: int) -> np.ndarray:
    """A random metric: the lengths of the shortest ways of a random graph."""
    random = np.random.default_rng(seed)
    costs = random.uniform(0.1, 5, (n, n))
    costs = np.minimum(costs, costs.T) * (1 - np.eye(n))
    for via in range(n):
        costs = np.minimum(costs, costs[:, via, None] + costs[via])
    return costs


def outliers(n: int) -> np.ndarray:
    """All mass in one bin, for each bin; two bins; all bins alike; tiny masses beside one that has nearly all."""
    points = np.eye(n)
    halves = (points + np.roll(points, 1, axis=1)) / 2
    uneven = 1e-12 * points + (1 - 1e-12) * points[::-1]
    tiny = np.full((1, n), 1e-15) + points[:1]
    return np.concatenate([points, halves, uneven, np.full((1, n), 1 / n), tiny / tiny.sum()])


def generated(random: np.random.Generator, n: int, count: int) -> np.ndarray:
    """Histograms that are sparse, dense or drifting, and outliers among them."""
    sparse, dense = random.dirichlet(np.full(n, 0.1), count), random.dirichlet(np.full(n, 5.0), count)
    rows = np.concatenate([sparse, dense, drifting(random, n, count), outliers(n)])
    return rows[random.integers(0, len(rows), count)]


def drifting(random: np.random.Generator, n: int, count: int, shot: int = 25) -> np.ndarray:
    """Histograms each near the one before, as of the frames of a video; after a shot another begins."""
    rows = np.empty((count, n))
    for index in range(count):
        start = random.dirichlet(np.full(n, 0.5)) if index % shot == 0 else rows[index - 1]
        row = np.maximum(start + random.normal(0, 0.02 / n, n), 0)
        rows[index] = row / row.sum()
    return rows


@st.composite
def ground(draw: st.DrawFn) -> np.ndarray:
    kind = draw(st.sampled_from(["line", "grid", "cube", "metric"]))
    if kind == "metric":
        return metric_costs(draw(st.integers(0, 2**32 - 1)), draw(st.integers(2, 7)))
    shape = {"line": (draw(st.integers(1, 8)),), "grid": (draw(st.integers(1, 3)), 3), "cube": (2, 2, 2)}[kind]
    return grid_costs(*shape) / draw(st.sampled_from([1.0, 7.0, 0.25]))


@st.composite
def histograms(draw: st.DrawFn, n: int, count: int) -> np.ndarray:
    """Histograms of few whole masses, so that many bins are empty, alike or hold everything."""
    mass = st.lists(st.sampled_from([0, 0, 0, 1, 1, 2, 50]), min_size=n, max_size=n).filter(any)
    rows = np.array([draw(mass) for _ in range(count)], float)
    return rows / rows.sum(axis=1, keepdims=True)


@st.composite
def case(draw: st.DrawFn, count: int = 2) -> tuple[np.ndarray, np.ndarray]:
    costs = draw(ground())
    return costs, draw(histograms(len(costs), count))
