"""The errors of answers with any wait, in one pass: an answer's error only changes when the wait reaches a tuple."""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple, Protocol, runtime_checkable

import pyarrow as pa

from tailrace.ground.arrow.columns import Floats, Ints


class ErrorsByWait(NamedTuple):
    """The errors of m answers as s steps: with a wait, an answer has the error of the last step that the wait reaches.

    Attributes
    ----------
    answer, end : ndarray, shape (s,)
        The number of the answer, ascending from 0, and its horizon in ms.
    need : ndarray, shape (s,)
        The shortest wait that reaches the step, in ms, at least 0; ascending for each answer. With a shorter wait than
        its first step needs there is no answer.
    by_column : dict of ndarray, shape (s,)
        The errors by column of answers, see `Kind.errors`.
    """

    answer: Ints
    end: Ints
    need: Ints
    by_column: dict[str, Floats]


@runtime_checkable
class MeasuredByWait(Protocol):
    """A kind that measures the errors of its answers with all waits at once."""

    def errors_by_wait(self, tuples: pa.RecordBatch, before: Callable[[Ints], Ints]) -> ErrorsByWait:
        """Return the errors of the answers over these tuples.

        Parameters
        ----------
        tuples : RecordBatch
            The final content of the windows, without repeats, with the tick of each tuple.
        before : callable
            Returns t_max before each tick, in ms.
        """
