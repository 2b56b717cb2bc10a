"""Adds the field to refusals that only name the location of a source or table."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from typing import Any

from tailrace.ground.errors import Problem
from tailrace.ground.files.atomic_files import is_url
from tailrace.query.query import Query

_FIELD = "path"
_LINE = re.compile(r":\d+(: |\Z)")


def names_place(problem: Problem) -> bool:
    """Test whether a problem begins with an absolute path or URL."""
    return problem.where.startswith("/") or is_url(problem.where)


def with_place_fields(problems: Iterable[Problem], query: Query) -> tuple[Problem, ...]:
    """Put the field before each problem of a location that the query names, or of a file below it.

    The query file itself may be below such a location, but its problems name it with a line.
    """
    fields = dict[str, str]()
    for field, place in _places(query.model_dump(mode="json")):
        fields.setdefault(place.rstrip("/"), field)
    return tuple(_with_field(problem, fields) for problem in problems)


def _with_field(problem: Problem, fields: Mapping[str, str]) -> Problem:
    where = problem.where
    above = [place for place in fields if where == place or where.startswith((f"{place}/", f"{place}:"))]
    if not above or _LINE.search(where):
        return problem
    return replace(problem, where=f"{fields[max(above, key=len)]}: {where}")


def _places(section: Mapping[str, Any], above: str = "") -> Iterator[tuple[str, str]]:
    """Yield the fields with a path, each with the path."""
    for name, value in section.items():
        if isinstance(value, Mapping):
            yield from _places(value, f"{above}{name}.")
        elif name == _FIELD and isinstance(value, str):
            yield f"{above}{name}", value
