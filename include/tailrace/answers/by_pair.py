"""Answers by pairs of a left and a right tuple."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from tailrace.answers.affected_pairs import ClosedPairs, IdentifiedPairs, MissedPairs
from tailrace.answers.identity import PAIR, SIDES, Identity
from tailrace.answers.model import AffectedAnswers, AnswerModel, T_co, WaysToMeasure
from tailrace.answers.pair_revision import revise_pairs
from tailrace.answers.revision import Revision
from tailrace.ground import matching
from tailrace.ground.columns import Ints
from tailrace.ground.matching import Rows, select


class PairAnswers(AnswerModel, ABC):
    """Base of the answer models by pairs (`answers.model.AnswerModel`).

    The first tuple of each id determines the pair of two ids, as soon as both have arrived. So a pair stays right or
    wrong for ever. A correction writes rows only for pairs that are missing or wrong, or that may be wrong in a version
    that it does not read (`answers.pair_revision`).
    """

    @property
    @abstractmethod
    def identity(self) -> Identity: ...

    @property
    def row_identity(self) -> tuple[str, ...]:
        return self.identity.determining

    @property
    def late_time(self) -> str:
        return "event_time"

    def fields(self, left: pa.DataType, right: pa.DataType) -> list[pa.Field]:
        """Return the fields of the identity, given the types of the two streams' ids; times are in ms."""
        types = {"left_id": left, "right_id": right}
        return [pa.field(name, types.get(name, pa.int64())) for name in self.identity.columns]

    def late(self, id_type: pa.DataType) -> pa.Schema:
        """Return the schema of a late row: its id, in a type for the ids of both streams, and its event time (ms)."""
        return pa.schema([("id", id_type), ("event_time", pa.int64())])

    def first_rows(self, answers: Rows) -> Rows:
        return answers

    @property
    def can_lack_tuples(self) -> bool:
        return False  # a pair holds its two tuples

    @property
    def late_margin_ms(self) -> int:
        return 0

    def explode_late(self, late: pa.Table, *names: str, among: Rows | None = None) -> pa.Table:
        """Return no rows: only its partners determine which pairs a late tuple missed."""
        return late.slice(0, 0).select(list(names))

    def affected_from(self, rows: Rows) -> AffectedAnswers:
        times = np.concatenate([np.asarray(rows.column(f"{side}_time")) for side in SIDES])
        return self.identified(rows, times)

    def missed_or_repeated(self, late: pa.Table, given: pa.Table, repeats: Sequence[pa.Table]) -> AffectedAnswers:
        return self.missed_by(pa.concat_tables([late, *self._as_late(late.schema, given, repeats)]))

    def _as_late(self, schema: pa.Schema, given: pa.Table, repeats: Sequence[pa.Table]) -> Iterator[pa.Table]:
        """Yield the repeats that given answers hold, as rows of the table `late` that missed those answers."""
        for side, repeated in zip(SIDES, repeats, strict=True):
            mine = [f"{side}_id", f"{side}_time"]
            tuples = given.select(mine).append_column("horizon", pa.array(self.horizon(given)))
            tuples = (
                tuples.group_by(mine).aggregate([("horizon", "max")]).rename_columns(["id", "event_time", "frontier"])
            )
            names = ["id", "event_time"]
            held = select(tuples, matching.find(*matching.number_rows([tuples, repeated.select(names)], names)) >= 0)
            rows = {name: held[name].cast(schema.field(name).type) for name in held.column_names}
            rows |= {"stream": pa.repeat(side, held.num_rows)}
            none = {field.name: pa.nulls(held.num_rows, field.type) for field in schema}
            yield pa.table(none | rows, schema)

    def revise(self, revision: Revision) -> pa.Table:
        return revise_pairs(self, revision)

    def measure(self, ways: WaysToMeasure[T_co]) -> T_co:
        return ways.by_shortest_waits(self.shortest_wait)

    @abstractmethod
    def identified(self, answers: Rows, times: Ints) -> AffectedAnswers:
        """Return the answers of these rows, whose tuples have the event times `times`.

        The times in the rows may differ.
        """

    @abstractmethod
    def shortest_wait(self, answers: Rows, came: Ints, t_max: Ints) -> Ints:
        """Return the shortest slack K (allowed lateness) with which the stream gives each answer, in ms; shape (n,).

        Parameters
        ----------
        came, t_max : ndarray, shape (2, n)
            The tick in which the left and the right tuple of each answer came, and t_max before it.
        """


@dataclass(frozen=True)
class ByPair(PairAnswers):
    """The answer model of kinds that answer each pair of tuples once (`answers.model.AnswerModel`).

    Attributes
    ----------
    kept_ms : (int, int)
        How far behind F the event times of stored left and right tuples lie at most.
    """

    kept_ms: tuple[int, int]

    @property
    def reach_ms(self) -> int:
        """The longest distance of the event times of a pair."""
        return max(self.kept_ms)

    @property
    def identity(self) -> Identity:
        return PAIR

    def horizon(self, answers: Rows) -> Ints:
        left, right = (np.asarray(answers.column(name)) for name in self.horizon_columns)
        return np.asarray(np.maximum(left, right))

    @property
    def horizon_columns(self) -> tuple[str, ...]:
        return "left_time", "right_time"

    def expiry_frontier(self, event_times: Ints, side: int) -> Ints:
        return event_times + self.kept_ms[side] + 1

    def close_frontier(self, event_time: int) -> int:
        return event_time + 1

    @property
    def order(self) -> tuple[str, ...]:
        return "left_time", "right_time", "left_id", "right_id"

    def shortest_wait(self, answers: Rows, came: Ints, t_max: Ints) -> Ints:
        """Return the shortest K that keeps the first tuple until the later one comes.

        The first tuple is stored as long as F, before the tick of the later one, has not passed it by more than
        `kept_ms`.
        """
        left, right = (np.asarray(answers.column(name)) for name in self.horizon_columns)
        until = np.where(came[0] < came[1], left + self.kept_ms[0], right + self.kept_ms[1])
        needed = t_max.max(axis=0) - until
        return np.where(came[0] == came[1], 0, np.maximum(needed, 0))

    def missed_by(self, late: pa.Table) -> MissedPairs:
        return MissedPairs.from_late(late, self.reach_ms)

    def closed(self, event_times: tuple[int, int], frontier: int) -> ClosedPairs:
        return ClosedPairs(event_times, self.reach_ms, frontier)

    def identified(self, answers: Rows, times: Ints) -> IdentifiedPairs:
        return IdentifiedPairs(pa.table(answers.select(self.identity.determining)), times)
