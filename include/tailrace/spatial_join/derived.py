"""Columns that are computed of a pair: its distance, and the azimuth from left to right."""

from __future__ import annotations

from collections.abc import Iterable

from tailrace.ground.columns import Floats
from tailrace.spatial_join.condition import Condition
from tailrace.spatial_join.geometries import Geometries

DERIVED = ("distance", "azimuth")
"""The columns that can be selected of a pair, beside its identity."""


def derived(names: Iterable[str], condition: Condition, left: Geometries, right: Geometries) -> dict[str, Floats]:
    """Compute columns of pairs that fulfil the condition; NaN where a geometry has none; shapes (n,).

    Distances are in metres or the coordinates' unit, azimuths in degrees from north clockwise.
    """
    compute = {"distance": condition.distances, "azimuth": condition.metric.azimuth}
    return {name: compute[name](left, right) for name in names}
