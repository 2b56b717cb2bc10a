"""Messages on the terminal: refusals, lines that wait for work, and a spinner during work."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console

from tailrace.ground.errors import Refused
from tailrace.ground.notes import notes_of


class _Console(Console):
    """A console that lets the command end the process if its output is no longer read."""

    def on_broken_pipe(self) -> None:
        """Re-raise the current `BrokenPipeError`."""
        raise  # noqa: PLE0704 (its caller handles the error)


out, err = _Console(highlight=False), _Console(stderr=True, highlight=False)
_pending: dict[str, str] = {}
"""Lines that wait for the command's work, by the place that they are about."""


def say_with_work(place: str, line: str) -> None:
    """Print a line once the command's work begins, or below a refusal of its place; other refusals omit it."""
    _pending[place] = line


def work_begins() -> None:
    """Print the lines that wait for the command's work, once."""
    lines = [*_pending.values()]
    _pending.clear()
    for line in lines:
        err.print(line, markup=False, soft_wrap=True)


def no_work_yet() -> None:
    """Forget the lines of an earlier command of this process."""
    _pending.clear()


def refusal(refused: Refused) -> None:
    """Print each problem of a refusal (place, fault and remedy), and its notes."""
    for problem in refused.problems:
        err.print(f"[bold red]refused[/] {plain(str(problem))}", soft_wrap=True)
    if any(problem.where.startswith(place) for problem in refused.problems for place in _pending):
        work_begins()
    notes(refused)


def notes(error: BaseException) -> None:
    """Print the notes of an error, a line for each."""
    for note in notes_of(error):
        err.print(note, markup=False, soft_wrap=True)


@contextmanager
def working(what: str) -> Iterator[None]:
    """Show a spinner during work of unknown length; without a terminal, one line of text."""
    if not err.is_terminal:
        err.print(what)
        yield
        return
    with err.status(what):
        yield


def plain(text: str) -> str:
    """Escape a text, so that no part of it is read as markup."""
    return text.replace("[", r"\[")
