"""The refusal to go on with a stream that a bounded run has ended."""

from __future__ import annotations

from tailrace.ground.errors import Problem, Refused
from tailrace.storage.journal import Journal


class Ended(Refused):
    """The stream was ended by a bounded run."""


def ended_refusal(journal: Journal, wrong: str) -> Ended:
    """Make the refusal for the stream of a journal."""
    right = "another warehouse, or another name for the query; --keep-open leaves a run open"
    return Ended([Problem(str(journal.directory.parent.parent), wrong, right)])
