"""The section `spatial_join` of a query file: which geometries make a pair, and how pairs are found."""

from __future__ import annotations

import math
from typing import Annotated, Literal, Self

from pydantic import Field, field_validator, model_validator

from tailrace.ground.duration import Duration, ms
from tailrace.ground.fields import Column, PositiveDuration, Section, field_error
from tailrace.partition.grid import MOST_CELLS, Grid
from tailrace.spatial_join.distance_field import Distance, limit_of
from tailrace.spatial_join.geometry_columns import Geometries
from tailrace.spatial_join.table_section import Table

WORLD = (-180.0, -90.0, 180.0, 90.0)
CELLS = 64
"""The default of `grid`."""

DERIVED = ("distance", "azimuth")
"""What can be selected of a pair beside the columns of its sides."""

RESERVED = ("left_id", "right_id", "left_time", "right_time")

_FOR_JOINS = {"table": ("table",), "interval": ("interval",), "bin": ("interval",), "grid": ("interval", "window")}
_FOR_JOINS["extent"] = _FOR_JOINS["grid"]
_SHORTEST_BIN_MS = 1000

Relation = Literal[
    "equals",
    "disjoint",
    "intersects",
    "touches",
    "crosses",
    "within",
    "contains",
    "overlaps",
    "covers",
    "covered_by",
    "dwithin",
]


class Interval(Section):
    """The interval of right.time − left.time in which a pair lies, both ends included."""

    lower: Duration = Field(description="its lower end: -15 min")
    upper: Duration = Field(description="its upper end: 30 min")

    @model_validator(mode="after")
    def _be_one(self) -> Self:
        if self.lower > self.upper:
            raise field_error("lower is above upper, so no pair lies between them", "a lower end below upper", "lower")
        return self

    @property
    def bounds_ms(self) -> tuple[int, int]:
        return ms(self.lower), ms(self.upper)

    @property
    def reach_ms(self) -> int:
        """The longest distance of the event times of a pair."""
        return max(map(abs, self.bounds_ms))


