"""The section `spatial_join.table` of a query file: the dimension table that a stream is joined with."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from tailrace.ground.fields import Column, ResolvedPath, Section

OnInvalid = Literal["refuse", "make_valid", "skip"]


class Table(Section):
    """The dimension table: a file of geometries with ids."""

    path: ResolvedPath = Field(
        description="file of GeoJSON, (Geo)Parquet or CSV, relative to the query file: data/districts.geojson"
    )
    id: Column = Field(default="id", description="column, property or member of a feature that names a row: name")
    geometry: Column = Field(default="geometry", description="column of the geometries, as WKT or WKB: geometry")
    on_invalid: OnInvalid = Field(
        default="refuse", description="what becomes of geometries that are not valid, or skip or make_valid: refuse"
    )
