"""`spatial_join` of streams on Spark: as streamed, and as corrected, the pairs are the oracle's."""

from __future__ import annotations

import random
import shutil
from functools import cache
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyproj import Geod

from kit.oracles.pair_oracle import InWindow, Item, Join, Pair, Read, batch_in_windows, batch_pairs, in_windows, joined
from kit.runs.warehouse import EPOCH, TIME
from tailrace.correction.correction_range import CorrectionRange
from tailrace.query.declared import declared_query
from tailrace.query.query import Query
from tailrace.spark.app import run
from tailrace.spark.distributed_correction import correct
from tailrace.storage.layout import Layout
from tailrace.storage.results import read_answers
from tailrace.storage.tables import Tables
from tailrace.stream.run_options import RunOptions

GEOD = Geod(ellps="WGS84")
NEAR_M, BATCH_ROWS, STREAMS = 700.0, 400, ("left", "right")
PLACES = np.random.default_rng(5).normal((116.4, 39.9), 0.01, (60, 2))
"""By the number that a tuple has as its value: longitude and latitude."""
SELECT, SEEN = ["left.taxi", "distance", "right.seen"], pa.timestamp("us", "UTC")


@cache
def are_near(a: str, b: str) -> bool:
    return GEOD.inv(*PLACES[int(a)], *PLACES[int(b)])[2] <= NEAR_M


JOINS = {
    "interval": Join(reach=400, tick=100, k=100, alike=are_near, interval=(-200, 400)),
    "window": Join(reach=600, tick=100, k=100, alike=are_near, windows=(600, 200)),
}
every = pytest.mark.parametrize("name", JOINS)


