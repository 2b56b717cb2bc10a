"""Report of the experiments of paper 003: measures them and writes docs/results/003.md with its plots."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tailrace.bench.page import Effort, write
from tailrace.bench.progress import Row, Tell
from tailrace.bench.spatial import figures, joins, latency, spark_joins, table, table_on_spark, taxi_map
from tailrace.bench.spatial.sedona_environment import PYSPARK, VERSION
from tailrace.bench.spatial.streams import DISTANCE_M, TUPLES, taxi_streams


def report(directory: Path, effort: Effort, tell: Tell) -> Path:
    """Run all experiments and write `003.md`, `003.json` and the plots; return the page's path.

    Streams have `effort.rows` tuples at most, and their own numbers where these are less.
    """
    directory.mkdir(parents=True, exist_ok=True)
    tables = speeds(effort, tell)
    short, long = (taxi_streams(min(effort.rows, most)) for most in (joins.TUPLES, joins.LONG_TUPLES))
    tables |= {"parallelism": joins.by_parallelism(short, effort.rounds, tell)}
    tables |= {"lengths": joins.by_length(short, effort.rounds, tell)}
    tables |= {"grids": joins.by_grid(long, effort.rounds, tell), "bins": joins.by_bin(long, effort.rounds, tell)}
    figures.table(tables["table"], directory / "003-table.png")
    figures.by_parallelism(tables["parallelism"], tables["spark"], directory / "003-parallelism.png")
    figures.by_length(tables["lengths"], directory / "003-length.png")
    figures.by_grid(tables["grids"], directory / "003-grid.png")
    figures.by_bin(tables["bins"], directory / "003-bin.png")
    taxi_map.draw(directory / "003-map.png", effort.rows)
    settings: dict[str, Any] = {"rounds": effort.rounds, "minutes": joins.MINUTES}
    settings |= {"tuples": f"{short['left'].num_rows:,}", "long": f"{long['left'].num_rows:,}"}
    settings |= {"batch": joins.BATCH_MS // 1000, "distance": DISTANCE_M, "bin_minutes": joins.BIN_MINUTES}
    settings |= {"spark_tuples": f"{_spark_tuples(effort):,}", "spark_minutes": spark_joins.MINUTES}
    settings |= {"near": taxi_map.NEAR_M, "near_s": taxi_map.NEAR_MS // 1000}
    settings |= {"latency_s": f"{latency.SECONDS:g}", "every": f"{latency.EVERY_S:g}"}
    settings |= {"sedona": VERSION, "sedona_spark": PYSPARK}
    return write(directory / "003.md", Path(__file__).with_name("003.md"), "spatial", effort, settings, tables)


def speeds(effort: Effort, tell: Tell) -> dict[str, list[Row]]:
    """Measure the join with the table, in process and on Spark, and the joins of two streams on Spark."""
    rounds = effort.rounds
    tables = {"table": table.by_method(effort.rows, rounds, tell)}
    tables |= {"spark_table": table_on_spark.beside_sedona(effort.rows, rounds, effort.sedona, tell)}
    tables |= {"latency": latency.beside_pass_through(rounds, tell)}
    with spark_joins.spark_joins(_spark_tuples(effort)) as on_spark:
        tables |= {"spark": spark_joins.beside_native(on_spark, rounds, tell)}
        tables |= {"spark_cpu": spark_joins.by_parallelism(on_spark, rounds, tell)}
    return tables


def _spark_tuples(effort: Effort) -> int:
    return min(effort.rows, TUPLES)