class SpatialJoinSection(Section):
    """The pairs that a spatial join finds (paper 003, definitions 2 to 6), and how it finds them."""

    join: Literal["table", "window", "interval"] = Field(
        description="with what a stream is joined: a table, or another stream by window or by interval: interval"
    )
    geometry: Geometries = Field(
        description="columns of the geometries of each stream: {left: {x: lon, y: lat}, right: {wkt: geom}}"
    )
    crs: Literal["degrees", "planar"] = Field(
        default="degrees", description="unit of the coordinates, longitude and latitude, or planar: degrees"
    )
    relation: Relation = Field(description="relation of the left geometry to the right one, as dwithin: within")
    distance: Distance | None = Field(
        default=None, description="how far the geometries of a pair are apart at most, beside the relation: 1 km"
    )
    table: Table | None = Field(
        default=None, description="the table, of join table: {path: districts.geojson, id: name}"
    )
    select: tuple[Column, ...] = Field(
        default=(), description="columns of an answer beside the ids: [left.taxi, right.name, distance]"
    )
    grid: Annotated[int, Field(ge=1, le=MOST_CELLS)] | None = Field(
        default=None, description=f"cells along each side of the extent, {CELLS} if it is not given: 64"
    )
    extent: tuple[float, float, float, float] | None = Field(
        default=None, description="what the cells cover, minx, miny, maxx, maxy: [115.4, 39.4, 117.5, 41.1]"
    )
    interval: Interval | None = Field(
        default=None,
        description="right.time - left.time of a pair, of join interval: {lower: -15 min, upper: 30 min}",
    )
    bin: PositiveDuration | None = Field(
        default=None, description="length of the bins of event time in which tuples are stored, of join interval: 1 h"
    )
    method: Literal["indexed", "native", "external"] = Field(
        default="indexed", description="how pairs are found; native is a baseline, external is of join table: indexed"
    )
    on_invalid: Literal["quarantine", "make_valid"] = Field(
        default="quarantine", description="what becomes of a stream's invalid geometries, or make_valid: quarantine"
    )

    @field_validator("join")
    @classmethod
    def _be_of_this_version(cls, join: str) -> str:
        if join == "table":
            raise field_error("this version does not join with a table yet", "join: interval, or join: window")
        return join

    @model_validator(mode="after")
    def _fit_together(self) -> Self:
        self._check_join()
        self._check_distance()
        self._check_grid()
        self._check_select()
        return self

    def _check_join(self) -> None:
        if self.method == "external" and self.join != "table":
            raise field_error("method external answers joins with a table", "method: indexed, or join: table", "method")
        for name, wants in (("table", "table"), ("interval", "interval")):
            if self.join == wants and getattr(self, name) is None:
                raise field_error(f"join {self.join} needs the {name}", _example(type(self), name), name)
        for name, joins in _FOR_JOINS.items():
            if getattr(self, name) is not None and self.join not in joins:
                raise field_error(f"join {self.join} takes no {name}", f"no {name}, or join: {joins[0]}", name)
        if (self.geometry.right is None) != (self.join == "table"):
            if self.join == "table":
                wrong, right = "the right geometries are the table's", "no geometry.right"
            else:
                wrong, right = "the columns of the right stream's geometries are missing", "right: {x: lon, y: lat}"
            raise field_error(wrong, right, "geometry.right")

    def _check_distance(self) -> None:
        if self.relation == "dwithin" and self.distance is None:
            raise field_error("dwithin needs a distance", "distance: 1 km", "distance")
        if self.distance is not None and isinstance(self.distance, str) != (self.crs == "degrees"):
            of_degrees = "with crs: degrees a distance is a length with its unit", "1 km or 500 m, or crs: planar"
            of_plane = "with crs: planar a distance is a bare number, in the coordinates' unit", "distance: 1000"
            raise field_error(*(of_degrees if self.crs == "degrees" else of_plane), "distance")

    def _check_grid(self) -> None:
        for name in ("grid", "extent", "bin"):
            if getattr(self, name) is not None and self.method == "native":
                raise field_error(f"method native uses no {name}", f"no {name}, or method: indexed", name)
        for name in ("grid", "extent"):
            if getattr(self, name) is not None and self.has_any_distance:
                wrong = "disjoint geometries may lie in any two cells, so the join is not spread by cells"
                raise field_error(wrong, f"no {name}, or a distance beside the relation", name)
        if self.extent is not None:
            low_x, low_y, high_x, high_y = self.extent
            if not (all(map(math.isfinite, self.extent)) and low_x < high_x and low_y < high_y):
                raise field_error(f"{list(self.extent)} is no extent", "[minx, miny, maxx, maxy]", "extent")
        elif self.crs == "planar" and self.is_by_cell:
            right = "extent: [minx, miny, maxx, maxy], what most tuples lie in"
            raise field_error("planar coordinates have no default extent", right, "extent")

    def _check_select(self) -> None:
        for name in self.select:
            if name not in DERIVED:
                wrong, right = f"this version does not select {name} yet", f"{' or '.join(DERIVED)}"
                raise field_error(wrong, right, "select")
            side, _, column = name.partition(".")
            if not ((side in ("left", "right") and column) or name in DERIVED):
                right = f"a column of either side, left.taxi or right.name, or {' or '.join(DERIVED)}"
                raise field_error(f"{name!r} is nothing that can be selected", right, "select")
        names = [name.replace(".", "_", 1) for name in self.select]
        if repeated := {name for name in names if names.count(name) > 1 or name in RESERVED}:
            raise field_error(f"an answer has {min(repeated)} already", "each column once", "select")

    @property
    def has_any_distance(self) -> bool:
        """Whether pairs may be arbitrarily far apart."""
        return self.relation == "disjoint" and self.distance is None

    @property
    def is_by_cell(self) -> bool:
        """Whether tuples are spread over tasks by cells."""
        return self.join != "table" and self.method == "indexed" and not self.has_any_distance

    @property
    def cells(self) -> Grid | None:
        """The grid by whose cells tuples are spread over tasks; None where they are not."""
        return Grid(self.extent or WORLD, self.grid or CELLS) if self.is_by_cell else None

    @property
    def limit(self) -> float | None:
        """The greatest distance of a pair, in metres or in the coordinates' unit; None without one."""
        return None if self.distance is None else limit_of(self.distance)

    @property
    def bin_ms(self) -> int | None:
        """The length of a bin: as declared, else that of the interval, and a second at least."""
        if self.interval is None or self.method == "native":
            return None
        lower, upper = self.interval.bounds_ms
        return max(upper - lower, _SHORTEST_BIN_MS) if self.bin is None else ms(self.bin)


def _example(section: type[Section], name: str) -> str:
    """The example that ends the description of a field, as it stands in a file."""
    description = section.model_fields[name].description or ""
    return f"{name}: {description.split(': ', 1)[1]}"
