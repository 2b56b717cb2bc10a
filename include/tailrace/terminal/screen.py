"""Messages on the terminal: refusals, and a sign of life while something goes on."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console

from tailrace.ground.errors import Refused

out, err = Console(highlight=False), Console(stderr=True, highlight=False)


def refusal(refused: Refused) -> None:
    """Each problem: where, what is wrong, what would be right."""
    for problem in refused.problems:
        err.print(f"[bold red]refused[/] {plain(str(problem))}", soft_wrap=True)


@contextmanager
def working(what: str) -> Iterator[None]:
    """A sign of life while something of unknown length goes on."""
    if not err.is_terminal:
        err.print(what)
        yield
        return
    with err.status(what):
        yield


def plain(text: str) -> str:
    """The text as it is: what looks like markup in it is not."""
    return text.replace("[", r"\[")
