"""The roads of Beijing: fastest routes against a search by hand, and where a taxi is on them."""

from __future__ import annotations

from heapq import heappop, heappush
from itertools import pairwise
from math import dist

import numpy as np
import pytest

from generators.taxi_roads import KM_A_DEGREE, _edges, beijing

Neighbours = dict[int, dict[int, float]]


def neighbours() -> Neighbours:
    """The crossings next to each, with the seconds to them."""
    edges = _edges()
    rows = {point: row for row, point in enumerate(sorted({point for edge in edges for point in edge}))}
    places = (beijing().places * KM_A_DEGREE).tolist()
    graph: Neighbours = {row: {} for row in rows.values()}
    for (start, end), speed in edges.items():
        a, b = rows[start], rows[end]
        graph[a][b] = graph[b][a] = dist(places[a], places[b]) / speed * 3600
    return graph


def fastest(graph: Neighbours, origin: int) -> dict[int, tuple[float, list[int]]]:
    """The seconds and the crossings of the fastest route to each crossing."""
    found: dict[int, tuple[float, list[int]]] = {}
    queue = [(0.0, [origin])]
    while queue:
        seconds, route = heappop(queue)
        if route[-1] in found:
            continue
        found[route[-1]] = seconds, route
        for after, more in graph[route[-1]].items():
            if after not in found:
                heappush(queue, (seconds + more, [*route, after]))
    return found


@pytest.mark.parametrize("origin", [0, 57, 200, 415])
def test_routes_are_the_fastest_and_a_taxi_follows_them(origin: int) -> None:
    roads, graph = beijing(), neighbours()
    rng = np.random.default_rng(origin)
    routes = fastest(graph, origin)
    assert len(routes) == len(roads.places)
    for destination, (total, route) in routes.items():
        assert roads.seconds[origin, destination] == pytest.approx(total)
        passed = rng.random() * total
        expected = roads.places[destination]
        before = 0.0
        for a, b in pairwise(route):
            if before <= passed < before + graph[a][b]:
                expected = roads.places[a] + (passed - before) / graph[a][b] * (roads.places[b] - roads.places[a])
            before += graph[a][b]
        place = roads.at(np.array([origin]), np.array([destination]), np.array([passed]))
        assert place[0] == pytest.approx(expected, abs=1e-7)


@pytest.mark.needs("long")
def test_routes_start_and_end_where_they_should() -> None:
    roads = beijing()
    origin, destination = (ends.ravel() for ends in np.indices(roads.seconds.shape))
    assert roads.at(origin, destination, np.zeros(len(origin))) == pytest.approx(roads.places[origin])
    for more in (0.0, 1e-3, 1e6):
        place = roads.at(origin, destination, roads.seconds[origin, destination] + more)
        assert place == pytest.approx(roads.places[destination])


def test_no_street_leads_through_the_palace() -> None:
    edges = _edges()
    assert ((116.391, 39.899), (116.391, 39.907)) in edges
    assert ((116.391, 39.907), (116.391, 39.924)) not in edges
    assert all(0.1 < dist(a * KM_A_DEGREE, b * KM_A_DEGREE) < 30 for a, b in edges)
    assert beijing() is beijing()
