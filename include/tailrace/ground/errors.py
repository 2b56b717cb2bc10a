"""Exceptions for refused input, with messages that a newcomer can act on; commands turn them into exit code 2."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass


@dataclass(frozen=True)
class Problem:
    """A single fault: where it is, what is wrong, and what would be right."""

    where: str
    fault: str
    remedy: str

    def __str__(self) -> str:
        return f"{self.where}: {self.fault}\n    right would be: {self.remedy}"


class Refused(Exception):
    """Raised for input that is refused before anything is written.

    Attributes
    ----------
    problems : tuple of Problem
        All faults, in the order of the input.
    exit_code : int
        Exit code of a command that ends with this exception.
    """

    exit_code = 2

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(map(str, self.problems)))


class Busy(Refused):
    """Raised when another process holds what is needed: exit code 1, since the same input may be accepted later."""

    exit_code = 1


class InUse(Busy):
    """Raised when another process runs, corrects or rebuilds the query, before anything was written: exit code 2."""

    exit_code = 2


class SourceChanged(Refused):
    """Raised when the source log changed in a part that was read already; no retry helps."""


class Unfit(Refused):
    """Raised when the columns of a source, or their types, don't fit the query; to wait does not mend it."""


@contextmanager
def as_unfit() -> Iterator[None]:
    """Raise each plain refusal inside as `Unfit`."""
    try:
        yield
    except Refused as refused:
        raise (Unfit(refused.problems) if type(refused) is Refused else refused) from refused.__cause__


class Damaged(Refused):
    """Raised when data that a query has written is lost, damaged or older than the rest: exit code 1 until repaired."""

    exit_code = 1


def refuse(where: str, fault: str, remedy: str) -> Refused:
    """Build the refusal of a single problem, for the caller to raise."""
    return Refused([Problem(where, fault, remedy)])
