"""The in-process search for the pairs of two sides that fulfil a condition (paper 003, Algorithms 2 and 4)."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import shapely

from tailrace.ground.arrow.columns import Floats, Ints
from tailrace.spatial_join.geometry.ellipsoid import Boxes
from tailrace.spatial_join.geometry.geometries import Geometries, Mask, Points, Shaped
from tailrace.spatial_join.search.condition import Condition
from tailrace.spatial_join.search.pairs import JoinInterval, Pairs
from tailrace.spatial_join.search.point_index import PointIndex
from tailrace.spatial_join.search.queries import Queries

BLOCK = 1 << 18
"""Approximate number of candidates tested at once."""

FIRST_BOXES, _GROWTH = 16, 8

_OF_A_POINT, _OF_A_SHAPE, _OF_A_VERTEX = 160, 640, 16
"""Bytes of an index per point, shape and vertex."""


def find_pairs(left: Geometries, right: Geometries, condition: Condition, times: JoinInterval | None = None) -> Pairs:
    """Find all pairs that fulfil the condition, each once (SINLJ, Algorithm 2): one side is indexed, the other queries.

    Parameters
    ----------
    left, right : Geometries, lengths n and m
    times : Times, optional
        An interval that a pair's event times must also be in.
    """
    if len(right) >= len(left):
        return LocalIndex.from_geometries(right, condition).matches(left, times=times)
    return LocalIndex.from_geometries(left, condition).matches(right, swapped=True, times=times)


def nested_loops(left: Geometries, right: Geometries, condition: Condition, times: JoinInterval | None = None) -> Pairs:
    """Find all pairs that fulfil the condition by testing every pair: the baseline without an index."""
    if not (isinstance(left, Points) and isinstance(right, Points)):
        left, right = Shaped(left.shapes), Shaped(right.shapes)  # one object for each point, not for each pair
    return Pairs.joined(_tested(left, right, condition, times, _all_pairs(len(left), len(right))))


@dataclass(frozen=True, eq=False)
class LocalIndex:
    """The index of one side's geometries, built once and queried by batches of the other side (BSINLJ, Algorithm 4).

    Points near points are found by strips, other pairs by an R-tree of envelopes. Each is built when a query first
    needs it.

    Attributes
    ----------
    geometries : Geometries, length n
    condition : Condition
    """

    geometries: Geometries
    condition: Condition

    @staticmethod
    def from_geometries(geometries: Geometries, condition: Condition) -> LocalIndex:
        """Index the geometries of one side for a condition."""
        return LocalIndex(geometries, condition)

    def matches(self, queries: Geometries, swapped: bool = False, times: JoinInterval | None = None) -> Pairs:
        """Find the pairs of queries and indexed geometries that fulfil the condition, each once.

        Parameters
        ----------
        queries : Geometries, length m
            The left side, or the right one if `swapped`.
        swapped : bool
            Whether the indexed geometries are the left side.
        times : Times, optional
            An interval that the event times of a pair, left and right, must also be in.

        Returns
        -------
        Pairs
            Of left and right.
        """
        return self.query(Queries(queries, self.condition), swapped, times)

    def query(self, queries: Queries, swapped: bool, times: JoinInterval | None) -> Pairs:
        """Find pairs like `matches`, for queries that are prepared once for several indexes."""
        geometries = queries.geometries
        if isinstance(geometries, Points) and self._points is not None:
            of_queries = times.swapped if times is not None and swapped else times
            pairs = Pairs.joined(self._points.matches(queries, of_queries))
            return pairs.swapped if swapped else pairs
        sides = (self.geometries, geometries) if swapped else (geometries, self.geometries)
        return Pairs.joined(_tested(*sides, self.condition, times, self.candidates(queries, swapped)))

    @cached_property
    def nbytes(self) -> int:
        """The approximate memory of its rows, its tree, and its objects in Python and GEOS."""
        count = len(self.geometries)
        if isinstance(self.geometries, Points):
            return _OF_A_POINT * count
        return _OF_A_SHAPE * count + _OF_A_VERTEX * int(shapely.get_num_coordinates(self.geometries.shapes).sum())

    @cached_property
    def _points(self) -> PointIndex | None:
        """The strips, if the geometries are points and distant ones never match."""
        if self.condition.is_everywhere or not isinstance(self.geometries, Points):
            return None
        return PointIndex.from_points(self.geometries, self.condition)

    @cached_property
    def _tree(self) -> shapely.STRtree:
        return shapely.STRtree(self.geometries.shapes)

    @cached_property
    def _bounds(self) -> Floats:
        return self.geometries.bounds

    def candidates(self, queries: Queries, swapped: bool) -> Iterator[tuple[Ints, Ints]]:
        """Yield distinct candidates, whose envelopes meet, as columns of left and right rows."""
        if self.condition.is_everywhere:
            sizes = len(queries.geometries), len(self.geometries)
            yield from _all_pairs(*(sizes[::-1] if swapped else sizes))
            return
        boxes = queries.boxes
        shapes = np.asarray(shapely.box(*boxes.bounds.T), object)
        is_second = np.append(False, boxes.row[1:] <= boxes.row[:-1])
        firsts = int(is_second.argmax()) if is_second.any() else len(is_second)
        begin, size = 0, FIRST_BOXES
        while begin < len(shapes):
            box, own = self._tree.query(shapes[begin : begin + size])
            query = boxes.row[box + begin]
            if begin + size > firsts:
                rows = self._not_met_before(box + begin, own, boxes, firsts)
                query, own = query[rows], own[rows]
            yield (own, query) if swapped else (query, own)
            begin += size
            size = max(1, min(size * _GROWTH, size * BLOCK // max(len(box), 1)))

    def _not_met_before(self, box: Ints, own: Ints, boxes: Boxes, firsts: int) -> Mask:
        """Mark the candidates that a row's second box finds, but not its first one."""
        first = np.searchsorted(boxes.row[:firsts], boxes.row[box])
        one, two = boxes.bounds[first], self._bounds[own]
        met = ((one[:, :2] <= two[:, 2:]) & (two[:, :2] <= one[:, 2:])).all(axis=1)
        return np.asarray((box < firsts) | ~met)


def _all_pairs(count: int, others: int) -> Iterator[tuple[Ints, Ints]]:
    """Yield every pair of rows of two sides, in blocks."""
    step = max(1, BLOCK // max(others, 1))
    for begin in range(0, count, step):
        rows = np.arange(begin, min(begin + step, count))
        yield np.repeat(rows, others), np.tile(np.arange(others), len(rows))


def _tested(
    left: Geometries,
    right: Geometries,
    condition: Condition,
    times: JoinInterval | None,
    candidates: Iterator[tuple[Ints, Ints]],
) -> Iterator[tuple[Ints, Ints]]:
    """Yield the candidates that fulfil the condition; event times are compared first, as this is cheapest."""
    for one, two in candidates:
        for begin in range(0, len(one), BLOCK):
            rows, others = one[begin : begin + BLOCK], two[begin : begin + BLOCK]
            if times is not None:
                on_time = times.hold(rows, others)
                rows, others = rows[on_time], others[on_time]
            holds = condition.holds(left.take(rows), right.take(others))
            yield rows[holds], others[holds]
