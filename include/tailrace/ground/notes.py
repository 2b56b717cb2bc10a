"""Notes on errors, such as which results remain despite the error."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress


@contextmanager
def noting(note: Callable[[Exception], str]) -> Iterator[None]:
    """Add a note to an error raised in the block; leave out an empty note, or one that can't be made.

    >>> try:
    ...     with noting(lambda error: "two rows are written"):
    ...         raise OSError("disk full")
    ... except OSError as error:
    ...     notes_of(error)
    ('two rows are written',)
    """
    try:
        yield
    except Exception as error:
        with suppress(Exception):
            if text := note(error):
                error.add_note(text)
        raise


def notes_of(error: BaseException) -> tuple[str, ...]:
    """Return the notes that were added to an error."""
    return tuple(getattr(error, "__notes__", ()))
