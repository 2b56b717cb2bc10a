"""Finds the columns of a sample that are event time, arrival time, id, key and value, by their names and content."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace

import pyarrow as pa

from tailrace.advice.column_names import (
    ARRIVAL,
    CATEGORY,
    EVENT,
    ID,
    IDENTITY,
    MEASURE,
    OTHER_TIME,
    PLACE,
    TIME,
    VALUE,
    has_name,
)
from tailrace.advice.column_profile import ColumnProfile
from tailrace.advice.quoting import shown
from tailrace.ground.errors import Problem, Refused
from tailrace.ground.near_names import nearest
from tailrace.sources.ids_and_keys import is_grouped_as_is

PARTS = {
    "event_time": "the time when it happened",
    "arrival_time": "the time of arrival",
    "id": "what names the record",
    "key": "what to group by",
    "value": "what is computed",
}
"""The parts of a tuple that columns can be, named like the fields and options."""

_LEAST_TIMES, _LEAST_NUMBERS, _LEAST_UNIQUE, _MOST_EMPTY = 0.5, 0.7, 0.9, 0.01
_MOST_KEYS, _LEAST_RECORDS, _MOST_LIKELY = 0.2, 20, 3
_LEAST_RESENT = 0.5
"""The share of records with unique values from which a column named like an id is one, if its repeats are equal."""
_NEARLY_UNIQUE = 0.99
"""The share of records with unique values from which a column counts as an id even without an id's name."""


@dataclass(frozen=True)
class Role:
    """The column that is a part of a tuple, and the reason for it.

    Attributes
    ----------
    others : tuple of ColumnProfile
        The other columns that could be this part, the likeliest first.
    """

    column: ColumnProfile
    reason: str
    others: tuple[ColumnProfile, ...] = ()


@dataclass(frozen=True)
class Roles:
    """The columns that are parts of a tuple, by part; a part without a column is missing."""

    parts: Mapping[str, Role] = field(default_factory=dict)

    def column(self, part: str) -> ColumnProfile | None:
        """Return the column of a part; None without one."""
        return self.parts[part].column if part in self.parts else None


def find_roles(
    columns: Mapping[str, ColumnProfile],
    named: Mapping[str, str],
    is_after: Callable[[str, str], float],
    are_resent: Callable[[str, str | None], bool],
) -> Roles:
    """Return the columns for the parts; columns named by the user are kept.

    Parameters
    ----------
    named : dict
        The columns named by the user, by part.
    is_after : callable
        Returns the share of records in which the time in one column is not before that in another.
    are_resent : callable
        Returns whether records with the same value in one column are equal in all columns but another, if given.

    Raises
    ------
    Refused
        When a named column does not exist, or can't be that part.
    """
    parts = {part: Role(_named(columns, part, name), f"--{part.replace('_', '-')}") for part, name in named.items()}
    used = {role.column.name for role in parts.values()}

    def take(part: str, role: Role | None) -> None:
        if part not in parts and role is not None:
            parts[part] = role
            used.add(role.column.name)

    free = [column for column in columns.values() if column.name not in used]
    take("event_time", _event_time(free))
    free = [column for column in free if column.name not in used]
    if "event_time" in parts:
        take("arrival_time", _arrival_time(free, parts["event_time"].column, is_after))
    arrival = parts["arrival_time"].column.name if "arrival_time" in parts else None
    take("id", _id([column for column in free if column.name not in used], lambda name: are_resent(name, arrival)))
    take("key", _key([column for column in free if column.name not in used and not has_name(column.name, ARRIVAL)]))
    take("value", _value([column for column in free if column.name not in used]))
    if "key" in parts:
        others = tuple(other for other in parts["key"].others if other.name not in used)
        parts["key"] = replace(parts["key"], others=others)
    return Roles(parts)


def _named(columns: Mapping[str, ColumnProfile], part: str, name: str) -> ColumnProfile:
    option = f"--{part.replace('_', '-')} {shown(name)}"
    if name not in columns:
        near, among = nearest(name, columns), ", ".join(shown(each, 40) for each in columns)
        fault = "the sample has no such column, or its values are lists or objects"
        raise Refused([Problem(option, fault, f"{near}; one of {among}" if near else f"one of {among}")])
    column = columns[name]
    if part.endswith("_time") and column.time is None:
        right = "a column of ISO 8601 texts, timestamps, dates, or counts since 1970"
        raise Refused([Problem(option, f"most of its values are no times, as {column.example}", right)])
    is_key = part == "key" and is_grouped_as_is(column.dtype)
    if part in ("id", "key") and not (column.is_named or is_key):
        others = ", booleans, dates or timestamps" if part == "key" else ""
        raise Refused([Problem(option, f"its type is {column.dtype}", f"a column of texts or integers{others}")])
    if part == "value" and column.numbers < _LEAST_TIMES:
        raise Refused([Problem(option, f"most of its values are no numbers, as {column.example}", "numbers")])
    return column


def _event_time(columns: list[ColumnProfile]) -> Role | None:
    def score(column: ColumnProfile) -> float:
        assert column.time is not None
        by_name = 2 * has_name(column.name, EVENT) + has_name(column.name, TIME)
        others = 3 * has_name(column.name, ARRIVAL) + 2 * has_name(column.name, OTHER_TIME)
        return by_name - others + column.time.share - 2 * column.time.is_count

    times = [column for column in columns if column.time is not None and column.time.share >= _LEAST_TIMES]
    times = [column for column in times if not _is_plain_count(column)]
    if not times:
        return None
    best = max(times, key=score)
    assert best.time is not None
    by_name = "its name, and " if has_name(best.name, EVENT) or has_name(best.name, TIME) else ""
    others = f"; of {len(times)} columns of times" if len(times) > 1 else "; no other column holds times"
    return Role(best, f"{by_name}{best.time.share:.0%} of its values are times ({best.time.words}){others}")


