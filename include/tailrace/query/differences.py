"""Finds the fields that differ between two versions of a query file, named as in the file."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from tailrace.query.query import Query

_NOT_IN_FILES = ".policy."  # a policy's settings, which stand beside its name in a file
_ABSENT = "not set"


class Difference(NamedTuple):
    """A field, and its values before and now, as text."""

    field: str
    before: str
    now: str

    def __str__(self) -> str:
        return f"{self.field}: {self.before} → {self.now}"


def differences(before: Query, now: Query) -> list[Difference]:
    """Return the fields whose values differ, including defaults; different spellings of a value are equal."""
    return changed_fields(before.model_dump(), now.model_dump())


def changed_fields(before: dict[str, Any], now: dict[str, Any]) -> list[Difference]:
    """Return by path the leaves of two nested mappings that differ, and mappings whose names have another order."""
    old, new = dict(_leaves(before)), dict(_leaves(now))
    for path, *names in _reordered(before, now):
        old[f"{path}.order"], new[f"{path}.order"] = map(_in_words, names)
    fields = sorted(old.keys() | new.keys())
    return [
        Difference(field, old.get(field, _ABSENT), new.get(field, _ABSENT))
        for field in fields
        if old.get(field, _ABSENT) != new.get(field, _ABSENT)
    ]


def _leaves(value: Any, path: str = "") -> Iterator[tuple[str, str]]:
    if isinstance(value, dict):
        for name, part in value.items():
            yield from _leaves(part, f"{path}.{name}" if path else str(name))
    else:
        yield path.replace(_NOT_IN_FILES, "."), _ABSENT if value is None else _in_words(value)


def _reordered(before: Any, now: Any, path: str = "") -> Iterator[tuple[str, list[str], list[str]]]:
    """Yield by path the mappings with the same names in another order, with the names."""
    if not isinstance(before, dict) or not isinstance(now, dict):
        return
    if before.keys() == now.keys() and [*before] != [*now]:
        yield path, [*before], [*now]
    for name in before.keys() & now.keys():
        yield from _reordered(before[name], now[name], f"{path}.{name}" if path else name)


def _in_words(value: Any) -> str:
    if isinstance(value, (list, tuple)):
        return f"[{', '.join(map(_in_words, value))}]"
    return str(value) if not isinstance(value, Path) else value.as_posix()
