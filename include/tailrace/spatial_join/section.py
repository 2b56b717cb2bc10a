"""The section `spatial_join` of a query file: which geometries make a pair, and how pairs are found."""

from __future__ import annotations

import math
import re
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, WithJsonSchema, model_validator

from tailrace.answers.identity import SIDES
from tailrace.ground.duration import Duration, format_duration, ms
from tailrace.ground.extras import validate_extra
from tailrace.ground.fields import Column, PositiveDuration, Section, field_error
from tailrace.kind.column_use import IDENTITY, JOIN, ColumnUse
from tailrace.kind.pair_condition import check_condition, condition_uses, selection_uses
from tailrace.kind.selection import Selected, check_selection, selected
from tailrace.partition.grid import MOST_CELLS, Grid
from tailrace.partition.routes import RIGHT
from tailrace.spatial_join.geometry_columns import TYPES, Geometries
from tailrace.spatial_join.table.table_section import Table

_METRES = {"m": 1.0, "km": 1000.0}
_LENGTH = re.compile(r"(\d+(?:\.\d+)?)\s*(m|km)")


def _validate_distance(value: Any) -> Any:
    if isinstance(value, str) and _LENGTH.fullmatch(value.strip()) and math.isfinite(_limit_of(value)):
        return value
    try:
        number = math.nan if isinstance(value, bool) else float(value)  # a file may contain numbers as text
    except (TypeError, ValueError):
        number = math.nan
    if 0 <= number < math.inf:
        return number
    raise field_error(
        f"{value!r} is no distance", "a length with its unit, 500 m or 1 km; with crs: planar a bare number"
    )


Distance = Annotated[
    float | str,
    BeforeValidator(_validate_distance),
    WithJsonSchema({"type": ["string", "number"], "minimum": 0, "pattern": rf"^\s*{_LENGTH.pattern}\s*$"}),
]
"""A distance as written: a length with its unit, or a bare number."""


def _limit_of(distance: float | str) -> float:
    """Return the distance as a number; a length in metres."""
    if not isinstance(distance, str):
        return float(distance)
    match = _LENGTH.fullmatch(distance.strip())
    assert match is not None
    return float(match[1]) * _METRES[match[2]]


class Interval(Section):
    """The interval of right.time − left.time in which a pair lies, both ends included."""

    lower: Duration = Field(description="smallest right.time - left.time of a pair, included: -15 min")
    upper: Duration = Field(description="largest right.time - left.time of a pair, included: 30 min")

    @model_validator(mode="after")
    def _validate_bounds(self) -> Self:
        if self.lower > self.upper:
            raise field_error("lower is above upper, so no pair lies between them", "a lower end below upper", "lower")
        return self

    @property
    def bounds_ms(self) -> tuple[int, int]:
        return ms(self.lower), ms(self.upper)

    @property
    def reach_ms(self) -> int:
        """The longest distance of a pair's event times."""
        return max(map(abs, self.bounds_ms))


WORLD = (-180.0, -90.0, 180.0, 90.0)
CELLS = 64
"""The default of `grid`."""

DERIVED = ("distance", "azimuth")
"""Computed columns of a pair that can be selected, see `derived.derived`."""

_COMPUTED_REMEDIES = {
    "distance": "the field distance: how far the geometries of a pair are apart at most",
    "azimuth": "a condition over the columns of both sides: an azimuth can only be selected",
}

_SHORTEST_BIN_MS = 1000
_BINS, _MOST_BINS = 16, 256
"""The default number of bins within a tuple's reach, and the limit, as each bin is a file."""

_NEEDED = {"table": "{path: districts.geojson, id: name}", "interval": "{lower: -15 min, upper: 30 min}"}
_FOR_JOINS: dict[str, tuple[str, ...]] = {"table": ("table",), "interval": ("interval",), "bin": ("interval",)}
_FOR_JOINS |= {"grid": ("interval", "window"), "extent": ("interval", "window")}

_EXTENT = "[minx, miny, maxx, maxy]"

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


