"""The last lines of the command `run`: what the run accepted, what it rejected and why, and what waits."""

from __future__ import annotations

import typer

from tailrace.ground.words import counted
from tailrace.query.query import Query
from tailrace.storage.layout import Layout
from tailrace.storage.progress import held_back
from tailrace.stream.run_summary import RunSummary
from tailrace.terminal import screen


def print_summary(summary: RunSummary, query: Query, layout: Layout) -> None:
    """Print the summary of a run, and how many rows an open tick holds back; a join with a table holds back none."""
    lines = [*summary.lines()]
    if query.has_late_tuples and (held := held_back(layout)):
        wait = "wait in an open tick: it is complete when more comes, or at the end of a run without --keep-open"
        lines.append(f"{counted(held, 'row')} {wait}")
    for line in lines:
        screen.err.print(line, markup=False, soft_wrap=True)


def fail_if_none_was_accepted(summary: RunSummary) -> None:
    """End the command with 1 where a run has accepted none of the records that it read."""
    if summary.failed:
        screen.err.print("[bold red]failed[/] none of the records that were read was accepted")
        raise typer.Exit(1)
