"""Numbers the smallest cells of a raster: coordinates become integers, monotonically."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from tailrace.ground.arrow.columns import Floats

BITS = 30
"""The bits of a cell number: the frame has 2**30 of the smallest cells along each side."""

_BORDER = 1 / 64
"""The part of the extent that is added on each side, so that points beyond the extent fall into empty cells."""

Numbers = NDArray[np.int32]


@dataclass(frozen=True)
class RasterFrame:
    """The rectangle that a raster covers, and the size of its smallest cells, the unit of its numbers.

    The number of a coordinate is the floor of its distance from the origin in units, as doubles compute it. As this
    never decreases while the coordinate increases, points between two coordinates get numbers between theirs. Errors of
    rounding are below 2**-20 units.

    Attributes
    ----------
    origin, scale : (float, float)
        The corner with the smallest x and y; and units per length along x and y.
    """

    origin: tuple[float, float]
    scale: tuple[float, float]

    @staticmethod
    def around(bounds: Floats) -> RasterFrame | None:
        """Build the frame around minx, miny, maxx, maxy; None if doubles can't number its cells."""
        with np.errstate(over="ignore", under="ignore", divide="ignore", invalid="ignore"):
            low, high = bounds[:2], bounds[2:]
            border = (high - low) * _BORDER + 4 * np.spacing(np.maximum(np.abs(low), np.abs(high)))
            origin = low - border
            scale = 2.0**BITS / (high + border - origin)
        if not (np.isfinite(scale) & (scale > 0) & np.isfinite(origin)).all():
            return None
        return RasterFrame((float(origin[0]), float(origin[1])), (float(scale[0]), float(scale[1])))

    def units(self, axis: int, coordinates: Floats, out: Floats | None = None) -> Floats:
        """Return the distances from the origin along an axis (0: x, 1: y), in units."""
        with np.errstate(over="ignore"):
            out = np.subtract(coordinates, self.origin[axis], out=out)
            return np.multiply(out, self.scale[axis], out=out)

    def numbers(self, axis: int, coordinates: Floats) -> Numbers:
        """Return the number of each coordinate along an axis; beyond the frame, the first or the last number."""
        units = self.units(axis, coordinates)
        return np.clip(units, 0, 2.0**BITS - 1, out=units).astype(np.int32)

    def coordinates(self, axis: int, units: Floats) -> Floats:
        """Return the coordinates along an axis, given distances from the origin in units."""
        return units / self.scale[axis] + self.origin[axis]
