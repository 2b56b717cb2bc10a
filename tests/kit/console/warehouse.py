"""A small warehouse for the pages: queries of all kinds that have run, with late tuples, corrections, calibrations.

Their streams end at the present, so that what pages say of the last hour is there. Other queries are refused, have lost
their file, were never run, or are damaged.
"""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import yaml

from generators.delays import delay_model
from generators.fixes import SCHEMA as FIXES
from generators.frame_histograms import darken
from generators.histogram_stream import as_stream
from generators.replay import disorder, generate, write
from generators.sample_clips import read_clip
from generators.sample_districts import district_file
from generators.taxis import taxis
from tailrace.calibration.calibrate import calibrate
from tailrace.correction.correction_range import CorrectionRange
from tailrace.correction.local_correction import correct
from tailrace.query.loading import load
from tailrace.storage.deployed import DeployedQuery
from tailrace.storage.layout import Layout
from tailrace.stream.local_stream import run
from tailrace.stream.run_options import RunOptions

MINUTE_MS = 60_000
DELAYS = "exponential:2 s"
"""The delays of the readings of `speeds`."""
TIMES = {"event_time": "event_time", "arrival_time": "arrival_time", "id": "id"}
_SEED = 2


@dataclass(frozen=True)
class Warehouse:
    """The directories of the queries, of what they read, and of their tables; it ends at `now_ms`."""

    home: Path
    now_ms: int

    @property
    def queries(self) -> Path:
        return self.home / "queries"

    @property
    def tables(self) -> Path:
        return self.home / "tables"

    def layout(self, name: str) -> Layout:
        return Layout.for_query(self.tables, name)

    def source(self, name: str, stream: str) -> Path:
        return self.home / "data" / name / stream

    def declare(self, name: str, streams: dict[str, dict[str, Any]], **declared: Any) -> Path:
        """Write a query over Parquet files in a directory for each of its streams, and return its file."""
        sources = {
            stream: {"source": {"format": "parquet", "path": str(self.source(name, stream))}, **TIMES, **columns}
            for stream, columns in streams.items()
        }
        file = self.queries / f"{name}.yaml"
        file.parent.mkdir(parents=True, exist_ok=True)
        text = yaml.safe_dump({"name": name, **declared, "streams": sources}, sort_keys=False, allow_unicode=True)
        file.write_text(text, encoding="utf-8")
        return file

    def deploy(self, file: Path) -> None:
        """Put a query's file on record as the one that its driver runs."""
        layout = self.layout(file.stem)
        layout.stream.mkdir(parents=True, exist_ok=True)
        DeployedQuery(file, file.read_text(), {"batch_rows": 4_000_000, "driver_memory": "2g"}).write(layout)

    def run(self, name: str, batch_rows: int) -> None:
        """Run a query over all that is there, as a stream that goes on."""
        file = self.queries / f"{name}.yaml"
        self.deploy(file)
        run(load(file), self.tables, RunOptions(batch_rows, flush=False))

    def correct(self, name: str, start_ms: int | None = None, end_ms: int | None = None) -> None:
        """Correct what arrived in a range of time, or everything."""
        wanted = CorrectionRange(start_ms, end_ms, arrival=start_ms is not None)
        correct(load(self.queries / f"{name}.yaml"), self.tables, wanted)


def speeds(warehouse: Warehouse) -> None:
    """The sum of the speeds of each of four sensors, ten minutes of it corrected."""
    warehouse.declare(
        "speeds",
        {"readings": {"key": "sensor"}},
        kind="aggregate",
        window={"size": "20 s", "slide": "5 s"},
        disorder={"policy": "quantile", "error": 0.05, "risk": 0.05},
        aggregate={"function": "sum", "column": "value"},
        correction={"gap": "10 min"},
    )
    start_ms = warehouse.now_ms - 30 * MINUTE_MS
    _write(warehouse, "speeds", "readings", generate(30 * 60 * 20, 20, 4, delay_model(DELAYS), _SEED, start_ms), 30)
    warehouse.run("speeds", 1200)
    for minute in (0, 6):
        warehouse.correct("speeds", start_ms + minute * MINUTE_MS, start_ms + (minute + 4) * MINUTE_MS)


