"""The join condition r_δ: a topological relation, a distance of at most δ, or both (paper 003, definition 2, eq. 3)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from tailrace.ground.arrow.columns import Floats
from tailrace.spatial_join.geometry.ellipsoid import Boxes
from tailrace.spatial_join.geometry.geometries import Geometries, Mask
from tailrace.spatial_join.geometry.metrics import Metric
from tailrace.spatial_join.geometry.relations import TOPOLOGICAL, related

DWITHIN, _DISJOINT = "dwithin", "disjoint"
RELATIONS = (*TOPOLOGICAL, DWITHIN)


@dataclass(frozen=True)
class Condition:
    """The condition on a pair of geometries. Unlike in the paper, δ is included: a distance ≤ δ.

    Attributes
    ----------
    relation : str
        One of `RELATIONS`; `dwithin` means the distance alone.
    distance : float or None
        δ, in the unit of the metric; None for no bound.
    metric : Metric

    Raises
    ------
    ValueError
        When there is no such relation, `dwithin` has no distance, or the distance is negative or not finite.
    """

    relation: str
    distance: float | None
    metric: Metric

    def __post_init__(self) -> None:
        if self.relation not in RELATIONS:
            raise ValueError(f"{self.relation!r} is no relation: use one of {', '.join(RELATIONS)}")
        if self.distance is None and self.relation == DWITHIN:
            raise ValueError("dwithin needs a distance")
        if self.distance is not None and not 0 <= self.distance < np.inf:
            raise ValueError(f"the distance is {self.distance}: it must be finite and not negative")

    @property
    def limit(self) -> float | None:
        """The largest distance of a pair's geometries; None if they must meet, or the distance is unbounded.

        In all relations but `disjoint`, the geometries of a pair share a point, so their distance is 0.
        """
        return self.distance if self.relation in (DWITHIN, _DISJOINT) else None

    @property
    def is_everywhere(self) -> bool:
        """Whether envelopes do not help: every pair is a candidate, even if its envelopes are far apart."""
        return self.relation == _DISJOINT and self.distance is None

    def boxes(self, bounds: Floats) -> Boxes:
        """Return boxes, each of which meets the envelopes of all possible partners on the other side.

        They do not help if `is_everywhere`.

        Parameters
        ----------
        bounds : ndarray, shape (n, 4)
            Envelopes of geometries of either side; NaN for an empty geometry, which gets no box.
        """
        if self.limit is not None:
            return self.metric.widened(bounds, self.limit)
        rows = np.flatnonzero(~np.isnan(bounds[:, 0]))
        return Boxes(bounds[rows], rows)

    def holds(self, left: Geometries, right: Geometries) -> Mask:
        """Test whether the i-th left and the i-th right geometry fulfil the condition; shape (n,)."""
        if self.relation == DWITHIN:
            return self._is_near(left, right)
        holds = related(self.relation, left, right)
        if self.limit is not None:
            rows = np.flatnonzero(holds)
            holds[rows] = self._is_near(left.take(rows), right.take(rows))
        return holds

    def distances(self, left: Geometries, right: Geometries) -> Floats:
        """Return the distances of pairs that fulfil the condition, in the unit of the metric; shape (n,)."""
        if self.relation in (DWITHIN, _DISJOINT):
            return self.metric.distance(left, right)
        return np.zeros(len(left))

    def _is_near(self, left: Geometries, right: Geometries) -> Mask:
        assert self.limit is not None
        return self.metric.within(left, right, self.limit)