def _is_plain_count(column: ColumnProfile) -> bool:
    """Test whether a column's numbers could be times only by their size, as its name does not suggest it."""
    is_count = column.time is not None and column.time.is_count
    return is_count and not any(has_name(column.name, words) for words in (EVENT, TIME, ARRIVAL))


def _arrival_time(
    columns: list[ColumnProfile], event: ColumnProfile, is_after: Callable[[str, str], float]
) -> Role | None:
    for column in columns:
        if column.time is None or not has_name(column.name, ARRIVAL):
            continue
        if (share := is_after(column.name, event.name)) >= _LEAST_TIMES:
            return Role(column, f"its name, and it is not before {shown(event.name)} in {share:.0%} of the records")
    return None


def _id(columns: list[ColumnProfile], are_resent: Callable[[str], bool]) -> Role | None:
    def is_unique(column: ColumnProfile) -> bool:
        is_resent = column.uniqueness >= _LEAST_RESENT and are_resent(column.name)
        return column.uniqueness >= _LEAST_UNIQUE or is_resent

    named = _without_nulls(columns)
    unique = [column for column in named if has_name(column.name, ID) and is_unique(column)]
    if unique:
        best = max(unique, key=lambda column: column.uniqueness)
        repeats = column_repeats(best)
        return Role(best, f"its name, and {best.uniqueness:.1%} of the records have a value of their own{repeats}")
    for column in named:
        if (
            column.rows >= _LEAST_RECORDS
            and column.uniqueness >= _NEARLY_UNIQUE
            and (column.is_counting or not column.numbers)
            and column.time is None
        ):
            repeats = column_repeats(column)
            share = f"{column.uniqueness:.1%} of the records have a value of their own"
            return Role(column, f"{share}{repeats}" if repeats else "each record has a value of its own")
    return None


def likely_ids(columns: Iterable[ColumnProfile], roles: Roles) -> tuple[ColumnProfile, ...]:
    """Return the columns that could be ids, the likeliest first: all values but a few are unique.

    A tenth of the records may repeat a value, and at least one. A small sample's columns need an id's name. A column
    of integers may have been taken for the value, unless its name is that of an amount or a measurement.
    """

    def is_likely(column: ColumnProfile) -> bool:
        repeats = column.rows - column.distinct
        is_number = pa.types.is_integer(column.dtype) and not has_name(column.name, f"{VALUE}|{MEASURE}")
        is_large = column.rows >= _LEAST_RECORDS and (column.numbers < _LEAST_NUMBERS or is_number)
        is_unique = repeats <= max((1 - _LEAST_UNIQUE) * column.rows, 1)
        return column.time is None and is_unique and (is_large or has_name(column.name, ID))

    used = {role.column.name for part, role in roles.parts.items() if part != "value"}
    likely = [column for column in _without_nulls(columns) if column.name not in used and is_likely(column)]
    likely.sort(key=lambda column: (column.numbers >= _LEAST_NUMBERS, -column.uniqueness))
    return tuple(likely[:_MOST_LIKELY])


def _without_nulls(columns: Iterable[ColumnProfile]) -> list[ColumnProfile]:
    """Return the columns that can be ids by their type, and have hardly a null."""
    return [column for column in columns if column.is_named and column.nulls <= _MOST_EMPTY * column.rows]


def column_repeats(column: ColumnProfile) -> str:
    """Return in words how many values of a column are repeats."""
    repeats = column.values - column.distinct
    return f"; {repeats:,} repeat one before" if repeats else ""


def _key(columns: list[ColumnProfile]) -> Role | None:
    """Return the column to group by.

    A column named like a place, a person or a thing precedes one named like a category (type, status, payment). Among
    equals texts precede numbers, and then the first column of the file is taken.
    """

    def rank(column: ColumnProfile) -> tuple[int, bool]:
        is_category = has_name(column.name, CATEGORY) or pa.types.is_boolean(column.dtype)
        return is_category - has_name(column.name, IDENTITY), column.numbers >= _LEAST_NUMBERS

    groups = [
        column
        for column in columns
        if column.is_named
        and column.time is None
        and column.nulls <= _MOST_EMPTY * column.rows
        and 1 < column.distinct <= max(_MOST_KEYS * column.rows, 2)
        and (column.numbers < _LEAST_NUMBERS or has_name(column.name, IDENTITY) or has_name(column.name, CATEGORY))
    ]
    if not groups:
        return None
    best, *others = sorted(groups, key=rank)
    by_name = "its name, and " if rank(best)[0] < 0 else ""
    return Role(best, f"{by_name}{best.distinct:,} different values in {best.rows:,} records", tuple(others))


def _value(columns: list[ColumnProfile]) -> Role | None:
    def score(column: ColumnProfile) -> float:
        by_name = 2 * has_name(column.name, VALUE) - 2 * has_name(column.name, PLACE) - 2 * has_name(column.name, ID)
        return by_name + (column.distinct > 2) + column.numbers  # noqa: PLR2004 (a flag has two)

    numbers = [column for column in columns if column.numbers >= _LEAST_NUMBERS and not column.is_counting]
    numbers = [column for column in numbers if column.values]
    if not numbers:
        return None
    best, *others = sorted(numbers, key=score, reverse=True)
    by_name = "its name, and " if has_name(best.name, VALUE) else ""
    return Role(best, f"{by_name}{best.numbers:.0%} of its values are numbers", tuple(others))
