"""What people see in the terminal: progress while a stream runs, tables of answers, refusals."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
from pyarrow import csv
from rich.console import Console
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn
from rich.table import Table

from tailrace.ground.duration import format_duration, format_time
from tailrace.ground.errors import Refused, refuse

out, err = Console(highlight=False), Console(stderr=True, highlight=False)


def refusal(refused: Refused) -> None:
    """Each problem: where, what is wrong, what would be right."""
    for problem in refused.problems:
        err.print(f"[bold red]refused[/] {_plain(str(problem))}", soft_wrap=True)


@contextmanager
def working(what: str) -> Iterator[None]:
    """A sign of life while something of unknown length goes on."""
    if not err.is_terminal:
        err.print(what)
        yield
        return
    with err.status(what):
        yield


class StreamProgress:
    """A line for each batch, and a bar of the rows still to come."""

    def __init__(self) -> None:
        bar = BarColumn(), TextColumn("{task.completed:,} of {task.total:,} rows"), TimeElapsedColumn()
        self._bar = Progress(SpinnerColumn(), TextColumn("{task.description}"), *bar, console=err)
        self._task = self._bar.add_task("starting Spark", total=0)
        self._read = 0

    def __enter__(self) -> StreamProgress:
        if err.is_terminal:
            self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def __call__(self, batch: int, rows_left: int, written: dict[str, pa.Table]) -> None:
        metrics = written["metrics"].to_pandas()
        now, sums = metrics.iloc[-1], metrics[["rows", "answers", "late"]].sum()
        self._read += int(sums["rows"])
        self._bar.update(self._task, total=self._read + rows_left, completed=self._read, description="streaming")
        parts = [
            f"batch {batch:>4}",
            f"rows {sums['rows']:>9,}",
            "t_max –" if pd.isna(now["t_max"]) else f"t_max {now['t_max']:%Y-%m-%d %H:%M:%S}",
            f"K {format_duration(int(now['k_ms'])):>8}",
            "coverage –" if pd.isna(now["coverage"]) else f"coverage {now['coverage']:>7.2%}",
            f"answers {sums['answers']:>7,}",
            f"late {sums['late']:>6,}",
        ]
        if "quarantine" in written:
            parts.append(f"quarantined {written['quarantine'].num_rows:,}")
        self._bar.console.print("  ".join(parts), soft_wrap=True)


def answers(frame: pd.DataFrame, columns: list[str], form: str, output: Path | None, limit: int) -> None:
    """Give answers in one of four forms: table, csv, jsonl, parquet; times as UTC timestamps in ms."""
    rows = pa.Table.from_pandas(frame[columns], preserve_index=False)
    if form == "parquet":
        if output is None:
            raise refuse("--output", "Parquet can't go to the terminal", "--output FILE.parquet")
        for name in _times(columns):
            place = rows.schema.get_field_index(name)
            rows = rows.set_column(place, name, rows.column(name).cast(pa.int64()).cast(pa.timestamp("ms", "UTC")))
        with _whole(output) as new:
            pq.write_table(rows, new)
        return
    text = frame[columns].assign(**{name: [format_time(ms) for ms in frame[name]] for name in _times(columns)})
    if form == "table" and output is None:
        out.print(_table(text, limit))
        return
    if form == "csv":
        sink = pa.BufferOutputStream()
        csv.write_csv(pa.Table.from_pandas(text, preserve_index=False), sink)
        body = sink.getvalue().to_pybytes().decode()
    elif form == "jsonl":
        body = text.to_json(orient="records", lines=True, double_precision=15) if len(text) else ""
    else:
        with Console(record=True, file=open("/dev/null", "w"), width=200) as paper:
            paper.print(_table(text, len(text)))
            body = paper.export_text()
    if output is None:
        print(body, end="")
    else:
        with _whole(output) as new:
            new.write_text(body)


@contextmanager
def _whole(output: Path) -> Iterator[Path]:
    """A file that appears whole or not at all."""
    if output.is_dir() or not output.name:
        raise refuse(f"--output {output}", "it is a directory", "the name of a file")
    if not output.parent.is_dir():
        raise refuse(
            f"--output {output}", f"there is no directory {output.parent}", "a file in a directory that exists"
        )
    new = output.with_name(f".{output.name}.new")
    try:
        yield new
        new.rename(output)
    finally:
        new.unlink(missing_ok=True)


def _table(text: pd.DataFrame, limit: int) -> Table:
    cut = f"the first {limit:,} of {len(text):,}; --limit or --format gives more" if len(text) > limit else None
    table = Table(*text.columns, caption=cut)
    for row in text.head(limit).itertuples(index=False):
        table.add_row(*map(_cell, row))
    return table


def _cell(value: Any) -> str:
    if pd.isna(value):
        return "–"
    return f"{value:.6g}" if isinstance(value, float) else _plain(str(value))


def _times(columns: list[str]) -> list[str]:
    return [name for name in columns if name in ("window_start", "window_end", "as_of", "bucket_start", "bucket_end")]


def _plain(text: str) -> str:
    """The text as it is: what looks like markup in it is not."""
    return text.replace("[", r"\[")
