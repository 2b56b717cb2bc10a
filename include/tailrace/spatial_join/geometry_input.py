"""The geometries of a stream: read from its columns, checked, and stored in rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import shapely

from tailrace.kind.inputs import Reject
from tailrace.sources.formats.geo_metadata import read_geometry_metadata
from tailrace.spatial_join.geometry.coordinate_systems import require_stream_crs, wrong_srids
from tailrace.spatial_join.geometry.geometries import LATITUDE, LONGITUDE, Geometries, Points, Shapes, geometries_of
from tailrace.spatial_join.geometry.parsing import UNREAD, Parsed, parse
from tailrace.spatial_join.geometry.validity import FAR, INFINITE, check
from tailrace.spatial_join.geometry_columns import TYPES

WKB = "geometry"
"""The column of rows with the WKB of geometries that are not declared by x and y."""


@dataclass(frozen=True)
class GeometryInput:
    """Reads and checks the geometries of one stream.

    Attributes
    ----------
    columns : dict
        The source's columns by the part that they contain: `x` and `y`, or `wkt`, or `wkb`.
    degrees : bool
        Whether coordinates are longitude and latitude, which have bounds.
    makes_valid : bool
        Whether invalid geometries are made valid; otherwise they are rejected.
    """

    columns: Mapping[str, str] = field(hash=False)
    degrees: bool = True
    makes_valid: bool = False

    @property
    def schema(self) -> pa.Schema:
        """The columns of a row that hold its geometry."""
        names = list(self.columns) if "x" in self.columns else [WKB]
        return pa.schema([(name, TYPES.get(name, pa.binary())) for name in names])

    def check_file(self, where: str, file: pq.ParquetFile, names: Iterable[str]) -> None:
        """Refuse a file with geometries in another coordinate system than the query's (`kind.inputs.FileCheck`)."""
        if "x" not in self.columns:
            require_stream_crs(where, read_geometry_metadata(where, file), names, self.degrees)

    def check(self, values: Mapping[str, pa.Array]) -> Iterator[Reject]:
        """Check the geometries of records (`kind.inputs.RowCheck`); yield rejects with reasons.

        An empty geometry is accepted; it matches nothing.
        """
        if "x" in self.columns:
            if self.degrees:
                x, y = (np.asarray(values[part]) for part in ("x", "y"))
                yield np.abs(x) > LONGITUDE, f"{self.columns['x']} is no longitude: it lies between -180 and 180"
                yield np.abs(y) > LATITUDE, f"{self.columns['y']} is no latitude: it lies between -90 and 90"
            return
        ((part, name),) = self.columns.items()
        reasons = {
            UNREAD: f"{name} is no geometry that could be read: {part.upper()} is expected",
            INFINITE: f"a coordinate of {name} is NaN or infinite",
            FAR: f"{name} {FAR}: longitudes lie between -180 and 180, latitudes between -90 and 90",
        }
        column = values[part]
        rows: dict[str, list[int]] = {}
        read = self._read(column)
        if self.degrees:
            has_wrong = wrong_srids(read.shapes)
            yield has_wrong, f"{name} has an SRID other than 4326: coordinates are longitude and latitude"
        for row, fault in read.faults.items():
            reason = reasons.get(fault) or f"{name} {fault.partition('[')[0].lower()}"  # without the position
            rows.setdefault(reason, []).append(row)
        for reason, mine in rows.items():
            is_it = np.zeros(len(column), bool)
            is_it[mine] = True
            yield is_it, reason

    def rows(self, tuples: pa.RecordBatch) -> list[pa.Array]:
        """Return the columns of `schema` for accepted tuples."""
        if "x" in self.columns:
            return [tuples.column("x"), tuples.column("y")]
        ((part, _),) = self.columns.items()
        return [pa.array(shapely.to_wkb(self._accepted(tuples.column(part))), pa.binary())]

    def of_tuples(self, tuples: pa.RecordBatch) -> Geometries:
        """Return the geometries of accepted tuples."""
        if "x" in self.columns:
            return self.geometries(tuples)
        ((part, _),) = self.columns.items()
        return geometries_of(self._accepted(tuples.column(part)))

    def geometries(self, rows: pa.RecordBatch | pa.Table) -> Geometries:
        """Return the geometries of rows."""
        if "x" in self.columns:
            x, y = (np.asarray(rows.column(part)) for part in ("x", "y"))
            return Points(x, y)
        return geometries_of(shapely.from_wkb(np.asarray(rows.column(WKB).to_numpy(zero_copy_only=False))))

    def _read(self, column: pa.Array) -> Parsed:
        """Parse the geometries of a column of texts or bytes, in the plane, and their faults."""
        return check(parse(column), self.degrees, self.makes_valid)

    def _accepted(self, column: pa.Array) -> Shapes:
        """Return the geometries of a column without faults."""
        return (self._read(column) if self.makes_valid else parse(column)).shapes
