"""The true pairs of the demonstration's spatial joins, by brute force over the files of the sources and the table.

It shares no code with the platform: each fix is tested with each district by shapely, unprepared, and the geodesic of
each two fixes in the interval is computed by pyproj.
"""

from __future__ import annotations

import json
from typing import NamedTuple

import numpy as np
import pyarrow.parquet as pq
import shapely
from pyproj import Geod
from shapely.geometry import shape

from tailrace.query.joins import SpatialJoinQuery

Pairs = dict[tuple[str, str], float | None]
"""The distance in metres of each pair, by its ids; None where it is not requested."""

_BLOCK = 1000  # left fixes whose geodesics are held at once


def true_spatial_pairs(query: SpatialJoinQuery) -> Pairs:
    """Return all pairs of a fix and its district, or of two near fixes."""
    return _districts(query) if query.spatial_join.join == "table" else _meetings(query)


class _Fixes(NamedTuple):
    """Fixes in order of event time (ms); longitude and latitude in degrees."""

    ids: list[str]
    event_ms: np.ndarray
    lon: np.ndarray
    lat: np.ndarray


def _fixes(query: SpatialJoinQuery, side: str) -> _Fixes:
    stream, columns = query.streams[side], query.spatial_join.geometry.columns(("left", "right").index(side)).named
    rows = pq.read_table(stream.path).sort_by(stream.event_time)
    event_ms = np.asarray(rows[stream.event_time]).astype("datetime64[ms]").astype(np.int64)
    lon, lat = (rows[columns[name]].to_numpy() for name in ("x", "y"))
    return _Fixes(rows[stream.id].to_pylist(), event_ms, lon, lat)


def _districts(query: SpatialJoinQuery) -> Pairs:
    table, fixes = query.spatial_join.table, _fixes(query, "left")
    assert table is not None
    assert table.path is not None
    points = shapely.points(fixes.lon, fixes.lat)
    pairs: Pairs = {}
    for feature in json.loads(table.path.read_text(encoding="utf-8"))["features"]:
        area = shapely.make_valid(shape(feature["geometry"]), method="structure", keep_collapsed=False)
        name = feature["properties"][table.id]
        pairs |= {(fixes.ids[row], name): None for row in np.flatnonzero(shapely.within(points, area)).tolist()}
    return pairs


def _meetings(query: SpatialJoinQuery) -> Pairs:
    left, right, geodesic = _fixes(query, "left"), _fixes(query, "right"), Geod(ellps="WGS84")
    interval, limit = query.spatial_join.interval, query.spatial_join.limit
    assert interval is not None
    lower, upper = interval.bounds_ms
    first = np.searchsorted(right.event_ms, left.event_ms + lower)
    end = np.searchsorted(right.event_ms, left.event_ms + upper, side="right")
    pairs: Pairs = {}
    for start in range(0, len(left.ids), _BLOCK):
        block = range(start, min(start + _BLOCK, len(left.ids)))
        one = np.repeat(block, (end - first)[block])
        two = np.concatenate([np.arange(first[row], end[row]) for row in block])
        metres = geodesic.inv(left.lon[one], left.lat[one], right.lon[two], right.lat[two])[2]
        for pair in np.flatnonzero(metres <= limit).tolist():
            pairs[left.ids[one[pair]], right.ids[two[pair]]] = float(metres[pair])
    return pairs
