"""The explanation of how a query is run, for people."""

from __future__ import annotations

from typing import NamedTuple


class Explanation(NamedTuple):
    """How a kind runs a query, in words.

    Attributes
    ----------
    partition : str
        How its tuples are spread over tasks.
    method : str
        How a task finds the answers.
    reason : str
        Why so.
    """

    partition: str
    method: str
    reason: str
