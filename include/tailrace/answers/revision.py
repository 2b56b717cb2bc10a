"""A revision: the data of a correction about some answers and their history, from which the next versions follow."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

import pyarrow as pa

from tailrace.ground.columns import Ints
from tailrace.ground.ranges import Ranges

if TYPE_CHECKING:
    from tailrace.answers.model import AffectedAnswers


class TupleHistory(Protocol):
    """Protocol of all tuples that arrived before a cut-off, by the kind's input streams."""

    def evaluate(self, affected: AffectedAnswers) -> pa.Table:
        """Return the affected answers over these tuples, without repeats of ids."""

    def repeats(self, side: int, ranges: Ranges) -> pa.Table:
        """Find a stream's tuples in these event times whose id had arrived before: `id`, `key`, `event_time`."""

    def event_times(self, side: int, ids: pa.Array) -> Ints:
        """Return the event time of the first tuple with each of these ids in a stream, in no order."""

    def ids_outside(self, side: int, affected: AffectedAnswers) -> pa.Array:
        """Return the ids of a stream that occur both inside and outside of the ranges of the affected answers."""


@dataclass(frozen=True)
class Revision:
    """The data that a correction has about the answers that it revises.

    Attributes
    ----------
    history : TupleHistory
        All tuples that arrived before the cut-off.
    schema : Schema
        The schema of answers.
    versions, late : Table
        Rows of the tables: at least all versions of the affected answers, and their late tuples.
    before : int
        The cut-off, in ms.
    interval : str
        The correction's interval, whose earlier versions will be replaced.
    amend : callable or None
        The kind's `IncrementallyCorrectable.amend`; None where the kind has to read history.
    repeats_lookups : bool
        Whether tuples may count now that were none when they came, so that answers appear of which nothing is known.
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
