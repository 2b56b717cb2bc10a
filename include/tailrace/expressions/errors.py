"""The error of an expression that is refused."""

from __future__ import annotations

from typing import NamedTuple


class Position(NamedTuple):
    """A place in the text of an expression: line and column, both from 1."""

    line: int = 1
    column: int = 1

    def __str__(self) -> str:
        return f"{self.line}:{self.column}"


class ExpressionError(ValueError):
    """Raised for an expression that is refused: where in its text, what is wrong, and what would be right."""

    def __init__(self, position: Position, fault: str, remedy: str) -> None:
        self.position, self.fault, self.remedy = position, fault, remedy
        super().__init__(f"{position}: {fault}; right would be: {remedy}")
