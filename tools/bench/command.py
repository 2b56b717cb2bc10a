"""The command that measures tailrace beside other engines."""

from __future__ import annotations

from enum import StrEnum
from importlib import import_module
from json import dumps
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from tailrace.cli.arguments import Wide
from tailrace.cli.local_paths import local_path
from tailrace.ground.errors import refuse
from tailrace.terminal import screen

if TYPE_CHECKING:
    from bench.report import Effort
    from bench.workloads import Case

_FEWEST_ROWS = 10_000  # of a measurement of joins: 10 s of both streams of histograms


class System(StrEnum):
    aggregate = "aggregate"
    topk = "topk"
    emd = "emd"
    spatial = "spatial"
    kafka = "kafka"


_SEPARATE_SYSTEMS = (System.emd, System.spatial, System.kafka)
"""Systems with tables of their own: joins, which have no counterpart among Spark's windows, and topics."""


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
    measures topics of a broker that it starts, beside Spark's Kafka connector.
    """
    from bench.report import Effort

    if system in _SEPARATE_SYSTEMS:
        _check_own(rows, case, flink)
    if sedona is not None and system is not System.spatial:
        raise refuse("--sedona", f"it joins points with polygons, which {system.value} does not", "none, or spatial")
    selection = _selected(system, case or [])
    _check_report(system, report, only, bool(case or json))
    effort = Effort(rows, files, rounds, flink, sedona)
    if report is not None:
        of_paper = import_module(f"bench.{system.value}.report").REPORT
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
    from bench.workloads import CASES

    cases = CASES.get(system.value, ())
    for part in parts:
        if not any(part in each.name for each in cases):
            remedy = ", ".join(each.name for each in cases)
            raise refuse(f"--case {part}", f"it is a part of no case's name of {system.value}", remedy)
    return [each for each in cases if any(part in each.name for part in parts or [""])]


def _measure_own(system: System, effort: Effort, json: bool, wide: bool) -> None:
    """Measure a system that has tables of its own, and print them."""
    from bench.screen_tables import print_tables

    tables = import_module(f"bench.{system.value}.report").speeds(effort, _echo)
    if json:
        print(dumps(tables, indent=1))
    else:
        print_tables({name.replace("_", " "): table for name, table in tables.items()}, wide)


def _measure_beside_others(selection: list[Case], effort: Effort, json: bool, wide: bool) -> None:
    """Measure windows beside other engines, and print every pass or a summary."""
    from bench import side_by_side
    from bench.screen_tables import print_tables

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
