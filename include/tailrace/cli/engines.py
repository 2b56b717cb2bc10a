"""The option --engine, which chooses the engine of a stream, a rebuild or a correction."""

from __future__ import annotations

from typing import Annotated

import typer

from tailrace.api.engines import ENGINE, EngineName

Engine = Annotated[
    EngineName,
    typer.Option(envvar=ENGINE, help="spark: its executors run the batches. local: this process does, without a JVM."),
]
