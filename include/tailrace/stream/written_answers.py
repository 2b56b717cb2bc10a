"""The note on an error of a stream that has written answers: up to which batch they are written, and how to go on."""

from __future__ import annotations

from contextlib import AbstractContextManager

from tailrace.ground.errors import Busy, Refused
from tailrace.ground.notes import noting
from tailrace.storage.checkpoint import committed_batches
from tailrace.storage.layout import Layout


def noting_written(layout: Layout) -> AbstractContextManager[None]:
    """Add to an error raised in the block the batch up to which answers are written; nothing if no batch is.

    A refusal has its own remedy, so none is added.
    """

    def note(error: Exception) -> str:
        batches = committed_batches(layout)
        if not batches:
            return ""
        goes_on = isinstance(error, Busy) or not isinstance(error, Refused)
        remedy = "; the same command goes on from there" if goes_on else ""
        return f"the answers up to batch {batches - 1} are written{remedy}"

    return noting(note)
