"""The columns that a source must have; if one is missing, the query's field with its name is refused."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path

from tailrace.expressions.expression import Expression
from tailrace.ground.errors import Problem, Unfit, refuse
from tailrace.ground.near_names import nearest
from tailrace.sources.columns import Columns
from tailrace.sources.object_files import ObjectFile


class MissingColumn(Unfit):
    """Raised when a source lacks a column of the query."""


class UnknownTypes(Unfit):
    """Raised when the records of a source don't show the types of the query's columns."""


def require(where: Path | ObjectFile | str, columns: Columns, present: Sequence[str]) -> None:
    """Refuse a file that lacks columns of the query, or has one twice.

    Raises
    ------
    MissingColumn
        With a problem for each column: its field in the query, the position in an expression, and the file.
    Refused
    """
    if problems := missing(where, columns, present):
        raise MissingColumn(problems)
    for name in columns.named().values():
        if present.count(name) > 1:
            raise refuse(str(where), f"it has the column {name} more than once", "a name for one column")


def missing(where: Path | ObjectFile | str, columns: Columns, present: Collection[str]) -> list[Problem]:
    """Return the problems of `require` about missing columns."""
    among, names = sorted(set(present)), columns.named()
    return [_problem(str(where), part, name, columns, among) for part, name in names.items() if name not in present]


def missing_optional(where: Path | str, columns: Columns, present: Collection[str]) -> list[Problem]:
    """Return the problems of columns that records may omit, but that no record has."""
    if not present:  # without any record
        return []
    names = {part: name for part, name in columns.named().items() if part in columns.free and name not in present}
    return [_problem(str(where), part, name, columns, sorted(present)) for part, name in names.items()]


def _problem(where: str, part: str, name: str, columns: Columns, present: Sequence[str]) -> Problem:
    """Return the problem of a missing column, with the remedy."""
    among = f"one of {', '.join(present)}"
    if part in columns.readers:
        reader = columns.readers[part].partition(":")[0]
        fault = f"it has no column {name!r}, which {reader} reads"
        remedy = nearest(name, [*present, *columns.added]) or among
        return Problem(_placed(columns.readers[part], where), fault, remedy)
    is_key = part in columns.lookup_keys
    if part not in columns.free or part in columns.carried or is_key or columns.projection is None:
        role = "a column of aggregate" if columns.finite and part in columns.carried else part
        role = "the key of a lookup" if is_key else role
        fault = f"it has no column {name!r}, which the query names as {role}"
        all_names = sorted({*present, *(columns.looked_up if is_key else columns.added)})
        near, among = nearest(name, all_names), f"one of {', '.join(all_names)}"
        if is_key and name in columns.derived:
            fault += ": an expression gives it, and lookups come before expressions"
        return Problem(_placed(columns.field_of(part), where), fault, among if near is None else f"{near}; {among}")
    reader, text, field = next(each for each in columns.expressions() if name in Expression(each[1]).columns)
    position = None if field is None else f"{field}: {Expression(text).position_of(name)}"
    if name in columns.derived:
        what = "itself" if name == reader else "what stands below it"
        fault = f"it has no column {name!r}, and the expression {reader} is recursive: it reads {what}"
        return Problem(_placed(position, where), fault, among)
    fault = f"it has no column {name!r}, which the expression {reader} reads"
    return Problem(_placed(position, where), fault, nearest(name, [*present, *columns.added]) or among)


def _placed(field: str | None, where: str) -> str:
    return where if field is None else f"{field}: {where}"
