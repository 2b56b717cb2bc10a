"""The Earth Mover's Distance by its definition, and generated ground distances and histograms."""

from __future__ import annotations

import numpy as np
from hypothesis import strategies as st
from scipy.optimize import linprog

from tailrace.emd_join import ground_distance


def emd(p: np.ndarray, q: np.ndarray, costs: np.ndarray) -> float:
    """The distance by its definition (paper 000, eq. 1): a linear program over all flows."""
    n = len(p)
    flow = np.arange(n * n).reshape(n, n)
    rows = np.zeros((2 * n, n * n))
    for index in range(n):
        rows[index, flow[index]] = 1
        rows[n + index, flow[:, index]] = 1
    found = linprog(costs.ravel(), A_eq=rows[:-1], b_eq=np.concatenate([p, q])[:-1], bounds=(0, None), method="highs")
    return float(found.fun)


@st.composite
def ground(draw: st.DrawFn) -> np.ndarray:
    kind = draw(st.sampled_from(["line", "grid", "cube", "metric"]))
    scale = draw(st.sampled_from([1.0, 7.0, 0.25]))
    if kind == "line":
        return ground_distance.line(draw(st.integers(1, 8)), scale)
    if kind == "grid":
        return ground_distance.grid((draw(st.integers(1, 3)), draw(st.integers(2, 3))), scale)
    if kind == "cube":
        return ground_distance.grid((2, 2, 2), scale)
    n = draw(st.integers(2, 7))
    random = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    costs = random.uniform(0.1, 5, (n, n))
    costs = np.minimum(costs, costs.T) * (1 - np.eye(n))
    for via in range(n):
        costs = np.minimum(costs, costs[:, via, None] + costs[via])
    return costs


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
