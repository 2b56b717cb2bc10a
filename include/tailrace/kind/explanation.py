"""The explanation of a query's execution, for people."""

from __future__ import annotations

from typing import NamedTuple


class KindExplanation(NamedTuple):
    """The execution of a query by its kind, in words.

    Attributes
    ----------
    partition : str
        The spreading of its tuples over tasks.
    method : str
        The method by which a task finds the answers.
    reason : str
        The reason for the method.
    """

    partition: str
    method: str
    reason: str
