"""Tables on the terminal, with the columns that fit its width, and a note on the others."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from io import StringIO
from textwrap import fill
from typing import Any

from rich import box
from rich.cells import cell_len
from rich.console import Console, OverflowMethod
from rich.table import Column, Table

from tailrace.terminal.screen import out, plain, work_begins

_WIDEST = 10_000
_WHOLE: Any = {"break_long_words": False, "break_on_hyphens": False}
_FRAME = 3  # the extra width of a column: two spaces and a line; the table has one more line


def print_table(
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
    wide: bool = False,
    note: str | None = None,
    title: str | None = None,
    first: Sequence[str] | None = None,
) -> list[str]:
    """Print a table of texts; unless it is `wide`, with the columns that fit the terminal, always including one.

    Return the columns that it has.

    Parameters
    ----------
    first : sequence of str, optional
        The columns in order of precedence, if not all fit; by default from left to right.
    """
    work_begins()
    if title is not None:
        out.print(title, markup=False, soft_wrap=True)
    order = range(len(columns)) if first is None else [columns.index(name) for name in first]
    indices = range(len(columns)) if wide else _fitting(columns, rows, out.width, order)
    shown = [columns[index] for index in indices]
    print(_text(shown, [[row[index] for index in indices] for row in rows], _WIDEST if wide else out.width), end="")
    if note is not None:
        out.print(note, markup=False, soft_wrap=True)
    if len(shown) < len(columns):
        left_out = [name for index, name in enumerate(columns) if index not in indices]
        out.print(f"--wide shows also {', '.join(left_out)}", markup=False)
    return shown


def print_folded(columns: Sequence[str], rows: Sequence[Sequence[str]], note: str | None = None) -> None:
    """Print a table of texts with all its columns; a text that does not fit is wrapped."""
    work_begins()
    print(_text(columns, rows, out.width, overflow="fold"), end="")
    if note is not None:
        out.print(note, markup=False, soft_wrap=True)


def print_named_texts(texts: Mapping[str, str]) -> None:
    """Print texts beside their names; a text wider than the terminal is wrapped."""
    width = max(map(cell_len, texts), default=0) + 2
    for name, text in texts.items():
        indent = " " * (width - cell_len(name))
        print(fill(text, out.width, initial_indent=name + indent, subsequent_indent=" " * width, **_WHOLE))


def table_text(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table of texts with all its columns at their full widths."""
    return _text(columns, rows, _WIDEST)


def _text(
    columns: Sequence[str], rows: Sequence[Sequence[str]], width: int, overflow: OverflowMethod = "ellipsis"
) -> str:
    recorder = Console(file=StringIO(), width=width, highlight=False)
    table = Table(*(Column(plain(name), overflow=overflow) for name in columns), box=box.HEAVY_HEAD)
    for row in rows:
        table.add_row(*map(plain, row))
    with recorder.capture() as captured:
        recorder.print(table)
    return captured.get()


def _fitting(columns: Sequence[str], rows: Sequence[Sequence[str]], width: int, order: Iterable[int]) -> list[int]:
    """Return the indices of the columns that fit a width, taken in an order."""
    left, indices = width - 1, list[int]()
    for index in order:
        texts = [columns[index], *(row[index] for row in rows)]
        taken = max(cell_len(line) for text in texts for line in text.splitlines() or [""]) + _FRAME
        if taken <= left or not indices:
            left -= taken
            indices.append(index)
    return sorted(indices)
