"""Pairs of points on borders and corners of cells come once each, whatever the grid, tasks, cut and plans."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest
from hypothesis import Phase, given
from hypothesis import strategies as st

from kit.runs.spatial_runs import POINTS, START_MS, Run, interval, stream
from kit.suite.examples import drawn

EXTENTS = [(0.0, 0.0, 8.0, 8.0), (116.1, 39.7, 116.7, 40.1)]
K_MS, WINDOW = 200, (60, 20)


def places(random: np.random.Generator, grid: int, extent: tuple[float, ...], count: int) -> np.ndarray:
    """Points on few borders and corners of cells, a rounding beside them, within cells and beyond the extent."""
    low, high = np.array(extent[:2]), np.array(extent[2:])
    lines = random.integers(-1, grid + 2, (3, 2))
    corners = low + lines[random.integers(0, 3, count)] * (high - low) / grid
    rounded = np.nextafter(corners, random.choice([-np.inf, np.inf], corners.shape))
    anywhere = random.uniform(low - 1, high + 1, corners.shape)
    kind = random.choice(3, corners.shape, p=[0.7, 0.2, 0.1])
    return np.choose(kind, [corners, rounded, anywhere])


def expected(times: list[np.ndarray], points: list[np.ndarray], near: float, bounds: tuple[int, int] | None) -> Counter:
    """All pairs by brute force, each with the end of a window that holds both; 0 without windows."""
    pairs: Counter = Counter()
    for i, (one, a) in enumerate(zip(times[0].tolist(), points[0].tolist(), strict=True)):
        for j, (two, b) in enumerate(zip(times[1].tolist(), points[1].tolist(), strict=True)):
            if float(np.hypot(a[0] - b[0], a[1] - b[1])) > near:
                continue
            if bounds is not None:
                pairs[f"l{i}", f"r{j}", 0] += bounds[0] <= two - one <= bounds[1]
                continue
            for start in range(
                (START_MS + max(one, two)) // WINDOW[1] * WINDOW[1], START_MS + max(one, two) - WINDOW[0], -WINDOW[1]
            ):
                pairs[f"l{i}", f"r{j}", start + WINDOW[0]] += start <= START_MS + min(one, two)
    return +pairs


@pytest.mark.parametrize("join", ["interval", "window"])
@pytest.mark.parametrize("extent", EXTENTS)
@pytest.mark.parametrize("grid", [1, 4, 16, 64])
@drawn(12, phases=[Phase.generate])
@given(data=st.data())
def test_each_pair_of_points_comes_once(grid, extent, join, data):
    """Nothing is late, for K is as long as the streams; so all pairs come, and the state is purged on the way."""
    random = np.random.default_rng(data.draw(st.integers(0, 2**32)))
    cell = (extent[2] - extent[0]) / grid
    near = data.draw(st.sampled_from([0.0, cell, cell * 2**0.5, 3 * cell]))
    bounds = data.draw(st.sampled_from([(-60, 60), (0, 0), (-10, 60), (5, 30)])) if join == "interval" else None
    tasks, count = data.draw(st.integers(1, 5)), 40
    times = [np.sort(random.integers(0, 600, count)) + random.integers(-K_MS // 4, K_MS // 4, count) for _ in range(2)]
    points = [places(random, grid, extent, count) for _ in range(2)]
    points[1][::3] = points[0][random.integers(0, count, len(points[1][::3]))]
    streams = tuple(
        stream(side, times[side], x=points[side][:, 0].copy(), y=points[side][:, 1].copy()) for side in (0, 1)
    )
    cuts = sorted(data.draw(st.lists(st.integers(0, 700), max_size=12)))
    numbers = data.draw(st.lists(st.integers(0, len(cuts)), max_size=6))
    borders = [0.0, 0.5, *range(grid * grid + 1)]
    plans = {number: np.sort(random.choice(borders, tasks - 1)).tolist() for number in numbers}
    section = {"geometry": POINTS, "crs": "planar", "relation": "dwithin", "distance": near, "grid": grid}
    section |= {"extent": list(extent)}
    if bounds is not None:
        section |= interval(*bounds) | {"bin": data.draw(st.sampled_from(["1 ms", "20 ms", "1 s"]))}
    window = None if bounds is not None else WINDOW
    run = Run(section, streams, K_MS, window, cuts, tasks, plans, restarts=data.draw(st.booleans()))
    wanted = expected(times, points, near, bounds)
    assert Counter((row["left_id"], row["right_id"], row.get("window_end", 0)) for row in run.answers()) == wanted