class SpatialJoinSection(Section):
    """The pairs that a spatial join finds (paper 003, definitions 2 to 6), and how it finds them."""

    join: Literal["table", "window", "interval"] = Field(
        description="joins the stream with a dimension table, or two streams by window or by interval of event time: "
        "interval"
    )
    geometry: Geometries = Field(
        description="columns with each stream's geometries: {left: {x: lon, y: lat}, right: {wkt: geom}}"
    )
    crs: Literal["degrees", "planar"] = Field(
        default="degrees", description="coordinates are degrees (longitude and latitude) or planar: degrees"
    )
    relation: Relation = Field(
        description="relation of the left geometry to the right one; dwithin needs a distance: within"
    )
    distance: Distance | None = Field(
        default=None,
        description="largest distance between a pair's geometries, besides the relation; "
        "a bare number with crs planar: 1 km",
    )
    table: Table | None = Field(
        default=None,
        description="dimension table, required for join table and only there: {path: districts.geojson, id: name}",
    )
    select: tuple[Column, ...] = Field(
        default=(),
        description="further columns of answers, of either side, distance or azimuth: "
        "[left.taxi, right.name, distance]",
    )
    where: Column | None = Field(
        default=None,
        description="condition on pairs, an expression over columns of both sides: left.taxi <> right.taxi",
    )
    grid: Annotated[int, Field(ge=1, le=MOST_CELLS)] | None = Field(
        default=None,
        description=f"grid cells along each side of the extent, {CELLS} by default; tasks share the cells: 64",
    )
    extent: tuple[float, float, float, float] | None = Field(
        default=None,
        description="area of the grid, as minx, miny, maxx, maxy, by default the world; required if planar: "
        "[115.4, 39.4, 117.5, 41.1]",
    )
    interval: Interval | None = Field(
        default=None,
        description="bounds of right.time - left.time, required for join interval and only there: "
        "{lower: -15 min, upper: 30 min}",
    )
    bin: PositiveDuration | None = Field(
        default=None,
        description="length of the event-time bins in which tuples are stored, for join interval only: 1 h",
    )
    method: Literal["indexed", "native", "external"] = Field(
        default="indexed",
        description="indexed, native (baseline that tests every pair) or external (DuckDB, for join table only): "
        "indexed",
    )
    on_invalid: Literal["quarantine", "make_valid"] = Field(
        default="quarantine",
        description="records with invalid geometries are rejected (quarantine) or repaired (make_valid): quarantine",
    )

    @model_validator(mode="after")
    def _fit_together(self) -> Self:
        validate_extra("spatial")
        self._check_join()
        self._check_bin()
        self._check_distance()
        self._check_grid()
        check_selection(self.select, DERIVED)
        check_condition(self.where, _COMPUTED_REMEDIES)
        return self

    def _check_join(self) -> None:
        for name, example in _NEEDED.items():
            if self.join == name and getattr(self, name) is None:
                raise field_error(f"join {name} needs the {name}", f"{name}: {example}", name)
        for name, joins in _FOR_JOINS.items():
            if getattr(self, name) is not None and self.join not in joins:
                raise field_error(f"join {self.join} takes no {name}", f"no {name}, or join: {joins[0]}", name)
        if self.method == "external" and self.join != "table":
            raise field_error(
                "an external engine answers joins with a table alone", "indexed, or join: table", "method"
            )
        if self.join == "table" and self.geometry.right is not None:
            raise field_error("the right geometries are the table's", "no geometry.right", "geometry.right")
        if self.join != "table" and self.geometry.right is None:
            fault = "the columns of the right stream's geometries are missing"
            raise field_error(fault, "right: {x: lon, y: lat}", "geometry.right")

    def _check_bin(self) -> None:
        if self.bin is not None and self.interval is not None and ms(self.bin) * _MOST_BINS < self.interval.reach_ms:
            shortest = format_duration(-(-self.interval.reach_ms // _MOST_BINS))
            raise field_error(f"the interval reaches over more than {_MOST_BINS} bins", f"{shortest} or more", "bin")

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
                fault = "disjoint geometries may lie in any two cells, so the join is not spread by cells"
                raise field_error(fault, f"no {name}, or a distance beside the relation", name)
        if self.extent is not None:
            low_x, low_y, high_x, high_y = self.extent
            if not (all(map(math.isfinite, self.extent)) and low_x < high_x and low_y < high_y):
                raise field_error(f"{list(self.extent)} is no extent", _EXTENT, "extent")
            in_world = WORLD[0] <= low_x and WORLD[1] <= low_y and high_x <= WORLD[2] and high_y <= WORLD[3]
            if self.crs == "degrees" and not in_world:
                fault = f"{list(self.extent)} reaches beyond the world, {list(WORLD)}"
                raise field_error(fault, f"{_EXTENT} in degrees, or crs: planar", "extent")
        elif self.crs == "planar" and self.is_by_cell:
            remedy = "extent: [minx, miny, maxx, maxy], what most tuples lie in"
            raise field_error("planar coordinates have no default extent", remedy, "extent")

    @property
    def selection(self) -> tuple[Selected, ...]:
        """The columns of an answer beside its identity, in order."""
        return tuple(selected(text, DERIVED) for text in self.select)

    @property
    def uses(self) -> tuple[ColumnUse, ...]:
        """The uses of the columns of the streams, and of the table."""
        compared = [
            ColumnUse(column, JOIN, (), part, f"spatial_join.geometry.{SIDES[side]}.{part}", side, dtype=TYPES[part])
            for side, geometry in enumerate((self.geometry.left, self.geometry.right))
            if geometry is not None
            for part, column in geometry.named.items()
        ]
        of_table = [
            ColumnUse(column, JOIN, field=f"spatial_join.table.{part}", side=RIGHT)
            for part in ("valid_from", "valid_to", "geometry", "id")
            if (column := getattr(self.table, part, None)) is not None
        ]
        valid, geometry, ids = of_table[:-2], of_table[-2:-1], of_table[-1:]
        ids = [use._replace(way=IDENTITY, answers=("right_id",)) for use in ids]
        selection = selection_uses(self.selection, "spatial_join.select", [*compared, *geometry])
        return (*valid, *compared, *geometry, *ids, *selection, *condition_uses(self.where, "spatial_join.where"))

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
        """The grid by whose cells tuples are spread over tasks; None without one."""
        return Grid(self.extent or WORLD, self.grid or CELLS) if self.is_by_cell else None

    @property
    def limit(self) -> float | None:
        """The greatest distance of a pair, in metres or in the coordinates' unit; None without one."""
        return None if self.distance is None else _limit_of(self.distance)

    @property
    def bin_ms(self) -> int | None:
        """The length of a bin: as declared, else the interval's, a 16th of the reach and at least 1 s."""
        if self.interval is None or self.method == "native":
            return None
        lower, upper = self.interval.bounds_ms
        default = max(upper - lower, self.interval.reach_ms // _BINS, _SHORTEST_BIN_MS)
        return default if self.bin is None else ms(self.bin)
