"""The error of a refused expression."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

AGGREGATE = "an aggregate of the query: aggregate: {function: …}"
"""The remedy for an aggregate function in an expression over a record."""


class Position(NamedTuple):
    """A position in the text of an expression: line and column, both from 1."""

    line: int = 1
    column: int = 1

    def __str__(self) -> str:
        return f"{self.line}:{self.column}"


class ExpressionError(ValueError):
    """Raised for a refused expression: the position in its text, the fault, and the remedy."""

    def __init__(self, position: Position, fault: str, remedy: str) -> None:
        self.position, self.fault, self.remedy = position, fault, remedy
        super().__init__(f"{position}: {fault}; right would be: {remedy}")


def unsaid(name: str, qualifiers: Sequence[str]) -> str:
    """Return the fault of a column without a qualifier."""
    return f"{name} is not said to be of {' or '.join(qualifiers)}"
