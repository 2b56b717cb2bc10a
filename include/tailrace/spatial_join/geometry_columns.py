"""The columns of a stream that contain its geometries: x and y of points, or text or bytes of any geometries."""

from __future__ import annotations

from typing import Self

import pyarrow as pa
from pydantic import Field, model_validator

from tailrace.ground.fields import Column, Section, field_error

TYPES = {"x": pa.float64(), "y": pa.float64(), "wkt": pa.string(), "wkb": pa.binary()}
"""The Arrow type of each part of a geometry, as declared."""

_COLUMNS = "{x: lon, y: lat}, or {wkt: geom}, or {wkb: geom}"


class GeometryColumns(Section):
    """The columns of a stream's geometries: two of points, or one of WKT or WKB."""

    x: Column | None = Field(default=None, description="column with the x coordinate or longitude of points: lon")
    y: Column | None = Field(default=None, description="column with the y coordinate or latitude of points: lat")
    wkt: Column | None = Field(default=None, description="column of geometries as WKT text: geom")
    wkb: Column | None = Field(default=None, description="column of geometries as WKB bytes: geom")

    @model_validator(mode="after")
    def _validate_columns(self) -> Self:
        named = {name for name in ("x", "y", "wkt", "wkb") if getattr(self, name) is not None}
        if named not in ({"x", "y"}, {"wkt"}, {"wkb"}):
            here = ", ".join(sorted(named)) or "nothing"
            raise field_error(f"geometries are in x and y, in wkt or in wkb, and here is {here}", _COLUMNS)
        return self

    @property
    def named(self) -> dict[str, str]:
        """The source's columns, by the part of the geometry that they contain."""
        return {name: str(column) for name, column in self.model_dump().items() if column is not None}


class Geometries(Section):
    """The columns of each stream's geometries; a table's columns are declared with the table."""

    left: GeometryColumns = Field(
        description="columns with the left stream's geometries, as x and y, wkt or wkb: {wkt: geom}"
    )
    right: GeometryColumns | None = Field(
        default=None, description="columns with the right stream's geometries, as x and y, wkt or wkb: {wkt: geom}"
    )

    def columns(self, side: int) -> GeometryColumns:
        """Return the columns of a stream, by the number of its side."""
        columns = self.right if side else self.left
        assert columns is not None
        return columns