@cache
def streams() -> list[list[Item]]:
    """Two streams in order of arrival, whose places drift, some of them far too late."""
    draw, made = random.Random(13), []
    for side, speed in enumerate((20, 35)):
        items = []
        for number in range(24_000 // speed):
            event = EPOCH + number * speed
            delay = draw.randrange(150) + (draw.randrange(3000) if draw.random() < 0.05 else 0)
            value = str((number * speed // 600 + draw.randrange(30)) % len(PLACES))
            items.append(Item(event, event + delay, f"{'lr'[side]}{number}", value))
        made.append(sorted(items, key=lambda item: item.arrival_time))
    return made


LOG = [Read(side, item) for side, items in enumerate(streams()) for item in items]


def taxi_of(id_: str) -> str | None:
    """A column beside the geometry, that a fifth of the tuples has not."""
    return f"taxi {id_}" if int(id_[1:]) % 5 else None


def assert_selected(rows: list[dict]) -> None:
    """Assert that answers have the selected columns of their tuples."""
    assert {row["left_taxi"] is None for row in rows} == {True, False}
    for row in rows:
        assert row["left_taxi"] == taxi_of(row["left_id"])
        assert row["right_seen"].timestamp() == pytest.approx(row["right_time"] / 1000 + 7e-6, abs=1e-6)


def write_streams(directory: Path) -> None:
    for name, items in zip(STREAMS, streams(), strict=True):
        (directory / name).mkdir(parents=True)
        times = {
            part: pa.array([getattr(item, part) for item in items], pa.int64()).cast(TIME) for part in Item._fields[:2]
        }
        lon, lat = PLACES[[int(item.value) for item in items]].T
        columns = times | {"id": [item.id for item in items], "lon": lon, "lat": lat}
        columns |= {"taxi": pa.array([taxi_of(item.id) for item in items], pa.string())}
        columns |= {"seen": pa.array([item.event_time * 1000 + 7 for item in items], SEEN)}
        pq.write_table(pa.table(columns), directory / name / "0.parquet")


def make_query(directory: Path, name: str) -> Query:
    columns = {column: column for column in ("event_time", "arrival_time", "id")}
    sources = {side: {"source": {"format": "parquet", "path": str(directory / side)}} | columns for side in STREAMS}
    section = {"join": name, "relation": "dwithin", "distance": f"{NEAR_M:g} m", "select": SELECT}
    section |= {"geometry": {side: {"x": "lon", "y": "lat"} for side in STREAMS}}
    section |= {"grid": 8, "extent": [116.38, 39.88, 116.42, 39.92]}
    join = JOINS[name]
    if join.windows is None:
        lower, upper = join.interval
        declared = {"spatial_join": section | {"interval": {"lower": f"{lower} ms", "upper": f"{upper} ms"}}}
    else:
        size, slide = join.windows
        declared = {"spatial_join": section, "window": {"size": f"{size} ms", "slide": f"{slide} ms"}}
    disorder = {"policy": "k_slack", "k": f"{join.k} ms", "tick": f"{join.tick} ms"}
    return declared_query({"name": "meet", "kind": "spatial_join", "streams": sources, "disorder": disorder} | declared)


def identity_of(row: dict, join: Join) -> tuple:
    ids = row["left_id"], row["right_id"]
    return ids if join.windows is None else InWindow(*ids, row["window_end"])


@cache
def expected(name: str) -> tuple[dict, dict, set]:
    """What the stream answers, what it registers as late, and all that is true."""
    join = JOINS[name]
    if join.windows is not None:
        return *in_windows(LOG, join), batch_in_windows(LOG, join)
    outcome = joined(LOG, join)
    return outcome.pairs, outcome.late, batch_pairs(LOG, join)


def assert_streamed(warehouse: Path, name: str) -> Tables:
    """Assert that the answers are the oracle's, each once, and that every tuple was taken in once."""
    tables, (pairs, late, _) = Tables(Layout.for_query(warehouse, "meet")), expected(name)
    rows = tables.read("results").to_pylist()
    found = {identity_of(row, JOINS[name]): Pair(*(row[field] for field in Pair._fields)) for row in rows}
    assert len(found) == len(rows), "a pair was answered twice"
    assert found == pairs
    assert_selected(rows)
    rows = tables.read("late").to_pylist()
    assert {(STREAMS.index(row["stream"]), row["id"]): row["frontier"] for row in rows} == late
    assert sum(tables.read("metrics")["rows"].to_pylist()) == len(LOG)
    return tables


@pytest.fixture(scope="module")
def streamed(tmp_path_factory, _spark) -> Path:
    """The directory of the streams, and of a warehouse for each join, by its name."""
    home = tmp_path_factory.mktemp("meet")
    write_streams(home / "in")
    for name in JOINS:
        run(make_query(home / "in", name), home / name, RunOptions(BATCH_ROWS), spark=_spark)
    return home


@every
def test_the_pairs_of_a_run_are_those_of_the_oracle(streamed, name):
    tables = assert_streamed(streamed / name, name)
    metrics = tables.read("metrics").to_pylist()
    assert {row["task"] for row in metrics if row["load"]} == {0, 1}
    distances = tables.read("results")["distance"].to_numpy()
    assert 0 <= distances.min() < distances.max() <= NEAR_M


@every
def test_corrections_in_any_order_and_twice_give_all_pairs(streamed, tmp_path, name):
    warehouse, query, (_, _, true) = tmp_path / "wh", make_query(streamed / "in", name), expected(name)
    shutil.copytree(streamed / name, warehouse)
    intervals = [(EPOCH + start, EPOCH + start + 9_000) for start in (18_000, 0, 9_000, 18_000)]
    for interval in intervals:
        correct(query, warehouse, CorrectionRange(*interval, arrival=True))
    answers, columns = read_answers(query, warehouse, streamed=False)
    assert_selected(answers.to_pylist())
    found = [identity_of(row, JOINS[name]) for row in answers.to_pylist()]
    assert len(found) == len(set(found))
    assert set(found) == true
    early = read_answers(query, warehouse, streamed=True)[0].num_rows
    assert early < len(true), "nothing was missed, so there was nothing to correct"
    in_window = ["window_start", "window_end"] if name == "window" else []
    assert columns[: 7 + len(in_window)] == [
        *("left_id", "right_id", "left_time", "right_time"),
        *in_window,
        *("left_taxi", "distance", "right_seen"),
    ]
    assert answers.schema.field("right_seen").type == SEEN
