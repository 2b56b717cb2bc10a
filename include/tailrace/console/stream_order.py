"""The choice and order of the rows of the page Streams."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from tailrace.console.stream_rows import StreamRow
from tailrace.console.table_facts import TableFacts
from tailrace.ground.errors import refuse

_ILL_FIRST = ("bad", "broken promise", "warn", "good", "idle")
_PROMISES_ILL_FIRST = ("broken", "unknown", "kept")
_OF_SEVERAL = ("runs", "paused", "damaged", "recent", "note")  # nested parts of a row have no order
_OF_TABLES = TableFacts.model_fields.keys() - {"note", "numbers", "is_unreadable"}


@dataclass(frozen=True)
class Wanted:
    """The rows that a request wants; an empty text does not filter.

    Attributes
    ----------
    search : str
        A part of name, kind or state, ignoring case.
    state, kind, promise : str
        The word of the state, the kind of the query, the state of its promise.
    """

    search: str = ""
    state: str = ""
    kind: str = ""
    promise: str = ""

    def may_fit(self, row: StreamRow) -> bool:
        """Test whether a row fits, ignoring its promise, which is unknown before its tables are read."""
        return (
            self.search.lower() in f"{row.name} {row.kind} {row.state.word}".lower()
            and self.state in ("", row.state.word)
            and self.kind in ("", row.kind)
        )

    def fits(self, row: StreamRow) -> bool:
        """Test whether a row fits; a row with unread tables has no promise yet."""
        return self.may_fit(row) and self.promise in ("", None if row.promise is None else row.promise.state)


def ordered(rows: Iterable[StreamRow], sort: str) -> list[StreamRow]:
    """Return rows in the order of a column, descending after `-`.

    The worst states and promises come first, and ties are broken by name. Unknown values come last in both directions,
    followed by rows with unread tables.

    Raises
    ------
    Refused
        When there is no such column.
    """
    column = sort.removeprefix("-")
    if column not in StreamRow.model_fields or column in _OF_SEVERAL:
        raise refuse("sort", f"there is no order by {column[:100]}", "a column, as state, name or late_hour")

    def value(row: StreamRow) -> Any:
        return _VALUES[column](row) if column in _VALUES else getattr(row, column)

    by_name = sorted(rows, key=lambda row: row.name)
    known = sorted((row for row in by_name if value(row) is not None), key=value, reverse=sort.startswith("-"))
    unknown = [row for row in by_name if value(row) is None]
    return known + (sorted(unknown, key=lambda row: row.is_unread) if column in _OF_TABLES else unknown)


def is_ill(row: StreamRow) -> bool:
    """Test whether a row needs attention: by its state, a broken promise, a table, a failed run, or a paused DAG."""
    return _severity(row) not in ("good", "idle")


def _severity(row: StreamRow) -> str:
    if row.damaged:
        return "bad"
    is_broken = row.promise is not None and row.promise.state == "broken"
    if is_broken and row.state.tone != "bad":
        return "broken promise"
    is_lacking = row.is_unreadable or row.paused or any(run.tone == "warn" for run in row.runs)
    return "warn" if is_lacking and row.state.tone in ("good", "idle") else row.state.tone


_VALUES: dict[str, Callable[[StreamRow], Any]] = {
    "state": lambda row: _ILL_FIRST.index(_severity(row)),
    "promise": lambda row: None if row.promise is None else _PROMISES_ILL_FIRST.index(row.promise.state),
    "last_correction": lambda row: None if row.last_correction is None else row.last_correction.at,
}
