"""The note on an error of a stream that has written answers: which ones stand, and what goes on from there."""

from __future__ import annotations

from contextlib import AbstractContextManager

from tailrace.ground.errors import Busy, Refused
from tailrace.ground.notes import noting
from tailrace.storage.checkpoint import committed_batches
from tailrace.storage.layout import Layout


def noting_written(layout: Layout) -> AbstractContextManager[None]:
    """Add to an error inside up to which batch the answers are written; nothing where no batch is.

    A refusal has a remedy of its own, so it gets no other one.
    """

    def note(error: Exception) -> str:
        batches = committed_batches(layout)
        if not batches:
            return ""
        goes_on = isinstance(error, Busy) or not isinstance(error, Refused)
        remedy = "; the same command goes on from there" if goes_on else ""
        return f"the answers up to batch {batches - 1} are written{remedy}"

    return noting(note)
