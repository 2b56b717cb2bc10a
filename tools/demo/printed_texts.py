"""The texts that the demonstration prints."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.compute as pc
from rich.table import Table

from demo.comparison import Comparison
from tailrace.ground.duration import format_duration, format_time
from tailrace.kinds import build
from tailrace.query.query import Query
from tailrace.storage.status import Status
from tailrace.terminal.stream_progress import ProgressTable

_MINUTE_MS = 60_000
_SECONDS = len("2013-01-01T00:00:00")


def progress_table(width: int, counts_corrections: bool) -> ProgressTable:
    """Return the table of a stream's progress for a terminal, with its automatic corrections if it has any."""
    widths = {"state": 9, "batches": 7, "rows": 9, "to read": 7, "K s": 8, "coverage": 8}
    widths |= {"corrections": 11} if counts_corrections else {}
    return ProgressTable(widths | {"late": 6, "answers": 7, "t_max": 19}, width)


def texts(status: Status, corrections: int | None = None) -> dict[str, str]:
    """Return one line of that table, with the number of automatic corrections if given."""
    numbers = {"batches": status.batches, "rows": status.rows, "to read": status.rows_left, "late": status.late}
    numbers |= {"answers": status.answers} | ({} if corrections is None else {"corrections": corrections})
    return {name: f"{number:,}" for name, number in numbers.items()} | {
        "state": status.state,
        "t_max": "–" if status.t_max is None else format_time(status.t_max)[:_SECONDS],
        "K s": "–" if status.k_ms is None else f"{status.k_ms / 1000:g}",
        "coverage": "–" if status.coverage is None else f"{status.coverage:.2%}",
    }


def summary(query: Query, streamed: pa.Table, corrected: pa.Table | None, comparison: Comparison) -> Table:
    """Return the table that compares the answers, as streamed and as corrected if they can be, with the truth."""
    model, versions = build(query).answers, [streamed] if corrected is None else [streamed, corrected]
    first = model.first_rows(streamed)
    latency_ms = (first["as_of"].to_numpy() - model.horizon(first)).mean()
    columns = ["as streamed", "after correction"][: len(versions)]
    table = Table("", *columns, title=f"{query.name}: {comparison.truth}")
    table.add_row("answers", *(f"{model.first_rows(answers).num_rows:,}" for answers in versions))
    for label, shares in comparison.shares.items():
        table.add_row(label, *(f"{share:.2%}" if share < 1 else "[bold green]100 %[/]" for share in shares))
    if model.can_lack_tuples:
        coverages = (pc.mean(answers["coverage"]).as_py() for answers in versions)
        table.add_row("mean coverage", *(f"{coverage:.2%}" for coverage in coverages))
    if query.has_late_tuples:
        least, most, mean = (of(streamed["k_ms"]).as_py() for of in (pc.min, pc.max, pc.mean))
        if least == most:
            table.add_row("K, the slack", _round(most))
        else:
            table.add_row("K, the slack, on average", _round(mean))
            table.add_row("K at most", _round(most))
    table.add_row("mean latency, in stream time", _round(latency_ms))
    return table


def _round(length_ms: float) -> str:
    """Format a duration, rounded to minutes if it is at least one, else to milliseconds."""
    unit = _MINUTE_MS if length_ms >= _MINUTE_MS else 1
    return format_duration(round(length_ms / unit) * unit)
