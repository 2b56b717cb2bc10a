"""The engines, which run the batches of a stream, a rebuild or a correction."""

from __future__ import annotations

import os
from enum import StrEnum
from importlib import import_module
from typing import Any

from tailrace.ground.errors import refuse
from tailrace.ground.extras import require_extra


class EngineName(StrEnum):
    spark = "spark"
    local = "local"


ENGINE = "TAILRACE_ENGINE"
"""Environment variable with the name of the default engine."""


def engine_named(name: str | None) -> EngineName:
    """Return the named engine; by default the one in TAILRACE_ENGINE, else the local one.

    Raises
    ------
    Refused
        When there is no such engine.
    """
    chosen = name or os.environ.get(ENGINE) or EngineName.local
    if chosen not in list(EngineName):
        where = "engine" if name else ENGINE
        raise refuse(where, f"there is no engine {chosen!r}", " or ".join(map(repr, map(str, EngineName))))
    return EngineName(chosen)


def run_on(engine: EngineName) -> Any:
    """Return the function that runs a stream on an engine."""
    return _app(engine).run


def rebuild_on(engine: EngineName) -> Any:
    """Return the function that rebuilds a stream on an engine."""
    return _app(engine).rebuild


def correct_on(engine: EngineName) -> Any:
    """Return the function that corrects a query; large histories are read on the engine."""
    return _import(engine, "tailrace.spark.distributed_correction", "tailrace.correction.local_correction").correct


def _app(engine: EngineName) -> Any:
    return _import(engine, "tailrace.spark.app", "tailrace.stream.local_stream")


def _import(engine: EngineName, on_spark: str, on_local: str) -> Any:
    """Import only one engine's module, as the local one needs no PySpark."""
    if engine == EngineName.local:
        return import_module(on_local)
    require_extra("--engine spark", "spark", instead="--engine local, which needs neither Spark nor Java")
    return import_module(on_spark)
