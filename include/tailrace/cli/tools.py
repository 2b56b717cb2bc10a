"""The commands that take no query: demo, bench, schema."""

from __future__ import annotations

from enum import StrEnum
from importlib import import_module
from json import dumps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tailrace.cli.arguments import Output, Wide
from tailrace.cli.checkout import require_checkout
from tailrace.cli.local_paths import local_path
from tailrace.ground.errors import refuse
from tailrace.terminal import screen
from tailrace.terminal.output_file import open_output

if TYPE_CHECKING:
    from tailrace.bench.report import Effort
    from tailrace.bench.workloads import Case

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
    kafka: Annotated[
        bool, typer.Option("--kafka", help="Then stream from a topic to a topic too, of a Kafka broker that it starts.")
    ] = False,
) -> None:
    """Start Airflow and a driver host, stream the sample of flights, correct it, and check every answer.

    It runs in a checkout of the repository: the sample is not installed with the package.
    """
    require_checkout("demo", "demo", "generators")
    from tailrace.demo.walkthrough import demonstrate

    if not demonstrate(warehouse, bounded, game2, topk, emd, spatial, start_s, cluster, kafka):
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
    only: Annotated[
        list[str] | None,
        typer.Option(help="Of the report this part alone; the others stay as they are: speed.", metavar="PART"),
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="Every pass and the summary as JSON.")] = False,
    wide: Wide = False,
) -> None:
    """Measure side by side: ours, Spark's own windows, a pass-through without state and, where asked for, Flink.

    Joins (emd, spatial) have no counterpart there: their speed is measured in process and on Spark. kafka
    measures topics of a broker that it starts, beside Spark's Kafka connector. It runs in a checkout of the repository.
    """
    require_checkout("bench", "bench", "generators")
    from tailrace.bench.report import Effort

    if system in _SEPARATE_SYSTEMS:
        _check_own(rows, case, flink)
    if sedona is not None and system is not System.spatial:
        raise refuse("--sedona", f"it joins points with polygons, which {system.value} does not", "none, or spatial")
    selection = _selected(system, case or [])
    _check_report(system, report, only, bool(case or json))
    effort = Effort(rows, files, rounds, flink, sedona)
    if report is not None:
        of_paper = import_module(f"tailrace.bench.{system.value}.report").REPORT
        screen.err.print(f"written: {of_paper.write(report, effort, _echo, only or ())}")
    elif system in _SEPARATE_SYSTEMS:
        _measure_own(system, effort, json, wide)
    else:
        _measure_beside_others(selection, effort, json, wide)


def _selected(system: System, parts: list[str]) -> list[Case]:
    """Return the cases of a system whose names have one of the parts; without parts, all.

    Raises
    ------
    Refused
        When no name has a part.
    """
    from tailrace.bench.workloads import CASES

    cases = CASES.get(system.value, ())
    for part in parts:
        if not any(part in each.name for each in cases):
            remedy = ", ".join(each.name for each in cases)
            raise refuse(f"--case {part}", f"it is a part of no case's name of {system.value}", remedy)
    return [each for each in cases if any(part in each.name for part in parts or [""])]


def _measure_own(system: System, effort: Effort, json: bool, wide: bool) -> None:
    """Measure a system that has tables of its own, and print them."""
    from tailrace.bench.screen_tables import print_tables

    tables = import_module(f"tailrace.bench.{system.value}.report").speeds(effort, _echo)
    if json:
        print(dumps(tables, indent=1))
    else:
        print_tables({name.replace("_", " "): table for name, table in tables.items()}, wide)


def _measure_beside_others(selection: list[Case], effort: Effort, json: bool, wide: bool) -> None:
    """Measure windows beside other engines, and print every pass or a summary."""
    from tailrace.bench import side_by_side
    from tailrace.bench.screen_tables import print_tables

    measurements = side_by_side.bench(effort.rows, effort.files, effort.rounds, selection, _echo, effort.flink)
    if json:
        print(side_by_side.as_json(measurements))
    else:
        print_tables(side_by_side.tables(side_by_side.summary(measurements)), wide)


def _check_report(system: System, report: Path | None, only: list[str] | None, has_own_output: bool) -> None:
    """Refuse a report that there is none of, and options that do not go with it.

    Raises
    ------
    Refused
        With what would be right.
    """
    if report is None:
        if only:
            raise refuse("--only", "it is for parts of a report", "--report DIR, too")
    elif system is System.kafka:
        raise refuse("--report", "there is no paper about topics", "none")
    elif has_own_output:
        raise refuse("--report", "it measures its own cases, and writes JSON itself", "no --case and no --json")


def _echo(line: str) -> None:
    screen.err.print(line, soft_wrap=True)


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
