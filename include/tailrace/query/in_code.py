"""The fields of a query that is declared in code."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tailrace.ground.errors import Problem, Refused
from tailrace.query.yaml_file import MAX_MESSAGE, FieldPath


class FieldsInCode:
    """The fields of a query in code: problems name the field, as there are no lines.

    Relative paths in it start at the current folder.
    """

    def __init__(self, name: str, fields: Mapping[str, Any]) -> None:
        self.name, self.data = name, dict(fields)
        self.problems: list[tuple[int, Problem]] = []

    @property
    def directory(self) -> Path:
        return Path.cwd()

    def add(self, path: FieldPath, fault: str, remedy: str) -> None:
        """Record a problem of a field."""
        where = f"query {self.name}: {'.'.join(path)[:MAX_MESSAGE]}" if path else f"query {self.name}"
        self.problems.append((0, Problem(where, fault[:MAX_MESSAGE], remedy[:MAX_MESSAGE])))

    def refuse(self) -> None:
        """Raise all problems that were recorded."""
        if self.problems:
            raise Refused([problem for _, problem in self.problems])
