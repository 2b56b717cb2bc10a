"""The map of the demonstration's spatial joins: taxis by the district of their answers, and taxis that met."""

from __future__ import annotations

import json
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import shapely
from shapely.geometry import shape
from shapely.geometry.base import BaseGeometry

from demo.demonstrated_query import DemoQuery
from tailrace.ground.duration import format_duration
from tailrace.query.joins import SpatialJoinQuery
from tailrace.terminal.plots import Figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes

_CITY = (116.18, 39.77, 116.62, 40.105)
_STREETS = (116.432, 39.927, 116.468, 39.9545)
"""Boxes in degrees of the closer maps: where most taxis are, and where a pair's line is long enough to be visible."""

_MARGIN = 0.04  # degrees about all of Beijing
_LABELLED = 0.012  # the least share of a map that a named district covers
_PALE, _BORDER, _MEETING = "0.78", "0.35", "tab:red"
_FLEETS = {"left": "tab:blue", "right": "tab:orange"}


def draw(file: Path, districts: DemoQuery, meetings: DemoQuery) -> Path:
    """Draw the answers to both queries; return the file."""
    one, two = districts.query, meetings.query
    assert isinstance(one, SpatialJoinQuery)
    assert isinstance(two, SpatialJoinQuery)
    draw_answers(file, one, districts.answers(), two, meetings.answers())
    return file


def draw_answers(
    file: Path, districts: SpatialJoinQuery, located: pa.Table, meetings: SpatialJoinQuery, met: pa.Table
) -> None:
    """Draw four maps: fixes by the districts of their answers, afar and near, and the pairs that met, afar and near."""
    table = districts.spatial_join.table
    assert table is not None
    assert table.path is not None
    features = json.loads(table.path.read_text(encoding="utf-8"))["features"]
    areas = {feature["properties"][table.id]: _mended(shape(feature["geometry"])) for feature in features}
    low_x, low_y, high_x, high_y = shapely.total_bounds(list(areas.values())).tolist()
    beijing = low_x - _MARGIN, low_y - _MARGIN, high_x + _MARGIN, high_y + _MARGIN
    fixes, fleets = _places(districts, "left"), {side: _places(meetings, side) for side in _FLEETS}
    pairs = [fleet.take(pc.index_in(met[f"{side}_id"], fleet["id"].combine_chunks())) for side, fleet in fleets.items()]
    with Figure(file, 2, rows=2, height=5.9) as (whole, city, meeting, streets):
        for ax, size in ((whole, 3), (city, 5)):
            _locate(ax, areas, fixes, located, size)
        _meet(meeting, fleets, pairs)
        _connect(streets, fleets, pairs)
        for ax, box in ((whole, beijing), (city, _CITY), (meeting, _CITY), (streets, _STREETS)):
            _frame(ax, areas, box)
        for ax in (whole, city):
            _name(ax, areas)
        for ax, box in ((whole, _CITY), (meeting, _STREETS)):
            ax.plot(*shapely.box(*box).exterior.xy, color="black", lw=1.2, zorder=5)
        without = fixes.num_rows - pc.count_distinct(_matched(located)).as_py()
        whole.set_title(f"{fixes.num_rows:,} fixes by district, {without:,} in none")
        city.set_title("the same in the city")
        meeting.set_title(f"{met.num_rows:,} pairs that met")
        streets.set_title("the same, nearer")
        _add_legend(whole, meetings)


def _mended(area: BaseGeometry) -> BaseGeometry:
    return shapely.make_valid(area, method="structure", keep_collapsed=False)


def _places(query: SpatialJoinQuery, side: str) -> pa.Table:
    """Return the columns id, x and y (degrees) of a stream's fixes."""
    stream = query.streams[side]
    columns = query.spatial_join.geometry.columns(("left", "right").index(side)).named
    names = [stream.id, columns["x"], columns["y"]]
    return pq.read_table(stream.path, columns=names).select(names).rename_columns(["id", "x", "y"])


