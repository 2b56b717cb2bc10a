"""The commands that take no query: demo, bench, schema."""

from __future__ import annotations

from enum import StrEnum
from importlib import import_module
from json import dumps
from pathlib import Path
from typing import Annotated

import typer

from tailrace.cli.checkout import require_checkout
from tailrace.cli.local_paths import local_path
from tailrace.cli.readers import Output, Wide
from tailrace.ground.errors import refuse
from tailrace.terminal import screen
from tailrace.terminal.output_file import open_output

_FEWEST_ROWS = 10_000  # of a measurement of joins: 10 s of both streams of histograms


class System(StrEnum):
    aggregate = "aggregate"
    topk = "topk"
    emd = "emd"
    spatial = "spatial"
    kafka = "kafka"


_SEPARATE_SYSTEMS = (System.emd, System.spatial, System.kafka)
"""Systems with tables of their own: joins, which have no counterpart among Spark's windows, and topics."""


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
) -> None:
    """Start Airflow and a driver host, stream the sample of flights, correct it, and check every answer.

    It runs in a checkout of the repository: what it streams is not installed with the package.
    """
    require_checkout("demo", "demo", "generators")
    from tailrace.demo.walkthrough import demonstrate

    if not demonstrate(warehouse, bounded, game2, topk, emd, spatial, start_s, cluster):
        raise typer.Exit(1)


def bench(
    system: Annotated[System, typer.Argument(help="What is measured.")],
    rows: Annotated[
        int, typer.Option(help="Rows of a case; those that take long have an eighth or a sixteenth.", min=1)
    ] = 16_000_000,
    files: Annotated[int, typer.Option(help="Files, each a batch at most; emd and spatial have their own.", min=2)] = 4,
    rounds: Annotated[int, typer.Option(help="Rounds that count; one more is dropped.", min=1)] = 5,
    case: Annotated[list[str] | None, typer.Option(help="A part of a case's name: dense, 60/5.")] = None,
    flink: Annotated[
        Path | None,
        typer.Option(
            help="Beside them Flink's windows, in an environment of its own (1 GB) made here.",
            metavar="DIR",
            callback=local_path,
        ),
    ] = None,
    sedona: Annotated[
        Path | None,
        typer.Option(
            help="Beside spatial's join with a table Apache Sedona's, in an environment of its own (0.6 GB) made here.",
            metavar="DIR",
            callback=local_path,
        ),
    ] = None,
    report: Annotated[
        Path | None,
        typer.Option(
            help="Measure the paper's experiments too; tables and plots go here.", metavar="DIR", callback=local_path
        ),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Every pass and the summary as JSON.")] = False,
    wide: Wide = False,
) -> None:
    """Measure side by side: ours, Spark's own windows, a pass-through without state and, where asked for, Flink.

    Joins (emd, spatial) have no counterpart there: their speed is measured in process and on Spark. kafka
    measures topics of a broker that it starts, beside Spark's Kafka connector. It runs in a checkout of the repository.
    """
    require_checkout("bench", "bench", "generators")
    from tailrace.bench import side_by_side
    from tailrace.bench.screen_tables import print_tables
    from tailrace.bench.workloads import CASES

    if system in _SEPARATE_SYSTEMS:
        _check_own(rows, case, flink)
    if sedona is not None and system is not System.spatial:
        raise refuse("--sedona", f"it joins points with polygons, which {system.value} does not", "none, or spatial")
    cases = CASES.get(system.value, ())
    for part in case or []:
        if not any(part in workload.name for workload in cases):
            remedy = ", ".join(workload.name for workload in cases)
            raise refuse(f"--case {part}", f"it is a part of no case's name of {system.value}", remedy)

    def tell(line: str) -> None:
        screen.err.print(line, soft_wrap=True)

    if report is not None:
        from tailrace.bench.page import Effort

        if system is System.kafka:
            raise refuse("--report", "there is no paper about topics", "none")
        if case or json:
            raise refuse("--report", "it measures its own cases, and writes JSON itself", "no --case and no --json")
        write_report = import_module(f"tailrace.bench.{system.value}.report").report
        screen.err.print(f"written: {write_report(report, Effort(rows, files, rounds, flink, sedona), tell)}")
        return
    if system in _SEPARATE_SYSTEMS:
        from tailrace.bench.page import Effort

        speeds = import_module(f"tailrace.bench.{system.value}.report").speeds
        tables = speeds(Effort(rows, files, rounds, sedona=sedona), tell)
        if json:
            print(dumps(tables, indent=1))
        else:
            print_tables({name.replace("_", " "): table for name, table in tables.items()}, wide)
        return
    selection = [workload for workload in cases if any(part in workload.name for part in case or [""])]
    measurements = side_by_side.bench(rows, files, rounds, selection, tell, flink)
    if json:
        print(side_by_side.as_json(measurements))
    else:
        print_tables(side_by_side.tables(side_by_side.summary(measurements)), wide)


def _check_own(rows: int, case: list[str] | None, flink: Path | None) -> None:
    """Refuse options that a measurement with tables of its own has no use for, and too few rows.

    Raises
    ------
    Refused
        With what would be right.
    """
    for option, value in {"--case": case, "--flink": flink}.items():
        if value:
            raise refuse(option, "it is for windows beside other engines", "none")
    if rows < _FEWEST_ROWS:
        raise refuse(f"--rows {rows}", "that is too short for plans to follow the load", f"{_FEWEST_ROWS} or more")


def schema(
    output: Output = None,
) -> None:
    """Print the JSON Schema of query files: an editor completes and checks them with it."""
    from tailrace.query.json_schema import json_schema

    text = dumps(json_schema(), indent=2, ensure_ascii=False)
    if output is None:
        print(text)
        return
    with open_output(output) as file:
        file.write(f"{text}\n".encode())
