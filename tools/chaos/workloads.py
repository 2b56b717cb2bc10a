"""The queries that `make chaos` runs, one for each kind, and the rows of their streams, drawn from a seed.

Some rows come late, some repeat the id of one before, and some are rejected. Values are whole numbers, so that sums are
exact. A rejected row has the arrival time of the row before it: it moves no tick.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa

EPOCH = 1_577_836_800_000
NAME = "readings"
TICK_MS, K_MS, SIZE_MS, SLIDE_MS, REACH_MS = 500, 500, 2000, 1000, 300
GAP_MS = 50
TASKS = 2
BEST = 3
"""The number of tuples in a ranking."""

NEAR_M = 700.0
_PLACES = random.Random(5)
PLACES = [(_PLACES.gauss(116.4, 0.01), _PLACES.gauss(39.9, 0.01)) for _ in range(60)]
"""Longitude and latitude of the places at which tuples of a spatial join are; a tuple's value is one's number."""

_REJECTED, _REPEATED, _LATE = 0.01, 0.02, 0.06  # shares of the rows
_REPEATABLE = 100  # newest rows
_DELAY_MS, _LATENESS_MS = 300, 8000

SHAPES = {"a": [1.0, 2.0, 3.0, 0.0], "b": [1.0, 1.0, 3.0, 1.0], "c": [0.0, 0.0, 0.0, 5.0]}
"""The histograms of a join by the Earth mover's distance, by a tuple's value."""

TIME = pa.timestamp("ms", "UTC")


class Row(NamedTuple):
    """A row of a stream; `value` is None in one that must be rejected."""

    event_time: int
    arrival_time: int
    id: str
    key: str
    value: str | None


@dataclass
class Drawn:
    """The rows of one stream so far, in the order in which they were written; `gap_ms` apart at the mean.

    Attributes
    ----------
    hot : float
        The share of the rows that have one and the same key and value, beside those that draw them.
    crowd : int
        The number of rows in the place of one, by arrival time: so much faster is the stream than `gap_ms` says.
    """

    prefix: str
    gap_ms: int
    values: list[str]
    draw: random.Random
    rows: list[Row] = field(default_factory=list)
    arrival: int = EPOCH
    forgotten: int = 0
    hot: float = 0.0
    crowd: int = 1

    def more(self, count: int) -> list[Row]:
        """Draw the next rows."""
        for _ in range(count):
            self.rows.append(self._next())
        return self.rows[-count:]

    def forget(self) -> None:
        """Keep only the rows that may be repeated."""
        self.forgotten += len(self.rows[:-_REPEATABLE])
        del self.rows[:-_REPEATABLE]

    def _next(self) -> Row:
        number, draw = self.forgotten + len(self.rows), self.draw
        name, key, value = f"{self.prefix}{number}", f"k{draw.randrange(5)}", draw.choice(self.values)
        if self.hot and draw.random() < self.hot:
            key, value = "k0", self.values[0]
        what = draw.random() if number else 1.0
        if what < _REJECTED:
            return Row(self.arrival, self.arrival, name, key, None)
        if what < _REJECTED + _REPEATED:
            name = draw.choice(self.rows[-_REPEATABLE:]).id
        step = draw.choice((0, 1, 1, 2)) * self.gap_ms
        self.arrival += step if number % self.crowd == 0 else 0
        delay = draw.randrange(_DELAY_MS) + (draw.randrange(_LATENESS_MS) if draw.random() < _LATE else 0)
        return Row(self.arrival - delay, self.arrival, name, key, value)


class Workload(NamedTuple):
    """A kind's streams: their names, what a value stands for in the files, and the section of the query file."""

    streams: tuple[str, ...]
    values: list[str]
    columns: Callable[[list[str | None]], dict[str, pa.Array]]
    declared: Mapping[str, object]

    def table(self, rows: list[Row]) -> pa.Table:
        """The rows as they stand in a file."""
        times = {name: pa.array([getattr(row, name) for row in rows], TIME) for name in ("event_time", "arrival_time")}
        texts = {name: [getattr(row, name) for row in rows] for name in ("id", "key")}
        return pa.table(times | texts | self.columns([row.value for row in rows]))

    def query(self, directory: Path) -> dict[str, object]:
        """The query file over streams in directories of their names."""
        columns = {name: name for name in ("event_time", "arrival_time", "id")}
        columns |= {} if self.is_join else {"key": "key"}
        streams = {
            name: {"source": {"format": "parquet", "path": str(directory / name)}} | columns for name in self.streams
        }
        disorder = {"policy": "k_slack", "k": f"{K_MS} ms", "tick": f"{TICK_MS} ms", "idle": "10 min"}
        disorder |= {"deduplicate": True} if self.is_join else {}
        return {"name": NAME, "streams": streams, "disorder": disorder, "parallelism": TASKS, **self.declared}

    @property
    def is_join(self) -> bool:
        return len(self.streams) > 1


def _numbers(values: list[str | None]) -> dict[str, pa.Array]:
    return {"value": pa.array([float("nan") if value is None else float(value) for value in values])}


def _histograms(values: list[str | None]) -> dict[str, pa.Array]:
    return {"value": pa.array([[1.0, -1.0, 0.0, 0.0] if value is None else SHAPES[value] for value in values])}


def _points(values: list[str | None]) -> dict[str, pa.Array]:
    places = [(float("nan"), 0.0) if value is None else PLACES[int(value)] for value in values]
    return {name: pa.array([place[axis] for place in places]) for axis, name in enumerate(("lon", "lat"))}


_SLIDING = {"window": {"size": f"{SIZE_MS} ms", "slide": f"{SLIDE_MS} ms"}}
_SIDES = ("left", "right")
_WHOLE = [str(number) for number in range(-50, 100)]
_GEOMETRY = {"geometry": {side: {"x": "lon", "y": "lat"} for side in _SIDES}}
_GRID = {"grid": 8, "extent": [116.38, 39.88, 116.42, 39.92]}

WORKLOADS = {
    "aggregate": Workload(
        (NAME,),
        _WHOLE,
        _numbers,
        {"kind": "aggregate", "aggregate": {"function": "sum", "column": "value"}} | _SLIDING,
    ),
    "topk": Workload((NAME,), _WHOLE, _numbers, {"kind": "topk", "topk": {"k": BEST, "score": "value"}} | _SLIDING),
    "emd_join": Workload(
        _SIDES,
        list("aabc"),
        _histograms,
        {
            "kind": "emd_join",
            "window": {"size": f"{REACH_MS} ms"},
            "emd_join": {"threshold": 0.5, "histogram": "value", "ground_distance": "line", "scale": 1.0, "bins": 4},
        },
    ),
    "spatial_join": Workload(
        _SIDES,
        [str(number) for number in range(len(PLACES))],
        _points,
        {
            "kind": "spatial_join",
            "spatial_join": {
                "join": "interval",
                "interval": {"lower": f"-{REACH_MS} ms", "upper": f"{REACH_MS} ms"},
                "relation": "dwithin",
                "distance": f"{NEAR_M:g} m",
            }
            | _GEOMETRY
            | _GRID,
        },
    ),
}
"""What is run, by the name of its kind."""


def drawn_streams(workload: Workload, seed: int, gap_ms: int) -> dict[str, Drawn]:
    """The streams of a workload before their first rows, by name; rows are `gap_ms` apart at the mean."""
    return {name: Drawn(name[0], gap_ms, workload.values, random.Random(f"{seed} {name}")) for name in workload.streams}
