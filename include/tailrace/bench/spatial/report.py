"""Report of the experiments of paper 003: measures them and writes docs/results/003.md with its plots."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tailrace.bench.page import Effort, write
from tailrace.bench.progress import Row, Tell
from tailrace.bench.spatial import figures, joins, map, spark_joins, streams, table, table_on_spark
from tailrace.bench.spatial.sedona_environment import PYSPARK, VERSION


def report(directory: Path, effort: Effort, tell: Tell) -> Path:
    """Run all experiments and write `003.md`, `003.json` and the plots; return the page's path.

    Streams have `effort.rows` tuples at most, and their own numbers where these are less.
    """
    directory.mkdir(parents=True, exist_ok=True)
    tables = speeds(effort, tell)
    taxis, rounds = joins.streams_in_process(effort.rows), effort.rounds
    tables |= {
        "parallelism": joins.by_parallelism(taxis, rounds, tell),
        "lengths": joins.by_length(taxis, rounds, tell),
    }
    tables |= {"grids": joins.by_grid(taxis, rounds, tell), "bins": joins.by_bin(taxis, rounds, tell)}
    figures.table(tables["table"], directory / "003-table.png")
    figures.by_parallelism(tables["parallelism"], tables["spark"], directory / "003-parallelism.png")
    figures.by_length(tables["lengths"], directory / "003-length.png")
    figures.by_grid(tables["grids"], directory / "003-grid.png")
    figures.by_bin(tables["bins"], directory / "003-bin.png")
    map.draw(directory / "003-map.png", effort.rows)
    settings: dict[str, Any] = {"rounds": rounds, "tuples": f"{taxis['left'].num_rows:,}", "minutes": joins.MINUTES}
    settings |= {"batch": joins.BATCH_MS // 1000, "distance": streams.DISTANCE_M, "bin_minutes": joins.BIN_MINUTES}
    settings |= {"spark_tuples": f"{_spark_tuples(effort):,}", "spark_minutes": spark_joins.MINUTES}
    settings |= {"near": map.NEAR_M, "near_s": map.NEAR_MS // 1000, "sedona": VERSION, "sedona_spark": PYSPARK}
    return write(directory / "003.md", Path(__file__).with_name("003.md"), "spatial", effort, settings, tables)


def speeds(effort: Effort, tell: Tell) -> dict[str, list[Row]]:
    """Measure the join with the table, in process and on Spark, and the joins of two streams on Spark."""
    rounds = effort.rounds
    tables = {"table": table.by_method(effort.rows, rounds, tell)}
    tables |= {"spark_table": table_on_spark.beside_sedona(effort.rows, rounds, effort.sedona, tell)}
    with spark_joins.spark_joins(_spark_tuples(effort)) as on_spark:
        tables |= {"spark": spark_joins.beside_native(on_spark, rounds, tell)}
        tables |= {"spark_cpu": spark_joins.by_parallelism(on_spark, rounds, tell)}
    return tables


def _spark_tuples(effort: Effort) -> int:
    return min(effort.rows, streams.TUPLES)
