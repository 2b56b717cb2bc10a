"""The option --engine: what runs the batches of a stream, a rebuild or a correction."""

from __future__ import annotations

from enum import StrEnum
from importlib import import_module
from typing import Annotated, Any

import typer


class EngineName(StrEnum):
    spark = "spark"
    local = "local"


Engine = Annotated[
    EngineName,
    typer.Option(
        envvar="TAILRACE_ENGINE", help="spark: its executors run the batches. local: this process does, without a JVM."
    ),
]


def run_on(engine: EngineName) -> Any:
    """Return the function that runs a stream on an engine."""
    return _app(engine).run


def rebuild_on(engine: EngineName) -> Any:
    """Return the function that rebuilds a stream on an engine."""
    return _app(engine).rebuild


def correct_on(engine: EngineName) -> Any:
    """Return the function that corrects a query, and reads much history on an engine."""
    return import_module(
        {"spark": "tailrace.spark.distributed_correction", "local": "tailrace.correction.local_correction"}[engine]
    ).correct


def _app(engine: EngineName) -> Any:
    """Import what an engine needs: pyspark is not for the local one."""
    return import_module({"spark": "tailrace.spark.app", "local": "tailrace.stream.local_stream"}[engine])
