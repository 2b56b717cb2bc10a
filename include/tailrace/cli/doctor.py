"""The command that checks the machine, and the things that a query file names, with remedies."""

from __future__ import annotations

from json import dumps
from pathlib import Path
from typing import Annotated

import typer

from tailrace.cli.local_paths import local_path
from tailrace.terminal import screen

_COLOURS = {"ok": "green", "warning": "yellow", "fault": "red"}


def doctor(
    file: Annotated[
        Path | None, typer.Argument(help="A query file: check what it names, too.", metavar="FILE", callback=local_path)
    ] = None,
    warehouse: Annotated[
        str | None, typer.Option(help="The directory or URL that holds the tables.", envvar="TAILRACE_WAREHOUSE")
    ] = None,
    json: Annotated[bool, typer.Option("--json", help="The findings as JSON.")] = False,
    limit: Annotated[float, typer.Option(help="Seconds that all checks may take.", min=0.1)] = 20.0,
) -> None:
    """Check Java, memory, disk, packages, ports, connections and folders; exit code 1 if there is a fault.

    A warning is for what some commands need alone: without Java, --engine local runs. Secrets are never shown.
    """
    from tailrace.advice.checks import CheckStatus, run_checks
    from tailrace.advice.machine_checks import machine_checks
    from tailrace.advice.package_checks import package_checks

    checks = [*machine_checks(warehouse), *package_checks()]
    if file is not None:
        from tailrace.advice.query_checks import query_checks

        checks += query_checks(file)
    findings = run_checks(checks, limit)
    if json:
        print(dumps([finding.to_json() for finding in findings], indent=2))
    else:
        for finding in findings:
            colour = _COLOURS[finding.status.value]
            head, rest = finding.line().split(" ", 1)
            screen.out.print(f"[{colour}]{head}[/] {screen.plain(rest)}", soft_wrap=True)
    faults = sum(finding.status is CheckStatus.fault for finding in findings)
    if faults:
        raise typer.Exit(1)
