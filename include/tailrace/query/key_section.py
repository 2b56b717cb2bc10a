"""The field `key` of a stream: a column, or a list of columns, each of which is also a column of answers."""

from __future__ import annotations

from collections.abc import Collection
from typing import Annotated, Any, Literal

from pydantic import Field, PlainSerializer, PlainValidator
from pydantic_core import PydanticKnownError

from tailrace.ground.arrow.times import SEPARATORS
from tailrace.ground.fields import Column, field_error, renamed_in_sql
from tailrace.tables.every import ANSWERED

_MOST_KEYS = 16
_LIST = "a list of columns: [country, platform]"


def _parse_key(key: Any) -> str | tuple[str, ...]:
    names = tuple(key) if isinstance(key, list | tuple) else (key,)
    if not all(isinstance(name, str) for name in names):
        raise PydanticKnownError("string_type")
    if not all(names):
        raise PydanticKnownError("string_too_short", {"min_length": 1})
    if not 1 <= len(names) <= _MOST_KEYS:
        raise field_error(f"{len(names)} columns are no key", f"1 to {_MOST_KEYS} columns, or no key: one group")
    return key if isinstance(key, str) else names


def _as_written(key: str | tuple[str, ...] | None) -> str | list[str] | None:
    return [*key] if isinstance(key, tuple) else key


Key = Annotated[
    str | tuple[str, ...],
    PlainValidator(
        _parse_key,
        json_schema_input_type=Column | Annotated[list[Column], Field(min_length=1, max_length=_MOST_KEYS)],
    ),
    PlainSerializer(_as_written),
]
"""Pydantic field type of a key: a column, or a list of columns."""


NullKey = Literal["group", "quarantine"]
"""The treatment of a record with a null in its key: null is a group, or the record is rejected."""


def check_key_names(names: Collection[str], values: Collection[str], field: str) -> None:
    """Refuse a list of key columns if a name can't be a column of answers.

    Tables compare names without case.

    Parameters
    ----------
    values : collection of str
        The other columns of the kind's answers.
    """
    taken = {*ANSWERED, *(name.lower() for name in values)}
    for name in names:
        in_sql = f"{renamed_in_sql(name)} in the list"
        if name.lower() in taken:
            fault = f"answers have a column {name} already"
            raise field_error(fault, f"{_LIST}, each once; or {name} alone, not in a list", field, in_sql)
        if separators := set(name) & set(SEPARATORS):
            fault = f"tables have no column {name!r}, for {min(separators)!r} in its name"
            raise field_error(fault, f"{_LIST}, by other names; or {name!r} alone, not in a list", field, in_sql)
        taken.add(name.lower())