def _locate(ax: Axes, areas: Mapping[str, BaseGeometry], fixes: pa.Table, answers: pa.Table, size: float) -> None:
    """Draw the fixes in the colours of their districts; black where they have none."""
    from matplotlib import colormaps  # noqa: PLC0415 (an extra)

    for number, name in enumerate(areas):
        ids = answers.filter(pc.equal(answers["right_id"], name))["left_id"]
        inside = fixes.filter(pc.is_in(fixes["id"], ids.combine_chunks()))
        ax.scatter(inside["x"], inside["y"], s=size, lw=0, color=colormaps["tab20"](number))
    outside = fixes.filter(pc.invert(pc.is_in(fixes["id"], _matched(answers))))
    ax.scatter(outside["x"], outside["y"], s=size, lw=0, color="black")


def _matched(answers: pa.Table) -> pa.Array:
    """Return the fixes with a district; under `on_no_match: null` those without one also have an answer."""
    return answers.filter(answers["right_id"].is_valid())["left_id"].combine_chunks()


def _meet(ax: Axes, fleets: Mapping[str, pa.Table], pairs: Sequence[pa.Table]) -> None:
    """Draw the fixes of both fleets, and the midpoints of pairs."""
    for fleet in fleets.values():
        ax.scatter(fleet["x"], fleet["y"], s=3, lw=0, color=_PALE)
    x, y = (np.mean([np.asarray(end[name]) for end in pairs], axis=0) for name in ("x", "y"))
    ax.scatter(x, y, s=5, lw=0, color=_MEETING, zorder=4)


def _connect(ax: Axes, fleets: Mapping[str, pa.Table], pairs: Sequence[pa.Table]) -> None:
    """Draw the fixes of each fleet, and a line for each pair."""
    for side, fleet in fleets.items():
        ax.scatter(fleet["x"], fleet["y"], s=14, lw=0, color=_FLEETS[side], zorder=5)
    ax.plot(
        *(np.stack([np.asarray(end[name]) for end in pairs]) for name in ("x", "y")), color=_MEETING, lw=1, zorder=4
    )


def _frame(ax: Axes, areas: Mapping[str, BaseGeometry], box: tuple[float, float, float, float]) -> None:
    """Draw the districts' borders, and show a box of degrees with the proportions at its middle latitude."""
    for area in areas.values():
        for ring in shapely.get_exterior_ring(shapely.get_parts(area)).tolist():
            ax.plot(*ring.xy, color=_BORDER, lw=0.7, zorder=3)
    low_x, low_y, high_x, high_y = box
    ax.set(xlim=(low_x, high_x), ylim=(low_y, high_y), xlabel="longitude in degrees", ylabel="latitude in degrees")
    ax.ticklabel_format(useOffset=False)
    ax.set_aspect(1 / math.cos(math.radians((low_y + high_y) / 2)))


def _name(ax: Axes, areas: Mapping[str, BaseGeometry]) -> None:
    """Write the names of the districts that cover enough of a map into their visible parts."""
    (low_x, high_x), (low_y, high_y) = ax.get_xlim(), ax.get_ylim()
    frame = shapely.box(low_x, low_y, high_x, high_y)
    for name, area in areas.items():
        shown = shapely.intersection(area, frame)
        if shown.area >= _LABELLED * frame.area:
            label_point = shapely.point_on_surface(shown)
            box = {"facecolor": "white", "alpha": 0.75, "lw": 0, "pad": 1}
            ax.text(label_point.x, label_point.y, name, fontsize=8, ha="center", va="center", bbox=box, zorder=6)


def _add_legend(ax: Axes, meetings: SpatialJoinQuery) -> None:
    """Add labels for the figure's legend to the first map."""
    section = meetings.spatial_join
    assert section.interval is not None
    ax.scatter([], [], color="tab:green", s=20, label="fix, coloured by its district")
    ax.scatter([], [], color="black", s=20, label="in no district")
    for side, colour in _FLEETS.items():
        ax.scatter([], [], color=colour, s=20, label=f"{side} fleet")
    near = f"{section.distance} and {format_duration(section.interval.reach_ms)}"
    ax.plot([], [], color=_MEETING, marker="o", ms=4, label=f"pair within {near}")
