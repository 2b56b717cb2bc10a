"""The explanation, for people, of how a query is run."""

from __future__ import annotations

from typing import NamedTuple


class KindExplanation(NamedTuple):
    """How a kind runs a query, in words.

    Attributes
    ----------
    partition : str
        How its tuples are spread over tasks.
    method : str
        How a task finds the answers.
    reason : str
        The reason for the method.
    """

    partition: str
    method: str
    reason: str
