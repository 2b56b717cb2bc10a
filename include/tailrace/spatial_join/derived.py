"""Columns that are computed from a pair: its distance, and the azimuth from left to right."""

from __future__ import annotations

from collections.abc import Iterable

from tailrace.ground.arrow.columns import Floats
from tailrace.spatial_join.geometry.geometries import Geometries
from tailrace.spatial_join.search.condition import Condition


def derived(names: Iterable[str], condition: Condition, left: Geometries, right: Geometries) -> dict[str, Floats]:
    """Compute columns of `section.DERIVED` for pairs that fulfil the condition, shapes (n,); NaN without a geometry.

    Distances are in metres or the coordinates' unit, azimuths in degrees from north clockwise.
    """
    compute = {"distance": condition.distances, "azimuth": condition.metric.azimuth}
    return {name: compute[name](left, right) for name in names}
