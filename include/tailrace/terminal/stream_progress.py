"""The progress of a stream on the terminal: a line for each batch, and a progress bar."""

from __future__ import annotations

import pyarrow as pa
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from tailrace.ground.words import counted
from tailrace.terminal.progress_table import ProgressTable
from tailrace.terminal.screen import err

_WIDTHS = {"batch": 5, "rows": 9, "t_max": 19, "K s": 8, "coverage": 8, "answers": 8, "late": 7}


class StreamProgress:
    """Prints a line for each batch, and shows a progress bar of the rows still to come."""

    def __init__(self) -> None:
        bar = BarColumn(), TextColumn("{task.completed:,} of {task.total:,} rows"), TimeElapsedColumn()
        self._bar = Progress(SpinnerColumn(), TextColumn("{task.description}"), *bar, console=err)
        self._task = self._bar.add_task("starting Spark", total=0)
        self._rows_read = 0
        self._table = ProgressTable(_WIDTHS, err.width)

    def __enter__(self) -> StreamProgress:
        if err.is_terminal:
            self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def __call__(self, batch: int, rows_left: int, written: dict[str, pa.Table]) -> None:
        metrics = written["metrics"].to_pylist()
        last, totals = metrics[-1], {name: sum(row[name] for row in metrics) for name in ("rows", "answers", "late")}
        self._rows_read += totals["rows"]
        self._bar.update(
            self._task, total=self._rows_read + rows_left, completed=self._rows_read, description="streaming"
        )
        texts = {name: f"{total:,}" for name, total in totals.items()} | {
            "batch": str(batch),
            "t_max": "–" if last["t_max"] is None else f"{last['t_max']:%Y-%m-%d %H:%M:%S}",
            "K s": f"{last['k_ms'] / 1000:g}",
            "coverage": "–" if last["coverage"] is None else f"{last['coverage']:.2%}",
        }
        for line in self._table.lines(texts):
            self._bar.console.print(line, markup=False, soft_wrap=True)
        if filtered := sum(row.get("filtered") or 0 for row in metrics):
            self._bar.console.print(f"       {counted(filtered, 'row')} filtered")
        if "quarantine" in written:
            self._bar.console.print(f"       {counted(written['quarantine'].num_rows, 'row')} quarantined")
