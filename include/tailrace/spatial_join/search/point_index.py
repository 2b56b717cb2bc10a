"""The local index for joins of points with points: strips of points, and their places in space."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from tailrace.ground.arrow.columns import Floats, Ints
from tailrace.spatial_join.geometry.chords import squares
from tailrace.spatial_join.geometry.geometries import Points
from tailrace.spatial_join.geometry.relations import TOPOLOGICAL, related
from tailrace.spatial_join.search.condition import Condition
from tailrace.spatial_join.search.pairs import JoinInterval
from tailrace.spatial_join.search.queries import Queries
from tailrace.spatial_join.search.strips import PointStrips


@dataclass(frozen=True, eq=False)
class PointIndex:
    """The n points of one side, sorted into strips as high as the distance limit.

    Relations of points are symmetric, so the side does not matter.

    Attributes
    ----------
    points : Points
        In the order of the strips.
    places : ndarray, shape (d, n)
        Their places in the space of the metric.
    """

    condition: Condition
    strips: PointStrips
    points: Points
    places: Floats

    @staticmethod
    def from_points(points: Points, condition: Condition) -> PointIndex:
        """Sort points into strips."""
        _, bottom, _, top = condition.boxes(np.zeros((1, 4))).bounds[0]
        strips = PointStrips.from_points(points, float(top / 2 - bottom / 2))
        points = points.take(strips.order)
        return PointIndex(condition, strips, points, condition.metric.places(points))

    def matches(self, points: Queries, times: JoinInterval | None) -> Iterator[tuple[Ints, Ints]]:
        """Yield the pairs of a query point and an indexed point that fulfil the condition.

        The pairs come in blocks, as columns of rows.
        """
        assert isinstance(points.geometries, Points)
        runs = self.strips.runs(points.boxes_by_x.bounds)
        row = points.boxes_by_x.row[runs.order]
        queries, places = points.geometries.take(row), points.places[:, row]
        for candidates in runs.candidates():
            box, rank = candidates
            if times is not None:
                on_time = np.flatnonzero(times.hold(row[box], self.strips.order[rank]))
                box, rank = box[on_time], rank[on_time]
            rows = self._fulfilling(queries, places, box, rank)
            yield row[box[rows]], self.strips.order[rank[rows]]

    def _fulfilling(self, queries: Points, places: Floats, box: Ints, rank: Ints) -> Ints:
        """Return the candidates that fulfil the condition.

        Their chords decide; where these are not certain, the metric does.
        """
        condition, rows = self.condition, np.arange(len(box))
        if condition.limit is not None:
            chords = condition.metric.chords(condition.limit)
            near, unsure = chords.decide(squares(places, self.places, box, rank))
            measured = queries.take(box[unsure]), self.points.take(rank[unsure])
            near[unsure] = condition.metric.distance(*measured) <= condition.limit
            rows = np.flatnonzero(near)
        if condition.relation in TOPOLOGICAL:
            one, two = queries.take(box[rows]), self.points.take(rank[rows])
            rows = rows[related(condition.relation, one, two)]
        return rows
