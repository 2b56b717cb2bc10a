"""The columns that a source must have; if one is missing, the query's field with its name is refused."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa

from tailrace.expressions.expression import Expression
from tailrace.expressions.written_names import written
from tailrace.ground.errors import Problem, Unfit, refuse
from tailrace.ground.near_names import nearest
from tailrace.sources.columns import SourceMapping
from tailrace.sources.discovery.object_files import ObjectFile

_MOST_SHOWN = 60
_KINDS: tuple[tuple[type, str], ...] = (
    (bool, "a boolean"),
    (int, "an integer"),
    (float, "a number with decimals"),
    (str, "a text"),
    (list, "a list"),
    (object, "an object"),
)


class MissingColumn(Unfit):
    """Raised when a source lacks a column of the query.

    Name a column that the source has: the remedy has the nearest one.
    """


class UnknownTypes(Unfit):
    """Raised when the records of a source don't show the types of the query's columns.

    The source needs records with values in these columns.
    """


def require(where: Path | ObjectFile | str, columns: SourceMapping, present: Sequence[str]) -> None:
    """Refuse a file that lacks columns of the query, or has one twice.

    Raises
    ------
    MissingColumn
        With a problem for each column: its field in the query, the position in an expression, and the file.
    Refused
    """
    names = columns.named()
    if problems := missing(where, columns, names, present):
        raise MissingColumn(problems)
    for name in names.values():
        if present.count(name) > 1:
            raise refuse(str(where), f"it has the column {name} more than once", "a name for one column")


def missing(
    where: Path | ObjectFile | str, columns: SourceMapping, names: Mapping[str, str], present: Collection[str]
) -> list[Problem]:
    """Return the problems of required columns that are missing; `names` has the required ones by part of a tuple."""
    among = sorted(set(present))
    return [_problem(str(where), part, name, columns, among) for part, name in names.items() if name not in present]


def missing_optional(where: Path | str, columns: SourceMapping, present: Collection[str]) -> list[Problem]:
    """Return the problems of columns that records may omit, but that no record has."""
    if not present:  # without any record
        return []
    optional = {part: name for part, name in columns.named().items() if part in columns.free}
    return missing(where, columns, optional, present)


def _problem(where: str, part: str, name: str, columns: SourceMapping, present: Sequence[str]) -> Problem:
    """Return the problem of a missing column, with the remedy."""
    among = f"one of {', '.join(present)}"
    if part in columns.readers:
        reader = columns.readers[part].partition(":")[0]
        fault = f"it has no column {name!r}, which {reader} reads"
        remedy = nearest(name, [*present, *columns.added]) or among
        return Problem(_placed(columns.readers[part], where), fault, remedy)
    is_key = part in columns.lookup_keys
    if part not in columns.free or part in columns.carried or is_key or columns.projection is None:
        role = "a column of aggregate" if part in columns.aggregated and part in columns.carried else part
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


def unfit_problems(where: str, columns: SourceMapping, values: Mapping[str, Any]) -> list[Problem]:
    """Return the problem of each part of a tuple for which the records have values, but none of a fitting type.

    Parameters
    ----------
    values : dict
        A value that does not fit, by part; None where another one fits.
    """
    problems = []
    for part, value in values.items():
        if value is None:
            continue
        name, shown = columns.named()[part], json.dumps(value, ensure_ascii=False, default=str)[:_MOST_SHOWN]
        what, remedy = _role(part, columns)
        fault = f"no record has a value of a fitting type in {name}: {shown} is {_kind(value)}, and {what}"
        problems.append(Problem(_placed(columns.field_of(part), where), fault, remedy))
    return problems


def _role(part: str, columns: SourceMapping) -> tuple[str, str]:
    """Return in words what a part of a tuple is, and its possible values."""
    if columns.is_name(part):
        example = f"columns: {{name: cast({written(columns.named()[part])} as string)}}"
        if part == "id":
            return "an id is a text or an integer", f"a column of texts or integers, such as {example}"
        return "a key is a text, an integer or a boolean", f"a column of these, such as {example}"
    if part in ("event_time", "arrival_time"):
        return "this one is a time", "ISO 8601 text, 2000-01-01T06:30:00Z, or epoch milliseconds"
    if pa.types.is_float64(columns.value_types[part]):
        return "this one is a number", "numbers"
    return f"this one is {columns.value_types[part]}", "values of this type"


def _kind(value: Any) -> str:
    return next(words for types, words in _KINDS if isinstance(value, types))


def _placed(field: str | None, where: str) -> str:
    return where if field is None else f"{field}: {where}"
