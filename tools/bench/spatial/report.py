"""Report of the experiments of paper 003: docs/results/003.md, its tables and plots."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa

from bench.live_pairs import EVERY_S
from bench.progress import Echo, Row
from bench.report import Effort, Measured, Plot, Report
from bench.spatial import (
    figures,
    joins,
    latency,
    pair_latency,
    shapes,
    spark_joins,
    table,
    table_on_spark,
    taxi_map,
)
from bench.spatial.sedona_environment import PYSPARK, VERSION
from bench.spatial.streams import DISTANCE_M, TUPLES, taxi_streams
from bench.spatial.verdicts import CLAIMS


def _map(effort: Effort, echo: Echo) -> Measured:
    settings = {"near": taxi_map.NEAR_M, "near_s": taxi_map.NEAR_MS // 1000}
    return Measured({}, settings, {"map": partial(taxi_map.draw, tuples=effort.rows)})


def _table(effort: Effort, echo: Echo) -> Measured:
    rows, twice = table.by_method(effort.rows, effort.rounds, echo)
    return Measured({"table": rows, "table_twice": twice}, {"rounds": effort.rounds})


def _shapes(effort: Effort, echo: Echo) -> Measured:
    rows, twice = shapes.by_condition(effort.rows, effort.rounds, echo)
    settings = {"shapes_rounds": effort.rounds, "shapes_count": f"{min(effort.rows, shapes.COUNT):,}"}
    return Measured({"shapes": rows, "shapes_twice": twice}, settings)


def _table_on_spark(effort: Effort, echo: Echo) -> Measured:
    rows, twice = table_on_spark.beside_sedona(effort.rows, effort.rounds, effort.sedona, echo)
    return Measured({"spark_table": rows, "spark_table_twice": twice}, {"sedona": VERSION, "sedona_spark": PYSPARK})


def _latency(effort: Effort, echo: Echo) -> Measured:
    settings = {"latency_s": f"{latency.SECONDS:g}", "every": f"{EVERY_S:g}"}
    rows, twice = latency.beside_pass_through(effort.rounds, echo)
    return Measured({"latency": rows, "latency_twice": twice}, settings)


def _latency_joins(effort: Effort, echo: Echo) -> Measured:
    rows, twice = pair_latency.by_setting(effort.rounds, echo)
    settings = {"pairs_rate": pair_latency.RATE, "pairs_tick": pair_latency.TICK_MS}
    return Measured({"latency_joins": rows, "latency_joins_twice": twice}, settings)


def _spark(effort: Effort, echo: Echo) -> Measured:
    tuples = min(effort.rows, TUPLES)
    tables = dict[str, list[Row]]()
    with spark_joins.spark_joins(tuples) as on_spark:
        tables["spark"], tables["spark_twice"] = spark_joins.beside_native(on_spark, effort.rounds, echo)
        tables["spark_cpu"], tables["spark_cpu_twice"] = spark_joins.by_parallelism(on_spark, effort.rounds, echo)
    return Measured(tables, {"spark_tuples": f"{tuples:,}", "spark_minutes": spark_joins.MINUTES})


def _parallelism(effort: Effort, echo: Echo) -> Measured:
    streams = _short(effort)
    settings = {"minutes": joins.MINUTES, "tuples": f"{streams['left'].num_rows:,}"}
    settings |= {"batch": joins.BATCH_MS // 1000, "distance": DISTANCE_M}
    return _compared("parallelism", joins.by_parallelism(streams, effort.rounds, echo), settings)


def _tasks(effort: Effort, echo: Echo) -> Measured:
    streams = _long(effort)
    return _compared("tasks", joins.by_tasks(streams, effort.rounds, echo), _long_settings(streams))


def _lengths(effort: Effort, echo: Echo) -> Measured:
    return _compared("lengths", joins.by_length(_short(effort), effort.rounds, echo), {})


def _grids(effort: Effort, echo: Echo) -> Measured:
    streams = _long(effort)
    return _compared("grids", joins.by_grid(streams, effort.rounds, echo), _long_settings(streams))


def _bins(effort: Effort, echo: Echo) -> Measured:
    return _compared("bins", joins.by_bin(_long(effort), effort.rounds, echo), {"bin_minutes": joins.BIN_MINUTES})


def _compared(name: str, compared: joins.Compared, settings: Mapping[str, Any]) -> Measured:
    return Measured({name: compared.rows, f"{name}_twice": compared.twice}, settings)


def _long_settings(streams: Mapping[str, pa.Table]) -> dict[str, Any]:
    return {"long": f"{streams['left'].num_rows:,}"}


def _short(effort: Effort) -> dict[str, pa.Table]:
    """Return the streams; they have at most `effort.rows` tuples."""
    return taxi_streams(min(effort.rows, joins.TUPLES))


def _long(effort: Effort) -> dict[str, pa.Table]:
    return taxi_streams(min(effort.rows, joins.LONG_TUPLES))


REPORT = Report(
    "003",
    "spatial",
    Path(__file__).with_name("003.md"),
    {
        "map": _map,
        "table": _table,
        "shapes": _shapes,
        "spark_table": _table_on_spark,
        "latency": _latency,
        "latency_joins": _latency_joins,
        "spark": _spark,
        "parallelism": _parallelism,
        "tasks": _tasks,
        "lengths": _lengths,
        "grids": _grids,
        "bins": _bins,
    },
    [
        Plot("table", ["table"], figures.table),
        Plot("parallelism", ["parallelism", "tasks", "spark"], figures.by_parallelism),
        Plot("length", ["lengths"], figures.by_length),
        Plot("grid", ["grids"], figures.by_grid),
        Plot("bin", ["bins"], figures.by_bin),
    ],
    CLAIMS,
)


def speeds(effort: Effort, echo: Echo) -> dict[str, list[Row]]:
    """Measure the parts that need no report: the join with the table, and the joins of two streams on Spark."""
    return REPORT.measure(effort, echo, ("table", "spark_table", "latency", "spark"))
