"""What the demonstration says."""

from __future__ import annotations

import time
from pathlib import Path

import pandas as pd
from rich.table import Table

from tailrace import show
from tailrace.duration import format_duration, format_time
from tailrace.orchestration.embedded_airflow import USER, EmbeddedAirflow
from tailrace.query import Query
from tailrace.spark.status import Status

FLIGHTS = Path("include/queries/flights.yaml")


def line(said: Status) -> str:
    """How the stream stands, on a line."""
    parts = [
        f"{said.state:<9}",
        f"{said.batches:>3} batches",
        f"{said.rows:>7,} rows",
        f"lag {said.rows_left:>6,}",
        f"t_max {'–' if said.t_max is None else format_time(said.t_max)}",
        f"K {'–' if said.k_ms is None else format_duration(said.k_ms)}",
        f"coverage {'–' if said.coverage is None else format(said.coverage, '.2%')}",
        f"answers {said.answers:>6,}",
        f"late {said.late:>5,}",
    ]
    return "  ".join(parts)


def summary(query: Query, streamed: pd.DataFrame, corrected: pd.DataFrame, rights: list[float], windows: int) -> Table:
    """The table of the two versions beside each other."""
    waits = (streamed["as_of"] - streamed["window_end"]).mean()
    table = Table("", "as streamed", "after correction", title=f"{query.name}: {windows:,} windows")
    table.add_row("answers", f"{len(streamed):,}", f"{len(corrected):,}")
    table.add_row("windows right", *(f"{share:.2%}" if share < 1 else "[bold green]100 %[/]" for share in rights))
    table.add_row("mean coverage", f"{streamed['coverage'].mean():.2%}", f"{corrected['coverage'].mean():.2%}")
    table.add_row("K, the slack", format_duration(int(streamed["k_ms"].max())), "")
    table.add_row("mean latency, in stream time", format_duration(round(waits / 60_000) * 60_000), "")
    return table


def look_around(name: str, home: Path, airflow: EmbeddedAirflow) -> None:
    """Say where to click, and wait for Ctrl-C."""
    show.out.print(
        f"""
Now look around: [bold]{airflow.url}[/] , user [bold]{USER}[/], password [bold]{airflow.password}[/]
  stream_{name}   the log of its task supervise tells how the stream stands. Mark the run as a success: it drains
  correct_{name}  trigger it by hand for a range of event time. The scheduled run waits: 2013 has not come so far
In another shell:
  . {home}/env.sh
  tailrace status {name}
  tailrace results {FLIGHTS} --warehouse {home}/tables
[bold]Ctrl-C[/] ends all of it.""",
        soft_wrap=True,
    )
    while True:
        time.sleep(3600)
