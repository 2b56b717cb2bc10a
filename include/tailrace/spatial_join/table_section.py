"""The section `spatial_join.table` of a query file: the dimension table that a stream is joined with."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, ValidationInfo, field_validator

from tailrace.ground.fields import Column, Section

OnInvalid = Literal["refuse", "make_valid", "skip"]


class Table(Section):
    """The dimension table: a file of geometries with ids."""

    path: Path = Field(
        description="file of GeoJSON, (Geo)Parquet or CSV, relative to the query file: data/districts.geojson"
    )
    id: Column = Field(default="id", description="column, property or member of a feature that names a row: name")
    geometry: Column = Field(default="geometry", description="column of the geometries, as WKT or WKB: geometry")
    on_invalid: OnInvalid = Field(
        default="refuse", description="what becomes of geometries that are not valid, or skip or make_valid: refuse"
    )

    @field_validator("path", mode="before")
    @classmethod
    def _resolve(cls, path: Any, info: ValidationInfo) -> Any:
        """Resolve a relative path against the query file's directory, which the loader passes in the context."""
        if isinstance(path, str):
            path = os.path.abspath(Path((info.context or {}).get("directory", ""), path)) if path else None
        return path
