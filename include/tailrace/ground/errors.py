"""Refusals: bad input, told so that a newcomer can mend it. Commands turn them into exit code 2."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong: where, what, and what would be right."""

    where: str
    wrong: str
    right: str

    def __str__(self) -> str:
        return f"{self.where}: {self.wrong}\n    right would be: {self.right}"


class Refused(Exception):
    """Input that was refused before anything was written.

    Attributes
    ----------
    problems : tuple of Problem
        All that was found, in the order of the input.
    exit_code : int
        That of a command which ends by it.
    """

    exit_code = 2

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(map(str, self.problems)))


class Busy(Refused):
    """Another process is at it: exit code 1, since the same may be right a little later."""

    exit_code = 1


class SourceChanged(Refused):
    """The log changed where it was read already: no retry helps."""


class Damaged(Refused):
    """Something that a query has written is lost, damaged or older than the rest: exit code 1, until it is repaired."""

    exit_code = 1


def refuse(where: str, wrong: str, right: str) -> Refused:
    """The refusal of a single problem, to be raised."""
    return Refused([Problem(where, wrong, right)])