def levels(warehouse: Warehouse) -> None:
    """Several aggregates of one stream without keys, never corrected; of some records a value is none."""
    aggregates = {
        "number": {"function": "count"},
        "mean": {"function": "avg", "column": "value"},
        "worst": {"function": "max", "column": "value"},
        "newest": {"function": "last", "column": "sensor"},
    }
    warehouse.declare(
        "levels",
        {"readings": {}},
        kind="aggregate",
        window={"size": "1 min", "slide": "1 min"},
        disorder={"policy": "k_slack", "k": "2 s"},
        aggregate=aggregates,
    )
    table = generate(3000, 2, 5, delay_model("exponential:1 s"), _SEED, warehouse.now_ms - 25 * MINUTE_MS)
    number = np.arange(table.num_rows)
    strange = pa.array(np.where(number % 300 == 0, None, number).tolist(), pa.int64())
    table = table.set_column(0, "id", pc.cast(strange, pa.string()))  # records without an id are rejected
    _write(warehouse, "levels", "readings", table, 5)
    warehouse.run("levels", 300)


def trades(warehouse: Warehouse) -> None:
    """The largest trades of each symbol, with two calibrations on the way, and a correction."""
    warehouse.declare(
        "trades",
        {"trades": {"key": "sensor"}},
        kind="topk",
        window={"size": "1 min", "slide": "10 s"},
        disorder={"policy": "cache_duration", "initial": "2 s", "accuracy": 0.95},
        topk={"k": 5, "score": "value", "select": ["value"]},
    )
    start_ms = warehouse.now_ms - 20 * MINUTE_MS
    table = generate(20 * 60 * 20, 20, 4, delay_model("exponential:6 s"), _SEED, start_ms)
    query = load(warehouse.queries / "trades.yaml")
    for part in range(3):
        rows = table.num_rows // 3
        _write(warehouse, "trades", "trades", table.slice(part * rows, rows), 4)
        warehouse.run("trades", 2000)
        if part < 2:
            calibrate(query, warehouse.tables)
    warehouse.correct("trades", start_ms, start_ms + 10 * MINUTE_MS)


def copies(warehouse: Warehouse) -> None:
    """Near-duplicate frames of a clip and of its darker copy, which comes out of order; one correction."""
    warehouse.declare(
        "copies",
        {"left": {}, "right": {}},
        kind="emd_join",
        window={"size": "2 s"},
        disorder={"policy": "k_slack", "k": "200 ms"},
        emd_join={"histogram": "hist", "threshold": 17, "feedback": "5 s"},
        parallelism=2,
    )
    start_ms, clip = warehouse.now_ms - MINUTE_MS, read_clip("bikes")
    film = np.resize(np.concatenate([clip, clip[-2:0:-1]]), (500, clip.shape[1]))
    copy = disorder(
        as_stream(darken(film, 16), "copy", 25, start_ms + 1000), "event_time", delay_model("exponential:400 ms"), _SEED
    )
    for stream, table in (("left", as_stream(film, "film", 25, start_ms)), ("right", copy)):
        _write(warehouse, "copies", stream, table, 5)
    warehouse.run("copies", 100)
    warehouse.correct("copies")


_PLACES = {"x": "lon", "y": "lat"}


def meetings(warehouse: Warehouse) -> None:
    """The taxis of two fleets that meet."""
    warehouse.declare(
        "meetings",
        {"left": {}, "right": {}},
        kind="spatial_join",
        spatial_join={
            "join": "interval",
            "interval": {"lower": "-30 s", "upper": "30 s"},
            "geometry": {"left": dict(_PLACES), "right": dict(_PLACES)},
            "relation": "dwithin",
            "distance": "300 m",
            "select": ["distance"],
            "extent": [115.4, 39.4, 117.5, 41.1],
        },
        disorder={"policy": "k_slack", "k": "10 s"},
        parallelism=2,
    )
    for number, stream in enumerate(("left", "right")):
        _write(warehouse, "meetings", stream, _fleet(warehouse, number), 6)
    warehouse.run("meetings", 2000)
    warehouse.correct("meetings")


def districts(warehouse: Warehouse) -> None:
    """The district of each fix of a fleet, by a table that has two versions."""
    table = warehouse.home / "data" / "districts" / "beijing.geojson"
    table.parent.mkdir(parents=True, exist_ok=True)
    shutil.copy(district_file("beijing"), table)
    section = {
        "join": "table",
        "geometry": {"left": dict(_PLACES)},
        "relation": "within",
        "table": {"path": str(table), "id": "pinyin", "on_invalid": "make_valid"},
    }
    warehouse.declare("districts", {"left": {}}, kind="spatial_join", spatial_join=section)
    fixes = _fleet(warehouse, 0)
    half = fixes.num_rows // 2
    for part in (0, 1):
        _write(warehouse, "districts", "left", fixes.slice(part * half, half), 3)
        warehouse.run("districts", 1000)
        shapes = json.loads(table.read_text())
        shapes["features"] = shapes["features"][:-2]
        table.write_text(json.dumps(shapes))


