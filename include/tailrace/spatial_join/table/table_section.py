"""The section `spatial_join.table` of a query file: the dimension table that a stream is joined with."""

from __future__ import annotations

from typing import Annotated, Literal, Self

from pydantic import BeforeValidator, Field, model_validator

from tailrace.ground.fields import Column, ResolvedPath, null_word
from tailrace.sources.lookup.table_section import TableSection

_NoMatch = Literal["drop", "null"]

OnNoMatch = Annotated[_NoMatch, BeforeValidator(null_word, json_schema_input_type=_NoMatch | None)]
"""The treatment of a tuple that matches no row; YAML parses a bare null as None, which means the same here."""

OnInvalid = Literal["refuse", "make_valid", "skip"]


class Table(TableSection):
    """The dimension table: geometries with ids."""

    path: ResolvedPath | None = Field(
        default=None,
        description="GeoJSON, (Geo)Parquet or CSV file, Parquet directory or Delta table, "
        "relative to the query file: data/districts.geojson",
    )
    id: Column = Field(
        default="id", description="column with a row's id, in GeoJSON a property or member of the feature: name"
    )
    geometry: Column = Field(default="geometry", description="column with the geometries, as WKT or WKB: geometry")
    on_no_match: OnNoMatch = Field(
        default="drop",
        description="a tuple that matches no row is left out (drop) or answered with nulls for the row (null): null",
    )
    on_invalid: OnInvalid = Field(
        default="refuse",
        description="for invalid geometries, refuse the table, "
        "leave out the rows (skip) or repair them (make_valid): refuse",
    )

    @model_validator(mode="after")
    def _validate_columns(self) -> Self:
        self.require_own_times((self.id, self.geometry))
        return self
