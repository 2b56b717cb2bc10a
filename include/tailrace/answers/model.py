"""The answer model of a kind: identifies answers, finds those that late tuples affect, and revises them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tailrace.answers.identity import Identity
from tailrace.ground.arrow.columns import Ints
from tailrace.ground.arrow.matching import Rows
from tailrace.ground.arrow.ranges import Ranges

Content = tuple[pa.RecordBatch, ...]
"""Tuples of each input of a kind."""


ShortestWait = Callable[[Rows, Ints, Ints], Ints]
"""A function that returns the shortest slack K of answers, such as `PairAnswers.shortest_wait`."""

T_co = TypeVar("T_co", covariant=True)


class AffectedAnswers(Protocol):
    """A set of answers whose next version a correction computes."""

    def ranges(self) -> Ranges:
        """Return the event times of the tuples on which these answers can depend; none without an answer.

        For each range [low, high), the horizon of its answers lies in (low, high].
        """

    def contains(self, answers: Rows) -> NDArray[np.bool_]:
        """Test by their identity which rows belong to these answers."""

    def parts(self, content: Content) -> list[Content]:
        """Split tuples into parts, so that each affected answer can be computed from one part.

        Tuples that no affected answer needs are dropped.
        """


class TupleHistory(Protocol):
    """Protocol of all tuples that arrived before a cut-off, by the kind's input streams."""

    def evaluate(self, affected: AffectedAnswers) -> pa.Table:
        """Return the affected answers over these tuples, without repeats of ids."""

    def repeats(self, side: int, ranges: Ranges) -> pa.Table:
        """Find a stream's tuples with these event times whose id had arrived before: `id`, `key`, `event_time`."""

    def event_times(self, side: int, ids: pa.Array) -> Ints:
        """Return the event time of the first tuple with each of these ids in a stream, in no order."""

    def ids_outside(self, side: int, affected: AffectedAnswers) -> pa.Array:
        """Return the ids of a stream that occur both inside and outside of the ranges of the affected answers."""


@dataclass(frozen=True)
class Revision:
    """The data of a correction about the answers that it revises.

    Attributes
    ----------
    history : TupleHistory
        All tuples that arrived before the cut-off.
    schema : Schema
        The schema of answers.
    versions, late : Table
        Rows of the tables, with at least all versions of the affected answers, and their late tuples.
    before : int
        The cut-off, in ms.
    interval : str
        The correction's interval, whose earlier versions will be replaced.
    amend : callable or None
        The kind's `IncrementallyCorrectable.amend`; None if the kind has to read history.
    repeats_lookups : bool
        Whether records may have become tuples since they came, so that entirely new answers may appear.
    """

    history: TupleHistory
    schema: pa.Schema
    versions: pa.Table
    late: pa.Table
    affected: AffectedAnswers
    before: int
    interval: str
    amend: Callable[[pa.Table, pa.Table], pa.RecordBatch] | None = None
    repeats_lookups: bool = False


class WaysToMeasure(Protocol[T_co]):
    """Protocol of the ways in which a calibration can measure the accuracy of waits over history."""

    def by_windows(self) -> T_co:
        """Compare the content of each window after each wait with the exact answer."""

    def by_shortest_waits(self, shortest_wait: ShortestWait) -> T_co:
        """Find the shortest wait for each exact answer, if answers are either right or missing."""


class AnswerModel(Protocol):
    """Identity, late schema and affected answers of a kind; it does not depend on Spark."""

    @property
    def identity(self) -> Identity: ...

    @property
    def row_identity(self) -> tuple[str, ...]:
        """The columns that identify a row of an answer in all of its versions."""

    def horizon(self, answers: Rows) -> Ints:
        """Return the event time (ms) up to which each answer depends on tuples; shape (n,).

        An answer is due when F reaches this time.
        """

    @property
    def horizon_columns(self) -> tuple[str, ...]:
        """The time columns of answers, one of which is the horizon."""

    def expiry_frontier(self, event_times: Ints, side: int) -> Ints:
        """Return the frontier (ms) from which a tuple only counts in answers that are due; shape (n,).

        The tuples are of the input `side`.
        """

    def close_frontier(self, event_time: int) -> int:
        """Return the frontier (ms) at which all answers that need no tuple after `event_time` are due."""

    @property
    def late_time(self) -> str:
        """The column of the table `late` with the event time (ms) of a tuple or of its pane's start."""

    @property
    def order(self) -> tuple[str, ...]:
        """The columns by which the rows of answers are sorted for readers."""

    def first_rows(self, answers: Rows) -> Rows:
        """Select the first row of each answer by its row key; `answers` are complete, in one version each."""

    @property
    def can_lack_tuples(self) -> bool:
        """Whether an answer may have been written without a late tuple that belongs to it."""

    @property
    def late_margin_ms(self) -> int:
        """The greatest distance (ms) of a late tuple from the window of an answer that it affects."""

    def explode_late(self, late: pa.Table, *names: str, among: Rows | None = None) -> pa.Table:
        """Repeat each row of the table `late` for every answer that it missed.

        The rows have the answer's identity and the named columns. Return no rows if no answer can lack a tuple. `among`
        has identities of answers. Sessions that a tuple missed are only found among these, as their tuples determine
        their times.
        """

    def missed_by(self, late: pa.Table) -> AffectedAnswers:
        """Return the answers that rows of the table `late` missed."""

    def missed_or_repeated(self, late: pa.Table, given: pa.Table, repeats: Sequence[pa.Table]) -> AffectedAnswers:
        """Return the answers that rows of the table `late` missed, and the given answers that hold a repeat of an id.

        Parameters
        ----------
        given : Table
            The identities of some answers.
        repeats : sequence of Table
            For each stream the repeats that answers may hold, with `id`, `key` and `event_time`.
        """

    def closed(self, event_times: tuple[int, int], frontier: int) -> AffectedAnswers:
        """Return all answers due by the frontier that can depend on tuples with event times in [low, high), in ms."""

    def affected_from(self, rows: Rows) -> AffectedAnswers:
        """Return the answers of rows, by their identity."""

    def revise(self, revision: Revision) -> pa.Table:
        """Return the next versions of the affected answers, with K and facts of the stream and `retracted`."""

    def measure(self, ways: WaysToMeasure[T_co]) -> T_co:
        """Choose the way in which the accuracy of waits is measured over history."""
