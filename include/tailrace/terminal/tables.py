"""Tables on the terminal: the columns that fit its width, and a note of those that do not."""

from __future__ import annotations

from collections.abc import Sequence
from io import StringIO

from rich import box
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table

from tailrace.terminal.screen import out, plain

_WIDEST = 10_000
_FRAME = 3  # of a column: two spaces and a line; the table has one line more


def print_table(
    columns: Sequence[str], rows: Sequence[Sequence[str]], wide: bool = False, note: str | None = None
) -> None:
    """Print a table of texts; unless it is `wide`, of the first columns that fit the terminal, one at least."""
    count = len(columns) if wide else _fitting(columns, rows, out.width)
    print(_text(columns[:count], [row[:count] for row in rows], _WIDEST if wide else out.width), end="")
    if note is not None:
        out.print(note, markup=False, soft_wrap=True)
    if count < len(columns):
        out.print(f"--wide shows also {', '.join(columns[count:])}", markup=False, soft_wrap=True)


def table_text(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A table of texts with all its columns, in as many characters as they take."""
    return _text(columns, rows, _WIDEST)


def _text(columns: Sequence[str], rows: Sequence[Sequence[str]], width: int) -> str:
    recorder = Console(file=StringIO(), width=width, highlight=False)
    table = Table(*map(plain, columns), box=box.HEAVY_HEAD)
    for row in rows:
        table.add_row(*map(plain, row))
    with recorder.capture() as captured:
        recorder.print(table)
    return captured.get()


def _fitting(columns: Sequence[str], rows: Sequence[Sequence[str]], width: int) -> int:
    """The number of leading columns that fit a width."""
    left = width - 1
    for count, name in enumerate(columns):
        texts = [name, *(row[count] for row in rows)]
        left -= max(cell_len(line) for text in texts for line in text.splitlines() or [""]) + _FRAME
        if left < 0:
            return max(count, 1)
    return len(columns)
