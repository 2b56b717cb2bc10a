"""The progress of a stream on the terminal: a line for each batch, and a progress bar."""

from __future__ import annotations

import pyarrow as pa
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from tailrace.terminal.screen import err


class StreamProgress:
    """Prints a line for each batch, and shows a progress bar of the rows still to come."""

    def __init__(self) -> None:
        bar = BarColumn(), TextColumn("{task.completed:,} of {task.total:,} rows"), TimeElapsedColumn()
        self._bar = Progress(SpinnerColumn(), TextColumn("{task.description}"), *bar, console=err)
        self._task = self._bar.add_task("starting Spark", total=0)
        self._rows_read = 0

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
        parts = [
            f"batch {batch:>4}",
            f"rows {totals['rows']:>9,}",
            "t_max –" if last["t_max"] is None else f"t_max {last['t_max']:%Y-%m-%d %H:%M:%S}",
            f"K {last['k_ms'] / 1000:>9,g} s",
            "coverage –" if last["coverage"] is None else f"coverage {last['coverage']:>7.2%}",
            f"answers {totals['answers']:>7,}",
            f"late {totals['late']:>6,}",
        ]
        if "quarantine" in written:
            parts.append(f"quarantined {written['quarantine'].num_rows:,}")
        self._bar.console.print("  ".join(parts), soft_wrap=True)
