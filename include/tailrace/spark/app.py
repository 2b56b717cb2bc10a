"""Runs streams and rebuilds on Spark."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pyspark.sql import SparkSession

from tailrace.engine.executor import Executor
from tailrace.engine.pipeline import Pipeline
from tailrace.engine.task_states import TaskStates
from tailrace.ground.connections import connection_variables
from tailrace.query.query import Query
from tailrace.spark.executor import SparkExecutor
from tailrace.spark.session import session
from tailrace.spark.streaming_query import in_streaming_query
from tailrace.storage.layout import Layout
from tailrace.storage.warehouses import Warehouse, connections_of
from tailrace.stream import app
from tailrace.stream.planned_rebuild import Rebuild
from tailrace.stream.rebuild import rebuild as rebuild_on
from tailrace.stream.run import OnBatch
from tailrace.stream.run_options import RunOptions


def run(
    query: Query,
    warehouse: Warehouse,
    options: RunOptions = RunOptions(),  # noqa: B008 (frozen)
    on_batch: OnBatch | None = None,
    spark: SparkSession | None = None,
) -> int:
    """Run the query on Spark, see `stream.app.run`; a live run is a Structured Streaming query.

    Parameters
    ----------
    spark : SparkSession, optional
        An open session; by default the run opens its own.
    """

    @contextmanager
    def open_executor(pipeline: Pipeline, states: TaskStates) -> Iterator[Executor]:
        variables = connection_variables(
            [*query.connections, *connections_of(Layout.for_query(warehouse, query.name).home)]
        )
        with _session(f"tailrace {query.name}", query, variables, spark) as opened:
            executor = SparkExecutor(opened, pipeline, states, query.name)
            if not options.live:
                yield executor
                return
            with in_streaming_query(executor) as live:
                yield live

    return app.run(query, warehouse, options, on_batch, open_executor)


def rebuild(
    query: Query, warehouse: Warehouse, file: Path, on_batch: OnBatch | None = None, spark: SparkSession | None = None
) -> Rebuild | None:
    """Rebuild a query's stream on Spark, see `stream.rebuild.rebuild`."""

    @contextmanager
    def open_executor(pipeline: Pipeline, states: TaskStates) -> Iterator[Executor]:
        variables = connection_variables(query.connections)
        with _session(f"tailrace rebuild {query.name}", query, variables, spark) as opened:
            yield SparkExecutor(opened, pipeline, states, query.name)

    return rebuild_on(query, Layout.for_query(warehouse, query.name), file, on_batch, open_executor)


@contextmanager
def _session(name: str, query: Query, variables: dict[str, str], spark: SparkSession | None) -> Iterator[SparkSession]:
    if spark is not None:
        yield spark
        return
    with session(name, query.parallelism, environment=variables) as opened:
        yield opened
