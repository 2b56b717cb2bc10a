"""The progress of a stream on the terminal: a line for each batch, and a progress bar."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

import pyarrow as pa
from rich.cells import cell_len
from rich.progress import BarColumn, Progress, SpinnerColumn, TextColumn, TimeElapsedColumn

from tailrace.ground.words import counted
from tailrace.terminal.screen import err, work_begins

_WIDTHS = {"batch": 5, "rows": 9, "t_max": 20, "K s": 8, "coverage": 8, "answers": 8, "late": 7}


class ProgressPrinter:
    """Prints a line for each batch, and shows a progress bar of the remaining rows.

    Parameters
    ----------
    opening : callable, optional
        Returns the lines to print before the first batch; called once that batch is written.
    is_live : bool
        Whether the run waits for more records at the end.
    """

    def __init__(self, opening: Callable[[], Iterable[str]] = tuple, is_live: bool = False) -> None:
        self._opening, self._is_live = opening, is_live
        bar = BarColumn(), TextColumn("{task.completed:,} of {task.total:,} rows"), TimeElapsedColumn()
        self._bar = Progress(SpinnerColumn(), TextColumn("{task.description}"), *bar, console=err)
        self._task = self._bar.add_task("starting", total=0)
        self._rows_read = 0
        self._table = ProgressTable(_WIDTHS, err.width)

    def __enter__(self) -> ProgressPrinter:
        if err.is_terminal:
            self._bar.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._bar.stop()

    def __call__(self, batch: int, rows_left: int, written: dict[str, pa.Table]) -> None:
        work_begins()
        metrics = written["metrics"].to_pylist()
        last, totals = metrics[-1], {name: sum(row[name] for row in metrics) for name in ("rows", "answers", "late")}
        self._rows_read += totals["rows"]
        state = "waiting; Ctrl-C stops" if self._is_live and not rows_left else "streaming"
        self._bar.update(self._task, total=self._rows_read + rows_left, completed=self._rows_read, description=state)
        opening, self._opening = self._opening, tuple
        for line in opening():
            self._bar.console.print(line, markup=False, soft_wrap=True)
        texts = {name: f"{total:,}" for name, total in totals.items()} | {
            "batch": str(batch),
            "t_max": "–" if last["t_max"] is None else f"{last['t_max']:%Y-%m-%d %H:%M:%SZ}",
            "K s": f"{last['k_ms'] / 1000:g}",
            "coverage": "–" if last["coverage"] is None else f"{last['coverage']:.2%}",
        }
        for line in self._table.lines(texts):
            self._bar.console.print(line, markup=False, soft_wrap=True)
        unmatched = sum(written["segments"]["unmatched"].to_pylist()) if "segments" in written else 0
        if filtered := sum(row.get("filtered") or 0 for row in metrics) - unmatched:
            self._bar.console.print(f"       {counted(filtered, 'row')} filtered")
        if unmatched:
            self._bar.console.print(f"       {counted(unmatched, 'row')} without a row of a lookup")
        if "quarantine" in written:
            self._bar.console.print(f"       {counted(written['quarantine'].num_rows, 'row')} quarantined")


_GAP = "  "


class ProgressTable:
    """Formats lines of texts below their heads, right-aligned.

    Parameters
    ----------
    widths : dict
        The width of each column by its head. A wider text shifts the columns after it.
    width : int
        The width of the terminal. A column that does not fit is left out; later ones may still fit.
    """

    def __init__(self, widths: Mapping[str, int], width: int) -> None:
        self._widths = dict[str, int]()
        for head, least in widths.items():
            wanted = {**self._widths, head: max(least, cell_len(head))}
            if sum(wanted.values()) + len(_GAP) * (len(wanted) - 1) <= width:
                self._widths = wanted
        self._has_heads = False

    def lines(self, texts: Mapping[str, str]) -> list[str]:
        """Return the next line, given its texts by head; the first one is preceded by the heads."""
        heads = [] if self._has_heads else [self._line({head: head for head in self._widths})]
        self._has_heads = True
        return [*heads, self._line(texts)]

    def _line(self, texts: Mapping[str, str]) -> str:
        return _GAP.join(
            " " * (width - cell_len(texts[head])) + texts[head] for head, width in self._widths.items()
        ).rstrip()
