"""Runs streams and rebuilds in this process, over all cores, without a JVM."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tailrace.engine.executor import Executor
from tailrace.engine.local_executor import LocalExecutor
from tailrace.engine.pipeline import Pipeline
from tailrace.engine.task_states import TaskStates
from tailrace.query.query import Query
from tailrace.storage.layout import Layout
from tailrace.storage.warehouses import Warehouse
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
) -> int:
    """Run the query in this process, see `stream.app.run`."""
    return app.run(query, warehouse, options, on_batch, open_executor)


def rebuild(query: Query, warehouse: Warehouse, file: Path, on_batch: OnBatch | None = None) -> Rebuild | None:
    """Rebuild a query's stream in this process, see `stream.rebuild.rebuild`."""
    return rebuild_on(query, Layout.for_query(warehouse, query.name), file, on_batch, open_executor)


@contextmanager
def open_executor(pipeline: Pipeline, states: TaskStates) -> Iterator[Executor]:
    """Create an executor in this process."""
    yield LocalExecutor(pipeline, states)
