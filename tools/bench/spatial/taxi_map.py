"""Map of the experiments: the districts of Beijing with taxis, and taxis that meet in the centre."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
import shapely

from bench.spatial.streams import SIDES, taxi_streams
from bench.spatial.table import RELATION, districts
from generators.delays import epoch_ms
from tailrace.spatial_join.geometry.geometries import Points
from tailrace.spatial_join.geometry.metrics import Geodesic
from tailrace.spatial_join.search.condition import Condition
from tailrace.spatial_join.search.pair_search import find_pairs
from tailrace.spatial_join.search.pairs import JoinInterval
from tailrace.spatial_join.table.dimension_table import DimensionTable
from tailrace.spatial_join.table.table_index import TableIndex
from tailrace.terminal.plots import Figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FIXES, MEETING = 40_000, 4000
"""The tuples of a stream drawn by district, and the tuples of either stream that may meet."""

NEAR_M, NEAR_MS = 200, 30_000
"""The largest distance in space and time of drawn pairs."""

CENTRE = (116.41, 39.9, 116.47, 39.935)
"""The box of the second map."""

_LABELLED = 500_000_000  # square metres: smaller districts have no room for a name
_DEGREE_M = 111_195
_COLOURS = ("tab:blue", "tab:orange", "tab:green", "tab:red", "tab:purple", "tab:brown", "tab:pink", "tab:olive")
_SIDES = ("tab:blue", "tab:orange")


def draw(file: Path, tuples: int = FIXES) -> None:
    """Draw both maps, of at most `tuples` tuples."""
    streams, table = taxi_streams(min(tuples, FIXES)), districts()
    with Figure(file, 2) as (whole, centre):
        for ax in (whole, centre):
            _borders(ax, table)
            ax.set(xlabel="longitude", ylabel="latitude")
        _draw_matches(whole, table, streams["left"])
        _met(centre, {side: stream.slice(0, MEETING) for side, stream in streams.items()})


def _borders(ax: Axes, table: DimensionTable) -> None:
    for shape in table.shapes:
        for part in shapely.get_parts(shape):
            ax.plot(*shapely.get_coordinates(shapely.get_exterior_ring(part)).T, color="0.35", lw=0.6, zorder=3)


def _draw_matches(ax: Axes, table: DimensionTable, stream: pa.Table) -> None:
    """Draw the fixes of a stream in the colour of the district that the table join finds; grey where it finds none."""
    points = _points(stream)
    matches = TableIndex.from_shapes(table.shapes, RELATION).matches(points)
    outside = np.ones(len(points), bool)
    outside[matches.left] = False
    for row in range(len(table)):
        mine = matches.left[matches.right == row]
        ax.scatter(points.x[mine], points.y[mine], s=1.2, lw=0, color=_COLOURS[row % len(_COLOURS)])
    ax.scatter(points.x[outside], points.y[outside], s=1.2, lw=0, color="0.6")
    low_x, low_y, high_x, high_y = shapely.total_bounds(table.shapes)
    scale = math.cos(math.radians((low_y + high_y) / 2))
    for shape, name in zip(table.shapes, table.columns["pinyin"].to_pylist(), strict=True):
        if shape.area * scale * _DEGREE_M**2 >= _LABELLED:
            label_point = shapely.point_on_surface(shape)
            box = {"facecolor": "white", "alpha": 0.7, "lw": 0, "pad": 1}
            ax.text(label_point.x, label_point.y, name, fontsize=7, ha="center", va="center", bbox=box, zorder=4)
    ax.plot(*shapely.get_coordinates(shapely.box(*CENTRE)).T, color="black", lw=1.2, zorder=5)
    _frame(ax, (low_x - 0.05, low_y - 0.05, high_x + 0.05, high_y + 0.05))
    ax.set_title(f"{len(points):,} fixes by district; grey: in none")


def _met(ax: Axes, streams: dict[str, pa.Table]) -> None:
    """Draw the fixes of both streams, and a line for each pair that met."""
    left, right = (_points(streams[side]) for side in SIDES)
    left_ms, right_ms = (epoch_ms(streams[side]["event_time"]) for side in SIDES)
    condition = Condition("dwithin", float(NEAR_M), Geodesic())
    pairs = find_pairs(left, right, condition, JoinInterval(left_ms, right_ms, -NEAR_MS, NEAR_MS))
    one, two = left.take(pairs.left), right.take(pairs.right)
    ax.plot(np.stack([one.x, two.x]), np.stack([one.y, two.y]), color="0.2", lw=0.8, zorder=4)
    for name, points, colour in zip(SIDES, (left, right), _SIDES, strict=True):
        ax.scatter(points.x, points.y, s=9, lw=0, color=colour, zorder=5)
        ax.scatter([], [], s=20, color=colour, label=f"{name} stream")
    ax.plot([], [], color="0.2", lw=0.8, label=f"a pair within {NEAR_M} m and {NEAR_MS // 1000} s")
    ax.legend(loc="upper right", fontsize=7, framealpha=0.9).set_zorder(7)
    _frame(ax, CENTRE)
    ax.set_title("taxis that meet in the centre")


def _points(stream: pa.Table) -> Points:
    return Points(stream["lon"].to_numpy(), stream["lat"].to_numpy())


def _frame(ax: Axes, box: tuple[float, float, float, float]) -> None:
    low_x, low_y, high_x, high_y = box
    ax.set(xlim=(low_x, high_x), ylim=(low_y, high_y))
    ax.ticklabel_format(useOffset=False)
    ax.set_aspect(1 / math.cos(math.radians((low_y + high_y) / 2)))
