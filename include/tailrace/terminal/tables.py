"""Tables on the terminal: the columns that fit its width, and a note of those that do not."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from io import StringIO
from textwrap import fill
from typing import Any

from rich import box
from rich.cells import cell_len
from rich.console import Console
from rich.table import Table

from tailrace.terminal.screen import out, plain

_WIDEST = 10_000
_WHOLE: Any = {"break_long_words": False, "break_on_hyphens": False}
_FRAME = 3  # of a column: two spaces and a line; the table has one line more


def print_table(
    columns: Sequence[str],
    rows: Sequence[Sequence[str]],
    wide: bool = False,
    note: str | None = None,
    title: str | None = None,
) -> None:
    """Print a table of texts; unless it is `wide`, of the columns that fit the terminal, the first one always."""
    if title is not None:
        out.print(title, markup=False, soft_wrap=True)
    places = range(len(columns)) if wide else _fitting(columns, rows, out.width)
    shown = [columns[place] for place in places]
    print(_text(shown, [[row[place] for place in places] for row in rows], _WIDEST if wide else out.width), end="")
    if note is not None:
        out.print(note, markup=False, soft_wrap=True)
    if len(shown) < len(columns):
        left_out = [name for place, name in enumerate(columns) if place not in places]
        out.print(f"--wide shows also {', '.join(left_out)}", markup=False)


def print_named_texts(texts: Mapping[str, str]) -> None:
    """Print texts beside their names; a text that is wider than the terminal goes on below itself."""
    width = max(map(cell_len, texts), default=0) + 2
    for name, text in texts.items():
        indent = " " * (width - cell_len(name))
        print(fill(text, out.width, initial_indent=name + indent, subsequent_indent=" " * width, **_WHOLE))


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


def _fitting(columns: Sequence[str], rows: Sequence[Sequence[str]], width: int) -> list[int]:
    """The places of the columns that fit a width: each that still does, in their order."""
    left, places = width - 1, list[int]()
    for place, name in enumerate(columns):
        texts = [name, *(row[place] for row in rows)]
        taken = max(cell_len(line) for text in texts for line in text.splitlines() or [""]) + _FRAME
        if taken <= left or not places:
            left -= taken
            places.append(place)
    return places
