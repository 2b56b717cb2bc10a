"""The demonstration: a query over its sample, streamed and corrected, and every answer held against the truth.

The truth is computed here in the plainest way, from the source's files alone, and shares no code with the platform.
"""

from __future__ import annotations

import shutil
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path

import pandas as pd
import pyarrow.parquet as pq
from rich.table import Table

from tailrace import show
from tailrace.duration import format_duration
from tailrace.errors import refuse
from tailrace.query import Query

Window = tuple[str | int | None, int, int]


def demonstrate(query: Query, warehouse: Path) -> bool:
    """Run, correct, compare, and show it; True when every corrected answer is right.

    Raises
    ------
    Refused
        When the query's source is not Parquet with arrival times: the demo's own truth reads nothing else.
    """
    from tailrace.spark import app
    from tailrace.spark.correct import correct
    from tailrace.spark.intake import Plan
    from tailrace.spark.results import read_answers

    stream = query.stream[1]
    if stream.source.format != "parquet" or stream.arrival_time is None:
        raise refuse("streams", "the demo needs Parquet with arrival times", "include/queries/flights.yaml")
    home, mark = warehouse / query.name, warehouse / query.name / ".demo"
    if home.exists() and not mark.exists():
        raise refuse(
            f"--warehouse {warehouse}", f"it holds tables of {query.name} that no demo made", "another directory"
        )
    shutil.rmtree(home, ignore_errors=True)
    home.mkdir(parents=True)
    mark.touch()
    show.err.rule(f"1 ∕ 3  [bold]{query.name}[/]: streaming {stream.source.path.name} in order of arrival")
    with show.StreamProgress() as progress:
        app.run(query, warehouse, Plan(batch_rows=6_000), progress)
    streamed, _ = read_answers(query, warehouse, streamed=True)
    show.err.rule("2 ∕ 3  correcting what came too late, from history")
    with show.working("correcting"):
        report = correct(query, warehouse)
    corrected, _ = read_answers(query, warehouse, streamed=False)
    show.err.rule("3 ∕ 3  holding every answer against the truth")
    true = truth(query)
    rights = [share_right(answers, true) for answers in (streamed, corrected)]
    show.out.print(_summary(query, streamed, corrected, rights, report.late, len(true)))
    show.out.print(
        f"Look at them: tailrace results include/queries/{query.name}.yaml --warehouse {warehouse}", soft_wrap=True
    )
    return rights[1] == 1 and len(corrected) == len(true)


def truth(query: Query) -> dict[Window, tuple[float, int]]:
    """Value and number of tuples of every window, tuple by tuple."""
    stream, size, slide = query.stream[1], query.window.size_ms, query.window.slide_ms
    sums: defaultdict[Window, float] = defaultdict(float)
    counts: defaultdict[Window, int] = defaultdict(int)
    table = pq.read_table(stream.source.path).to_pylist()
    for row in table:
        time = round(row[stream.event_time].timestamp() * 1000)
        key = row[stream.key] if stream.key else None
        number = row[query.aggregate.column] if query.aggregate.column else 0.0
        start = time // slide * slide
        while start > time - size:
            sums[key, start, start + size] += number
            counts[key, start, start + size] += 1
            start -= slide
    value: Callable[[Window], float] = {
        "sum": lambda window: sums[window],
        "count": lambda window: float(counts[window]),
        "avg": lambda window: sums[window] / counts[window],
    }[query.aggregate.function]
    return {window: (value(window), counts[window]) for window in sums}


def share_right(answers: pd.DataFrame, true: dict[Window, tuple[float, int]]) -> float:
    """The share of the true windows whose answer holds all their tuples and has their value."""
    right = 0
    for row in answers.itertuples():
        value, tuples = true.get((row.key, row.window_start, row.window_end), (float("nan"), 0))
        right += row.tuples == tuples and abs(row.value - value) <= 1e-9 * max(abs(value), 1.0)
    return right / len(true) if true else 1.0


def _summary(
    query: Query, streamed: pd.DataFrame, corrected: pd.DataFrame, rights: list[float], late: int, windows: int
) -> Table:
    waits = (streamed["as_of"] - streamed["window_end"]).mean()
    table = Table(
        "", "as streamed", "after correction", title=f"{query.name}: {windows:,} windows, {late:,} late tuples"
    )
    table.add_row("answers", f"{len(streamed):,}", f"{len(corrected):,}")
    table.add_row("windows right", *(f"{share:.2%}" if share < 1 else "[bold green]100 %[/]" for share in rights))
    table.add_row("mean coverage", f"{streamed['coverage'].mean():.2%}", f"{corrected['coverage'].mean():.2%}")
    table.add_row("K, the slack", format_duration(int(streamed["k_ms"].max())), "")
    table.add_row("mean latency, in stream time", format_duration(round(waits / 60_000) * 60_000), "")
    return table
