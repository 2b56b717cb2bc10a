"""Messages on the terminal: refusals, and a spinner while something goes on."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console

from tailrace.ground.errors import Refused


class _Console(Console):
    """A console that leaves it to the command to end where nobody reads its output any more."""

    def on_broken_pipe(self) -> None:
        """Raise the `BrokenPipeError` that is being handled."""
        raise  # noqa: PLE0704 (its caller handles the error)


out, err = _Console(highlight=False), _Console(stderr=True, highlight=False)


def refusal(refused: Refused) -> None:
    """Print each problem of a refusal: where it is, what is wrong, what would be right."""
    for problem in refused.problems:
        err.print(f"[bold red]refused[/] {plain(str(problem))}", soft_wrap=True)


@contextmanager
def working(what: str) -> Iterator[None]:
    """Show a spinner while something of unknown length goes on; off a terminal, one line of text."""
    if not err.is_terminal:
        err.print(what)
        yield
        return
    with err.status(what):
        yield


def plain(text: str) -> str:
    """Escape a text, so that nothing in it is taken for markup."""
    return text.replace("[", r"\[")
