"""Runs the batches of a rebuild on Spark."""

from __future__ import annotations

from pathlib import Path

from pyspark.sql import SparkSession

from tailrace.ground.connections import connection_variables
from tailrace.ground.errors import Busy, Problem
from tailrace.ground.written_files import FILES
from tailrace.query.query import Query
from tailrace.sources import history
from tailrace.spark.attempts import Attempts, OnBatch
from tailrace.spark.session import session
from tailrace.spark.sink import Sink
from tailrace.storage.checkpoint import committed_batches
from tailrace.storage.layout import Layout
from tailrace.storage.table_schemas import history_schemas, schemas, stream_tables
from tailrace.storage.tables import Tables
from tailrace.storage.warehouses import Warehouse
from tailrace.stream import rebuild as rebuilding
from tailrace.stream.planned_rebuild import Rebuild
from tailrace.stream.status_reporter import StatusReporter


def rebuild(
    query: Query, warehouse: Warehouse, file: Path, progress: OnBatch | None = None, spark: SparkSession | None = None
) -> Rebuild | None:
    """Rebuild a query's stream, see `stream.rebuild`.

    Parameters
    ----------
    spark : SparkSession, optional
        An open session, with as many shuffle partitions as the query's parallelism; by default it opens its own.
    """

    def run(planned: Rebuild) -> None:
        if spark is not None:
            run_batches(planned, spark, progress)
            return
        variables = connection_variables(query.connections)
        with session(f"tailrace rebuild {query.name}", query.parallelism, environment=variables) as opened:
            run_batches(planned, opened, progress)

    return rebuilding.rebuild(query, Layout.of(warehouse, query.name), file, run)


def run_batches(planned: Rebuild, spark: SparkSession, progress: OnBatch | None) -> None:
    """Run the batches of a rebuild.

    Raises
    ------
    Busy
        When it was asked to drain before the last one.
    """
    built, stage, planner = planned.built, planned.stage, planned.planner
    histories, table_schemas, tables = history_schemas(stage.readers), schemas(stage.kind), Tables(built)
    tables.create(table_schemas | histories, stream_tables(histories))
    written = dict.fromkeys(histories, history.FILES) | ({"results": FILES} if stage.answer_files else {})
    sink = Sink(tables, table_schemas | written, planned.manifest.id, entries=planned.in_tables)
    Attempts(built, stage, planner, StatusReporter(built), sink, progress, until=planner.batches).run(spark)
    if committed_batches(built) != planner.batches:
        wrong = "it was asked to drain before it had built everything, so all is as it was"
        raise Busy([Problem(str(planned.layout.home), wrong, "to run it again")])