def _fleet(warehouse: Warehouse, shift: int) -> pa.Table:
    minutes = 15
    fixes = taxis(
        1500,
        _SEED,
        shift=shift,
        start_ms=warehouse.now_ms - (minutes + 1) * MINUTE_MS,
        duration_ms=minutes * MINUTE_MS,
        delays=delay_model("exponential:8 s"),
    )
    return pa.Table.from_batches(fixes, FIXES)


def broken(warehouse: Warehouse) -> None:
    """A sum of a column that the next file lacks, see `spoil`."""
    warehouse.declare(
        "broken",
        {"readings": {"key": "sensor"}},
        kind="aggregate",
        window={"size": "20 s", "slide": "5 s"},
        disorder={"policy": "k_slack", "k": "1 s"},
        aggregate={"function": "sum", "column": "value"},
    )
    table = generate(2400, 20, 4, delay_model("game2"), _SEED, warehouse.now_ms - 3 * MINUTE_MS)
    _write(warehouse, "broken", "readings", table, 2)


def spoil(warehouse: Warehouse, name: str) -> None:
    """Add a file to a query's stream of readings that lacks the column `value`."""
    table = generate(200, 20, 4, delay_model("none"), _SEED, warehouse.now_ms - MINUTE_MS)
    _write(warehouse, name, "readings", table.drop_columns(["value"]), 1)


def rejecting(warehouse: Warehouse) -> None:
    """A query that was never run; each of its records lacks the id."""
    warehouse.declare(
        "rejecting",
        {"readings": {}},
        kind="aggregate",
        window={"size": "1 min", "slide": "1 min"},
        disorder={"policy": "k_slack", "k": "1 s"},
        aggregate={"function": "count"},
    )
    table = generate(300, 5, 4, delay_model("none"), _SEED, warehouse.now_ms - 2 * MINUTE_MS)
    table = table.set_column(0, "id", pa.nulls(table.num_rows, pa.string()))
    _write(warehouse, "rejecting", "readings", table, 2)


def orders(warehouse: Warehouse) -> None:
    """A query that was never run: what it reads comes as a test has it come, see `kit.console.feed`."""
    warehouse.declare(
        "orders",
        {"readings": {"key": "sensor"}},
        kind="aggregate",
        window={"size": "10 s", "slide": "5 s"},
        disorder={"policy": "cache_duration", "initial": "500 ms", "accuracy": 0.99, "idle": "1 d"},
        aggregate={"function": "sum", "column": "value"},
    )
    warehouse.source("orders", "readings").mkdir(parents=True)


def strange(warehouse: Warehouse) -> None:
    """Queries that are no running streams: refused, without their file, never run, edited since their deployment."""
    text = (warehouse.queries / "levels.yaml").read_text()
    (warehouse.queries / "refused.yaml").write_text(text.replace("name: levels", "name: refused").replace("1 min", "1"))
    (warehouse.queries / "unborn.yaml").write_text(text.replace("name: levels", "name: unborn"))
    shutil.copytree(warehouse.layout("levels").home, warehouse.layout("lost").home)
    edited = warehouse.queries / "levels.yaml"
    edited.write_text(text.replace("k: 2 s", "k: 3 s"))
    damaged = warehouse.layout("damaged").home
    shutil.copytree(warehouse.layout("levels").home, damaged)
    (warehouse.queries / "damaged.yaml").write_text(text.replace("name: levels", "name: damaged"))
    damage(warehouse, "damaged", "results")


def damage(warehouse: Warehouse, name: str, table: str) -> None:
    """Cut the last commit of a table short, as a disk that was full would have."""
    (*_, last) = sorted((warehouse.layout(name).table(table) / "_delta_log").glob("*.json"))
    last.write_text(last.read_text()[:40])


BUILDERS = (speeds, levels, trades, copies, meetings, districts, broken, rejecting, orders, strange)


def build(home: Path) -> Warehouse:
    """Write the whole warehouse."""
    now_ms = int(datetime.now(UTC).timestamp()) * 1000
    warehouse = Warehouse(home, now_ms)
    for builder in BUILDERS:
        builder(warehouse)
    return warehouse


def _write(warehouse: Warehouse, name: str, stream: str, table: pa.Table, files: int) -> None:
    write_files(warehouse.source(name, stream), table, files)


def write_files(directory: Path, table: pa.Table, files: int) -> None:
    """Write a stream as so many files, in order of arrival, after those that are there."""
    directory.mkdir(parents=True, exist_ok=True)
    new, first = directory.with_name(f".{directory.name}.new"), len(list(directory.iterdir()))
    write(table, new, files)
    for number, file in enumerate(sorted(new.glob("part-*")), first):
        file.rename(directory / f"part-{number:05d}.parquet")
    new.rmdir()
