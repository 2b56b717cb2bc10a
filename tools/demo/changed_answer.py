"""Finds the answer to look at first: the one whose number late tuples changed most."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

from tailrace.ground.duration import format_time
from tailrace.panels import answer, answers
from tailrace.panels.answer import AnswerRequest
from tailrace.panels.answers import AnswerRow, AnswersRequest
from tailrace.panels.cells import ShownColumn
from tailrace.panels.query_view import QueryView

_LOOKED_AT = 1000  # of the newest answers
_MINUTES = len("2013-01-01T00:00")


class ChangedAnswer(NamedTuple):
    """An answer that a correction changed: its id in addresses, and a text with its old and new value, and why."""

    id: str
    text: str


class _Change(NamedTuple):
    """A number of an answer, as streamed and in the latest version."""

    row: AnswerRow
    name: str
    before: float
    after: float


def changed_answer(view: QueryView) -> ChangedAnswer | None:
    """Return the one of the newest answers whose number changed most; None where none of them has changed."""
    listed = answers.read(view, AnswersRequest(limit=_LOOKED_AT))
    changes = [change for row in listed.rows if row.is_changed for change in _changes(row, listed.columns)]
    if not changes:
        return None
    most = max(changes, key=lambda change: abs(change.after - change.before))
    shown = answer.read(view, AnswerRequest(id=most.row.id))
    if not shown.late_total:  # a repeat of an id changed it
        return None
    names = [head.name for head in listed.columns]
    cells = dict(zip(names, most.row.latest or [], strict=True))
    late = "the tuple" if shown.late_total == 1 else f"the {shown.late_total:,} tuples"
    number = f"{most.name} was {most.before:,.4g} and is {most.after:,.4g}"
    return ChangedAnswer(most.row.id, f"{_window(cells)}: {number}, for {late} that came late")


def _changes(row: AnswerRow, columns: list[ShownColumn]) -> Iterator[_Change]:
    for head, before, after in zip(columns, row.streamed or [], row.latest or [], strict=False):
        if head.type == "number" and isinstance(before, int | float) and isinstance(after, int | float):
            yield _Change(row, head.name, before, after)


def _window(cells: dict[str, Any]) -> str:
    """Return the key and the window of an answer in words, as far as it has them."""
    times = [format_time(cells[name])[:_MINUTES] for name in ("window_start", "window_end") if name in cells]
    return ", ".join([*([str(cells["key"])] if cells.get("key") else []), *([" to ".join(times)] if times else [])])
