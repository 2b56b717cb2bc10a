"""Columns of geometries: points as two columns of coordinates, all others as shapely objects."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import shapely
from numpy.typing import NDArray

from tailrace.ground.arrow.columns import Floats, Ints

Shapes = NDArray[np.object_]
"""shapely geometries, shape (n,)."""

Mask = NDArray[np.bool_]

LONGITUDE, LATITUDE = 180.0, 90.0
"""The greatest coordinates, in degrees."""

AREAS = (shapely.GeometryType.POLYGON, shapely.GeometryType.MULTIPOLYGON)


@dataclass(frozen=True, eq=False)
class Points:
    """n points by their coordinates; shapely objects are only made when needed.

    Attributes
    ----------
    x, y : ndarray, shape (n,)
        Finite.
    """

    x: Floats
    y: Floats

    def __len__(self) -> int:
        return len(self.x)

    @property
    def bounds(self) -> Floats:
        """The envelopes: minx, miny, maxx, maxy; shape (n, 4)."""
        return np.column_stack([self.x, self.y, self.x, self.y])

    @property
    def shapes(self) -> Shapes:
        return np.asarray(shapely.points(self.x, self.y), object)

    def take(self, rows: Ints | Mask | slice) -> Points:
        """Select rows by index, mask or slice."""
        return Points(self.x[rows], self.y[rows])


@dataclass(frozen=True, eq=False)
class Shaped:
    """n geometries of any type, including empty ones; never None.

    Attributes
    ----------
    shapes : ndarray of shapely geometries, shape (n,)
    """

    shapes: Shapes

    def __len__(self) -> int:
        return len(self.shapes)

    @property
    def bounds(self) -> Floats:
        """The envelopes: minx, miny, maxx, maxy, NaN for an empty geometry; shape (n, 4)."""
        return np.asarray(shapely.bounds(self.shapes))

    def take(self, rows: Ints | Mask | slice) -> Shaped:
        """Select rows by index, mask or slice."""
        return Shaped(self.shapes[rows])


Geometries = Points | Shaped


def geometries_of(shapes: Shapes) -> Geometries:
    """Return the geometries as points if all are points and none is empty."""
    is_point = (shapely.get_type_id(shapes) == shapely.GeometryType.POINT) & ~shapely.is_empty(shapes)
    if is_point.all():
        return Points(np.asarray(shapely.get_x(shapes)), np.asarray(shapely.get_y(shapes)))
    return Shaped(shapes)
