"""The geometries of a stream: read from its columns, checked, and stored in rows."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import shapely
from numpy.typing import NDArray

from tailrace.kind.inputs import Reject
from tailrace.spatial_join.geometries import (
    LATITUDE,
    LONGITUDE,
    Geometries,
    Mask,
    Points,
    Shapes,
    geometries_of,
    mended,
)

TYPES = {"x": pa.float64(), "y": pa.float64(), "wkt": pa.string(), "wkb": pa.binary()}
"""The Arrow type of each part of a geometry, as it is declared."""

WKB = "geometry"
"""The column of rows with the WKB of geometries that are not declared by x and y."""


@dataclass(frozen=True)
class GeometryInput:
    """Reads and checks the geometries of one stream.

    Attributes
    ----------
    columns : dict
        The source's columns by the part that they hold: `x` and `y`, or `wkt`, or `wkb`.
    degrees : bool
        Whether coordinates are longitude and latitude, which have bounds.
    makes_valid : bool
        Whether invalid geometries are made valid; else they are rejected.
    """

    columns: Mapping[str, str] = field(hash=False)
    degrees: bool = True
    makes_valid: bool = False

    @property
    def types(self) -> dict[str, pa.DataType]:
        """The Arrow types of the columns of a tuple, as `kind.inputs.Input` has them."""
        return {part: TYPES[part] for part in self.columns if TYPES[part] != pa.float64()}

    @property
    def schema(self) -> pa.Schema:
        """The columns of a row that hold its geometry."""
        names = list(self.columns) if "x" in self.columns else [WKB]
        return pa.schema([(name, TYPES.get(name, pa.binary())) for name in names])

    def check(self, values: Mapping[str, pa.Array]) -> Iterator[Reject]:
        """Check the geometries of records (`kind.inputs.RowCheck`): reject what is none, and say why.

        An empty geometry is accepted; it matches nothing.
        """
        if "x" in self.columns:
            if self.degrees:
                x, y = (np.asarray(values[part]) for part in ("x", "y"))
                yield np.abs(x) > LONGITUDE, f"{self.columns['x']} is no longitude: it lies between -180 and 180"
                yield np.abs(y) > LATITUDE, f"{self.columns['y']} is no latitude: it lies between -90 and 90"
            return
        ((part, name),) = self.columns.items()
        shapes = self._read(values[part])
        yield shapely.is_missing(shapes), f"{name} is no geometry that could be read: {part.upper()} is expected"
        yield ~_are_finite(shapes), f"a coordinate of {name} is NaN or infinite"
        if self.degrees:
            with np.errstate(invalid="ignore"):  # the bounds of an empty one are NaN
                is_far = (np.abs(shapely.bounds(shapes)) > [LONGITUDE, LATITUDE, LONGITUDE, LATITUDE]).any(axis=1)
            yield (
                np.asarray(is_far, bool),
                f"{name} is not in degrees: longitudes lie between -180 and 180, latitudes between -90 and 90",
            )
        invalid = ~shapely.is_valid(shapes)
        reasons = np.full(len(shapes), "", object)
        reasons[invalid] = [str(reason).partition("[")[0] for reason in shapely.is_valid_reason(shapes[invalid])]
        for reason in np.unique(reasons[invalid].astype(str)).tolist():
            yield np.asarray(reasons == reason, bool), f"{name} is not valid: {reason.lower()}"

    def rows(self, tuples: pa.RecordBatch) -> list[pa.Array]:
        """The columns of `schema`, of accepted tuples."""
        if "x" in self.columns:
            return [tuples.column("x"), tuples.column("y")]
        ((part, _),) = self.columns.items()
        return [pa.array(shapely.to_wkb(self._read(tuples.column(part))), pa.binary())]

    def of_tuples(self, tuples: pa.RecordBatch) -> Geometries:
        """The geometries of accepted tuples."""
        if "x" in self.columns:
            return self.geometries(tuples)
        ((part, _),) = self.columns.items()
        return geometries_of(self._read(tuples.column(part)))

    def geometries(self, rows: pa.RecordBatch | pa.Table) -> Geometries:
        """The geometries of rows."""
        if "x" in self.columns:
            x, y = (np.asarray(rows.column(part)) for part in ("x", "y"))
            return Points(x, y)
        return geometries_of(shapely.from_wkb(np.asarray(rows.column(WKB).to_numpy(zero_copy_only=False))))

    def _read(self, column: pa.Array) -> Shapes:
        """The geometries of a column of texts or bytes, in the plane; None where there is none."""
        shapes = np.asarray(shapely.force_2d(_parsed(column.to_numpy(zero_copy_only=False))), object)
        if self.makes_valid:
            mends = _are_finite(shapes) & ~shapely.is_valid(shapes) & ~shapely.is_missing(shapes)
            for at in np.flatnonzero(mends):
                with suppress(shapely.GEOSException):  # it stays invalid, and is rejected
                    shapes[at] = mended(shapes[at])
        return shapes


def _parsed(values: NDArray[np.object_]) -> Shapes:
    """The geometries of texts or bytes; None where there is none."""
    read = shapely.from_wkt if any(isinstance(value, str) for value in values) else shapely.from_wkb
    with np.errstate(all="ignore"):  # coordinates may overflow, and are rejected then
        try:
            return np.asarray(read(values, on_invalid="ignore"), object)
        except (NotImplementedError, shapely.GEOSException):  # for one of them, as a geometry of curves
            if len(values) == 1:
                return np.array([None], object)
    middle = len(values) // 2
    return np.concatenate([_parsed(values[:middle]), _parsed(values[middle:])])


def _are_finite(shapes: Shapes) -> Mask:
    coordinates, index = shapely.get_coordinates(shapes, return_index=True)
    finite = np.ones(len(shapes), bool)
    finite[index[~np.isfinite(coordinates).all(axis=1)]] = False
    return finite
