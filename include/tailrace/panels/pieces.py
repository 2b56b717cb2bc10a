"""Reads the pieces of a panel one by one, so that a damaged table only affects the pieces that need it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from tailrace.ground.errors import Damaged, Problem
from tailrace.panels.panel import DamagedTable

Piece = TypeVar("Piece")
Otherwise = TypeVar("Otherwise")


class Pieces:
    """Reads pieces of a panel, and records damaged tables with the affected fields of its answer."""

    def __init__(self) -> None:
        self._fields: dict[Problem, set[str]] = {}

    def read(self, fields: str, read: Callable[[], Piece], otherwise: Otherwise) -> Piece | Otherwise:
        """Return the result of `read`, or `otherwise` if a table that it reads is damaged.

        Parameters
        ----------
        fields : str
            The fields of the answer that depend on it, separated by blanks.
        """
        try:
            return read()
        except Damaged as damaged:
            for each in damaged.problems:
                self._fields.setdefault(each, set()).update(fields.split())
            return otherwise

    @property
    def damaged(self) -> list[DamagedTable]:
        """The damaged tables met so far."""
        return [DamagedTable.from_problem(problem, fields) for problem, fields in self._fields.items()]
