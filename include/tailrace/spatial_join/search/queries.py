"""Geometries that query local indexes; data that all indexes need is computed once."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from tailrace.ground.arrow.columns import Floats
from tailrace.spatial_join.geometry.ellipsoid import Boxes
from tailrace.spatial_join.geometry.geometries import Geometries, Points
from tailrace.spatial_join.search.condition import Condition


@dataclass(frozen=True, eq=False)
class Queries:
    """m geometries of one side of a join.

    Attributes
    ----------
    geometries : Geometries, length m
    condition : Condition
    """

    geometries: Geometries
    condition: Condition

    @cached_property
    def boxes(self) -> Boxes:
        """The boxes that meet all partners' envelopes."""
        return self.condition.boxes(self.geometries.bounds)

    @cached_property
    def boxes_by_x(self) -> Boxes:
        """The boxes in ascending order of minx, as ascending lookups are several times faster."""
        order = np.argsort(self.boxes.bounds[:, 0])
        return Boxes(self.boxes.bounds[order], self.boxes.row[order])

    @cached_property
    def places(self) -> Floats:
        """The places of points in the space of the metric, shape (d, m)."""
        assert isinstance(self.geometries, Points)
        return self.condition.metric.places(self.geometries)
