"""The command `serve`: a local platform without containers."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tailrace.cli.local_paths import local_path
from tailrace.terminal import screen


def serve(
    folder: Annotated[
        Path,
        typer.Argument(
            help="The folder of its queries, tables, logs and passwords.", metavar="FOLDER", callback=local_path
        ),
    ] = Path("platform"),
    port: Annotated[
        int | None,
        typer.Option(help="Airflow's port, which is kept; by default a free one.", min=1, max=65535),
    ] = None,
    start_s: Annotated[float, typer.Option(help="Seconds that Airflow may take to start.", min=1)] = 600.0,
) -> None:
    """Run Airflow, a driver host and a warehouse of your own in FOLDER until Ctrl-C; the next start goes on from there.

    Put query files into FOLDER/queries. Streams that run at the end are stopped, and started again by the next start.
    """
    from tailrace.embedded.serve import serve as serve_folder

    serve_folder(folder, port, start_s, _print)


def _print(line: str) -> None:
    screen.err.print(line, markup=False, soft_wrap=True)
