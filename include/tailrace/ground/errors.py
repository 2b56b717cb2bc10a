"""Exceptions with messages that a newcomer can act on; commands turn them into exit codes.

The second paragraph of such a class says what the user should do. The reference of errors quotes both paragraphs.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Self

from tailrace.ground.notes import notes_of

_COMMAND = re.compile(r"(tailrace|mv|rm|pip) ")
_NEXT_STEP = re.compile(r"\b(and|or|then) to (?=[a-z])")


@dataclass(frozen=True)
class Problem:
    """A single fault: where it is, what is wrong, and what would be right.

    The remedy completes the sentence "right would be: …": what is to be written, `to wait for it`, or a command.
    """

    where: str
    fault: str
    remedy: str

    def __str__(self) -> str:
        return f"{self.where}: {self.fault}\n    right would be: {self.remedy}"

    @property
    def advice(self) -> str:
        """Return the remedy as a sentence, which a page shows: an imperative one where it names a step.

        >>> Problem("query q", "a driver runs it", "to stop it, or to wait").advice
        'Stop it, or wait'
        >>> Problem("q.yaml:3: window", "is missing", "window: 5 s").advice
        'Right would be: window: 5 s'
        """
        if self.remedy.startswith("to "):
            return _imperative(self.remedy[3:].lstrip())
        if _COMMAND.match(self.remedy):
            return _imperative(f"run {self.remedy}")
        return f"Right would be: {self.remedy}" if self.remedy else ""


def _imperative(steps: str) -> str:
    return steps[:1].upper() + _NEXT_STEP.sub(r"\1 ", steps[1:])


class Refused(Exception):
    """Raised for input that is refused before anything is written.

    Do what the remedy of each problem says.

    Attributes
    ----------
    problems : tuple of Problem
        All faults, in the order of the input.
    exit_code : int
        Exit code of a command that ends with this exception.

    >>> raise Refused([Problem("load.yaml:3: window", "is missing", "window: 5 s")])
    Traceback (most recent call last):
    tailrace.ground.errors.Refused: load.yaml:3: window: is missing
        right would be: window: 5 s
    """

    exit_code = 2

    def __init__(self, problems: Sequence[Problem]) -> None:
        self.problems = tuple(problems)
        super().__init__("\n".join(map(str, self.problems)))

    def restated(self, problems: Sequence[Problem]) -> Self:
        """Return a refusal of the same class, with its notes and other words."""
        other = type(self)(problems)
        for note in notes_of(self):
            other.add_note(note)
        return other

    def _render_traceback_(self) -> list[str]:
        """Return the lines that a notebook shows in place of a traceback."""
        return ["refused", *(printable(line) for text in (str(self), *notes_of(self)) for line in text.splitlines())]


def printable(text: str) -> str:
    """Escape unprintable characters, so that a terminal does not execute parts of a text."""
    return "".join(each if each.isprintable() else ascii(each)[1:-1] for each in text)


RIGHT = "; right would be: "
"""The text between the fault and the remedy of a `ConnectionError`."""


def with_remedy(error: ConnectionError) -> str:
    """Return the text of a `ConnectionError`; add a remedy if it has none. It contains no secret."""
    text = str(error)
    return text if RIGHT in text else f"{text}{RIGHT}a server that runs, and can be reached from here"


class Busy(Refused):
    """Raised when another process holds a resource, or the work was not done in time.

    Try again later: the same input may succeed then.
    """

    exit_code = 1


class InUse(Busy):
    """Raised when another process runs, corrects or rebuilds the query, before anything is written.

    Wait for the other process, or stop it.
    """

    exit_code = 2


class SourceChanged(Refused):
    """Raised when a part of the source that was read already has changed, or is gone before it was read.

    Put the part back as it was, or begin again under another name. A retry does not help.
    """


class Unfit(Refused):
    """Raised when the columns of a source, or their types, don't fit the query.

    Correct the query file or the source. Waiting does not help.
    """


@contextmanager
def as_unfit() -> Iterator[None]:
    """Raise each plain refusal inside as `Unfit`."""
    try:
        yield
    except Refused as refused:
        raise (Unfit(refused.problems) if type(refused) is Refused else refused) from refused.__cause__


class Damaged(Refused):
    """Raised when data that a query has written is lost, damaged or out of date.

    Repair the data as the remedy says. The same command fails until then.
    """

    exit_code = 1


def refuse(where: str, fault: str, remedy: str) -> Refused:
    """Build the refusal of a single problem; the caller raises it."""
    return Refused([Problem(where, fault, remedy)])
