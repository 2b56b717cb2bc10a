"""A revision: what a correction has of some answers and of their history, from which the next versions follow."""

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
    """Protocol of all tuples that arrived before a cut-off, by stream of the kind's inputs."""

    def evaluate(self, affected: AffectedAnswers) -> pa.Table:
        """Return the affected answers over these tuples, without repeats of ids."""

    def repeats(self, side: int, ranges: Ranges) -> pa.Table:
        """Find the tuples of a stream with such event times whose id had arrived before: `id`, `key`, `event_time`."""

    def event_times(self, side: int, ids: pa.Array) -> Ints:
        """Return the event time of the first tuple to arrive with each of these ids in a stream; not in order."""

    def ids_outside(self, side: int, affected: AffectedAnswers) -> pa.Array:
        """Return the ids of a stream's tuples in the ranges of the affected answers that came outside of them, too."""


@dataclass(frozen=True)
class Revision:
    """What a correction has of the answers that it revises.

    Attributes
    ----------
    history : TupleHistory
        All that arrived before the cut-off.
    schema : Schema
        Of answers.
    versions, late : Table
        As in the tables: at least all versions of the affected answers, and the late tuples of these.
    before : int
        The cut-off, in ms.
    interval : str
        The versions that are of it are going to be replaced.
    amend : callable or None
        The kind's `IncrementallyCorrectable.amend`; None where the kind has to read history.
    """

    history: TupleHistory
    schema: pa.Schema
    versions: pa.Table
    late: pa.Table
    affected: AffectedAnswers
    before: int
    interval: str
    amend: Callable[[pa.Table, pa.Table], pa.RecordBatch] | None = None
