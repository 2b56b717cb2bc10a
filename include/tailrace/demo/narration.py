"""The texts that the demonstration prints."""

from __future__ import annotations

import time
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
from rich.table import Table

from tailrace.demo.comparison import Comparison
from tailrace.ground.duration import format_duration, format_time
from tailrace.ground.words import counted
from tailrace.kinds import build
from tailrace.orchestration.embedded_airflow import USER, EmbeddedAirflow
from tailrace.query.query import Query
from tailrace.storage.status import Status
from tailrace.terminal import screen

_MINUTE_MS = 60_000


def line(status: Status, corrections: int | None = None) -> str:
    """One line on the progress of the stream, with the number of automatic corrections if it is given."""
    parts = [
        f"{status.state:<9}",
        f"{counted(status.batches, 'batch', 'batches'):>11}",
        f"{status.rows:>7,} rows",
        f"lag {status.rows_left:>6,}",
        f"t_max {'–' if status.t_max is None else format_time(status.t_max)}",
        f"K {'–' if status.k_ms is None else format_duration(status.k_ms)}",
        f"coverage {'–' if status.coverage is None else format(status.coverage, '.2%')}",
        f"answers {status.answers:>6,}",
        f"late {status.late:>5,}",
    ]
    if corrections is not None:
        parts.append(f"corrections {corrections:>2}")
    return "  ".join(parts)


def summary(query: Query, streamed: pa.Table, corrected: pa.Table | None, comparison: Comparison) -> Table:
    """The table that compares the answers as streamed and as corrected, if they can be, with the truth."""
    model, versions = build(query).answers, [streamed] if corrected is None else [streamed, corrected]
    first = model.once(streamed)
    latency_ms = (first["as_of"].to_numpy() - model.horizon(first)).mean()
    columns = ["as streamed", "after correction"][: len(versions)]
    table = Table("", *columns, title=f"{query.name}: {comparison.truth}")
    table.add_row("answers", *(f"{model.once(answers).num_rows:,}" for answers in versions))
    for label, shares in comparison.shares.items():
        table.add_row(label, *(f"{share:.2%}" if share < 1 else "[bold green]100 %[/]" for share in shares))
    if model.can_lack_tuples:
        coverages = (pc.mean(answers["coverage"]).as_py() for answers in versions)
        table.add_row("mean coverage", *(f"{coverage:.2%}" for coverage in coverages))
    if query.has_late_tuples:
        least, most, mean = (of(streamed["k_ms"]).as_py() for of in (pc.min, pc.max, pc.mean))
        k = _round(most) if least == most else f"{_round(mean)} on average, {_round(most)} at most"
        table.add_row("K, the slack", k)
    table.add_row("mean latency, in stream time", _round(latency_ms))
    return table


def _round(length_ms: float) -> str:
    """Format a duration, rounded to minutes if it is at least one, else to milliseconds."""
    unit = _MINUTE_MS if length_ms >= _MINUTE_MS else 1
    return format_duration(round(length_ms / unit) * unit)


def look_around(files: list[Path], home: Path, airflow: EmbeddedAirflow) -> None:
    """Print what there is to see and where, and wait for Ctrl-C; each file is a query's, and has its name."""
    names = [file.stem for file in files]
    status = "\n".join(f"  tailrace status {name}" for name in names)
    results = "\n".join(f"  tailrace results {file} --warehouse {home}/tables" for file in files)
    screen.out.print(
        f"""
Now look around: [bold]{airflow.url}[/] , user [bold]{USER}[/], password [bold]{airflow.password}[/]
  stream_…   the log of its task supervise tells how the stream stands. Mark the run as a success: it drains
  correct_…  trigger it by hand for a range of event time. The scheduled run waits: the stream has not come so far
In another shell:
  . {home}/env.sh
{status}
{results}
[bold]Ctrl-C[/] ends all of it.""",
        soft_wrap=True,
    )
    while True:
        time.sleep(3600)
