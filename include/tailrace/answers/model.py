"""The answer model of a kind: how its answers are identified, and which of them late tuples affect."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tailrace.answers.identity import Identity
from tailrace.answers.revision import Revision
from tailrace.ground.columns import Ints
from tailrace.ground.matching import Rows
from tailrace.ground.ranges import Ranges

Content = tuple[pa.RecordBatch, ...]
"""Tuples of each input of a kind."""


ShortestWait = Callable[[Rows, Ints, Ints], Ints]
"""Gives the shortest slack K of answers, as `PairAnswers.shortest_wait`."""

T_co = TypeVar("T_co", covariant=True)


class AffectedAnswers(Protocol):
    """A set of answers that a correction gives their next version."""

    def ranges(self) -> Ranges:
        """The event times of the tuples on which these answers can depend; none where there is no answer.

        The horizon of each of these answers lies in one of the ranges [low, high), taken as (low, high].
        """

    def contains(self, answers: Rows) -> NDArray[np.bool_]:
        """Test which rows, by their identity, are of these answers."""

    def parts(self, content: Content) -> list[Content]:
        """Reduce tuples to what is to be evaluated: to parts of which each affected answer follows, from one alone."""


class WaysToMeasure(Protocol[T_co]):
    """Protocol of the ways by which a calibration can measure the accuracy of waits over history."""

    def by_windows(self) -> T_co:
        """Answer each window with what it holds after each wait, and compare it with the exact answer."""

    def by_shortest_waits(self, shortest_wait: ShortestWait) -> T_co:
        """Find the shortest wait that gives each exact answer: for answers that are right or missing."""


class AnswerModel(Protocol):
    """Identity, late schema and affected answers of a kind; it does not depend on Spark."""

    @property
    def identity(self) -> Identity: ...

    @property
    def row_identity(self) -> tuple[str, ...]:
        """The columns that identify a row of an answer, whatever its version."""

    def horizon(self, answers: Rows) -> Ints:
        """The event time (ms) up to which each answer depends on tuples: it is due when F is there; shape (n,)."""

    @property
    def horizon_columns(self) -> tuple[str, ...]:
        """The columns of answers with times, of which one is the horizon."""

    def expiry_frontier(self, event_times: Ints, side: int) -> Ints:
        """The frontier (ms) from which on a tuple of an input can count in no answer that is not due; shape (n,)."""

    def close_frontier(self, event_time: int) -> int:
        """The frontier (ms) at which every answer is due that depends on tuples up to an event time alone."""

    @property
    def late_time(self) -> str:
        """The column of the table `late` with the event time (ms) of a tuple, or of its pane's start."""

    @property
    def order(self) -> tuple[str, ...]:
        """The columns by which readers get the rows of answers sorted."""

    def first_rows(self, answers: Rows) -> Rows:
        """Select the first row of each answer by its row key; `answers` are whole, and have one version of each."""

    @property
    def can_lack_tuples(self) -> bool:
        """Whether an answer may have been given without a late tuple of its content."""

    def explode_late(self, late: pa.Table, *names: str) -> pa.Table:
        """Repeat each row of the table `late` for every answer that it missed: the identity and the named columns.

        No rows where no answer can lack a tuple.
        """

    def missed_by(self, late: pa.Table) -> AffectedAnswers:
        """The answers that rows of the table `late` missed."""

    def missed_or_repeated(self, late: pa.Table, given: pa.Table, repeats: Sequence[pa.Table]) -> AffectedAnswers:
        """The answers that rows of the table `late` missed, and the given ones that hold a repeat of an id.

        Parameters
        ----------
        given : Table
            The identities of some answers.
        repeats : sequence of Table
            Of each stream the repeats that answers may hold, with `id`, `key` and `event_time`.
        """

    def closed(self, event_times: tuple[int, int], frontier: int) -> AffectedAnswers:
        """All answers due by the frontier that can depend on tuples with an event time in [low, high), in ms."""

    def affected_from(self, rows: Rows) -> AffectedAnswers:
        """The answers of which there is a row, by its identity."""

    def revise(self, revision: Revision) -> pa.Table:
        """Return the next versions of the affected answers: with K and the facts of the stream, and `retracted`."""

    def measure(self, ways: WaysToMeasure[T_co]) -> T_co:
        """Choose the way by which the accuracy of waits is measured over history."""
