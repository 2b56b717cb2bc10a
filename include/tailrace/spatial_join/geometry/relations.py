"""The topological relations of the nine-intersection model (paper 003, definition 2), exact, over columns."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import shapely

from tailrace.spatial_join.geometry.geometries import Geometries, Mask, Points

_EXACT: dict[str, Callable[..., Any]] = {
    "equals": shapely.equals,
    "disjoint": shapely.disjoint,
    "intersects": shapely.intersects,
    "touches": shapely.touches,
    "crosses": shapely.crosses,
    "within": shapely.within,
    "contains": shapely.contains,
    "overlaps": shapely.overlaps,
    "covers": shapely.covers,
    "covered_by": shapely.covered_by,
}

TOPOLOGICAL = tuple(_EXACT)
"""The relations of `left` to `right`; in all but `disjoint`, the envelopes of a pair meet."""

_OF_SAME_POINTS = frozenset({"equals", "intersects", "within", "contains", "covers", "covered_by"})


def related(relation: str, left: Geometries, right: Geometries) -> Mask:
    """Test whether the i-th left geometry has the relation to the i-th right one; shape (n,).

    The predicates are GEOS's for unprepared geometries: prepared ones are wrong where a line runs along a shell's edge
    that a hole touches. An empty geometry has no relation to any other, not even `disjoint`.

    Parameters
    ----------
    relation : str
        One of `TOPOLOGICAL`.
    left, right : Geometries, length n
    """
    if isinstance(left, Points) and isinstance(right, Points):
        same: Mask = (left.x == right.x) & (left.y == right.y)
        if relation == "disjoint":
            return ~same
        return same if relation in _OF_SAME_POINTS else np.zeros(len(left), bool)
    a, b = left.shapes, right.shapes
    return np.asarray(_EXACT[relation](a, b) & ~shapely.is_empty(a) & ~shapely.is_empty(b), bool)
