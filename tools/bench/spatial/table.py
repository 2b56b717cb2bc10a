"""The join of taxis with districts in process: points a second by each method (figure 11)."""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import cast, get_args

import numpy as np

from bench.progress import Echo, Row
from bench.rounds import interleaved, median_ratio, medians
from bench.spatial.same_twice import same_twice, with_again
from bench.spatial.streams import taxi_batches
from generators.sample_districts import district_file
from tailrace.ground.errors import Refused
from tailrace.spatial_join.geometry.geometries import Geometries, Points
from tailrace.spatial_join.geometry.metrics import Geodesic
from tailrace.spatial_join.search.condition import Condition
from tailrace.spatial_join.search.external_search import ExternalSearch
from tailrace.spatial_join.search.pair_search import nested_loops
from tailrace.spatial_join.search.pairs import Pairs, ordered
from tailrace.spatial_join.table import dimension_table
from tailrace.spatial_join.table.dimension_table import DimensionTable
from tailrace.spatial_join.table.table_index import How, TableIndex
from tailrace.spatial_join.table.table_lookup import TableSearch

NATIVE = "native"
POINTS = 2_000_000
RELATION = "within"

METHODS = (*get_args(How), NATIVE, "external")
"""raster is the method `indexed`; external needs an extra, and is left out without it."""

_BATCH, _BATCHES = 1000, 20
"""Points of a small batch, for the latency, and how many of them are measured."""


def districts() -> DimensionTable:
    """Return Beijing's districts, repaired."""
    file = district_file("beijing")
    return dimension_table.parse(file, file.read_bytes(), columns=["pinyin"], on_invalid="make_valid")


def taxi_points(count: int) -> Points:
    """Return the positions of `count` fixes of taxis."""
    batches = list(taxi_batches(count))
    return Points(*(np.concatenate([batch.column(name) for batch in batches]) for name in ("lon", "lat")))


def by_method(count: int, rounds: int, echo: Echo) -> tuple[list[Row], list[Row]]:
    """Find the districts of at most `POINTS` points by each method; the methods take turns, the first one twice.

    Return the methods' rows, and a row about the same method twice.

    Raises
    ------
    RuntimeError
        When two methods do not find the same pairs.
    """
    points, table = taxi_points(min(count, POINTS)), districts()
    echo(f"{len(points):,} points, {len(table)} districts, in process")
    indexes = dict[str, _Timed]()
    for how in METHODS:
        try:
            indexes[how] = _Timed.build(table, how)
        except Refused as refused:
            echo(f"{how} takes no part: {refused}")
    _check_same(indexes, points)
    contestants = {how: partial(each.run, points) for how, each in indexes.items()}
    passes = interleaved(with_again(contestants, METHODS[0]), rounds, "points/s", echo)
    twice = same_twice(passes, METHODS[0], "points/s")
    gains = {how: median_ratio(rows, passes[NATIVE], "points/s") for how, rows in passes.items()}
    described = {how: {"method": how, "points": len(points)} for how in passes}
    return [described[how] | medians(rows) | {"× native": gains[how]} for how, rows in passes.items()], [twice]


@dataclass(frozen=True, eq=False)
class _PaperBaseline:
    """The paper's baseline, which tests each pair."""

    rows: Geometries
    condition: Condition

    def matches(self, left: Geometries) -> Pairs:
        return nested_loops(left, self.rows, self.condition)


@dataclass(frozen=True)
class _Timed:
    """A search for rows, and the CPU time of building it, in s."""

    search: TableSearch
    build_s: float

    @staticmethod
    def build(table: DimensionTable, how: str) -> _Timed:
        start = time.process_time()
        condition = Condition(RELATION, None, Geodesic())
        if how == "external":
            search: TableSearch = ExternalSearch.from_shapes(table.shapes, condition)
        elif how == NATIVE:
            search = _PaperBaseline(table.geometries, condition)
        else:
            search = TableIndex.from_shapes(table.shapes, RELATION, cast(How, how))
        return _Timed(search, time.process_time() - start)

    def run(self, points: Points) -> Row:
        """Find the rows of all points at once, and of small batches; return CPU times of this process."""
        start = time.process_time()
        pairs = self.search.matches(points)
        seconds = time.process_time() - start
        batches = [points.take(slice(first, first + _BATCH)) for first in range(0, len(points), _BATCH)][:_BATCHES]
        start = time.process_time()
        for batch in batches:
            self.search.matches(batch)
        batch_ms = 1000 * (time.process_time() - start) / len(batches)
        figures = {"points/s": len(points) / seconds, f"ms for {_BATCH:,} points": batch_ms}
        return figures | {"ms to build": 1000 * self.build_s, "pairs": len(pairs.left)}


def _check_same(indexes: Mapping[str, _Timed], points: Points) -> None:
    matches = {how: ordered(each.search.matches(points)) for how, each in indexes.items()}
    first = matches[METHODS[0]]
    for how, pairs in matches.items():
        if not (np.array_equal(pairs.left, first.left) and np.array_equal(pairs.right, first.right)):
            raise RuntimeError(f"{how} finds other pairs than {METHODS[0]}")
