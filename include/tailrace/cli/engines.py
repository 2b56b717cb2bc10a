"""The option --engine: what runs the batches of a stream, a correction or a rebuild."""

from __future__ import annotations

from enum import StrEnum
from typing import TYPE_CHECKING, Annotated

import typer

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


class EngineName(StrEnum):
    spark = "spark"
    local = "local"


Engine = Annotated[
    EngineName, typer.Option(help="spark: its executors run the batches. local: this process does, without a JVM.")
]


def run_on(engine: EngineName) -> Callable[..., int]:
    """Return the function that runs a stream on an engine."""
    if engine is EngineName.local:
        from tailrace.stream import local as app
    else:
        from tailrace.spark import app
    return app.run


def rebuild_on(engine: EngineName) -> Callable[..., Any]:
    """Return the function that rebuilds a stream on an engine."""
    if engine is EngineName.local:
        from tailrace.stream import local as app
    else:
        from tailrace.spark import app
    return app.rebuild


def correct_on(engine: EngineName) -> Callable[..., Any]:
    """Return the function that corrects a query, and reads much history on an engine."""
    if engine is EngineName.local:
        from tailrace.correction import local as job
    else:
        from tailrace.spark import correct as job
    return job.correct
