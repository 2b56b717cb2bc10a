"""The command that starts the demonstration."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from tailrace.cli.local_paths import local_path


def demo(
    warehouse: Annotated[Path, typer.Option(help="The directory where everything of it goes.", callback=local_path)] = (
        Path("warehouse/demo")
    ),
    bounded: Annotated[bool, typer.Option("--bounded", help="End then, and fail if an answer is wrong.")] = False,
    game2: Annotated[
        bool, typer.Option("--game2", help="Then stream game2 too, whose corrections start by themselves.")
    ] = False,
    topk: Annotated[
        bool, typer.Option("--topk", help="Then stream two top-k queries too: most delayed flights, largest trades.")
    ] = False,
    emd: Annotated[
        bool, typer.Option("--emd", help="Then join two films too: a clip, and its darker copy, which comes later.")
    ] = False,
    spatial: Annotated[
        bool,
        typer.Option("--spatial", help="Then join taxis too: with districts, and with taxis they meet; a map."),
    ] = False,
    start_s: Annotated[float, typer.Option(help="Seconds that Airflow may take to start.", min=1)] = 600.0,
    cluster: Annotated[bool, typer.Option("--cluster", help="Run it on a Spark cluster with two workers.")] = False,
    kafka: Annotated[
        bool, typer.Option("--kafka", help="Then stream from a topic to a topic too, of a Kafka broker that it starts.")
    ] = False,
) -> None:
    """Start Airflow and a driver host, stream the sample of flights, correct it, and check every answer."""
    from demo.walkthrough import demonstrate

    if not demonstrate(warehouse, bounded, game2, topk, emd, spatial, start_s, cluster, kafka):
        raise typer.Exit(1)
