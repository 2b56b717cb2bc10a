"""Answers by pairs of a left and a right tuple.

A correction adds missed pairs, and retracts pairs that only exist because of a repeated id. The first tuple of each id
determines the pair of two ids for ever, so a known pair with the right content keeps its version and its as_of.

Versions are read by the event times that a correction covers. Repeats may have produced the same pair of ids with other
event times, so a later version may exist outside of the range. The left id of such a pair occurs outside of the range,
too, so a pair with such an id always gets a next version.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tailrace.answers.affected_pairs import ClosedPairs, IdentifiedPairs, MissedPairs
from tailrace.answers.changed_answers import are_same
from tailrace.answers.identity import PAIR, SIDES, Identity
from tailrace.answers.model import AffectedAnswers, AnswerModel, Revision, T_co, WaysToMeasure
from tailrace.answers.versions import of_others, with_retractions, with_stamps, without_retracted
from tailrace.ground.arrow import matching
from tailrace.ground.arrow.answer_columns import RETRACTED
from tailrace.ground.arrow.columns import Ints, unify
from tailrace.ground.arrow.matching import Rows, select


class PairAnswers(AnswerModel, ABC):
    """Base of the answer models by pairs (`answers.model.AnswerModel`).

    The first tuple of each id determines the pair of two ids, as soon as both have arrived. So a pair stays right or
    wrong for ever. A correction writes rows only for pairs that are missing or wrong, or that may be wrong in a version
    that it does not read.
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
        return False  # a pair has two tuples

    @property
    def late_margin_ms(self) -> int:
        return 0

    def explode_late(self, late: pa.Table, *names: str, among: Rows | None = None) -> pa.Table:
        """Return no rows, as the pairs that a late tuple missed depend on its partners."""
        return late.slice(0, 0).select(list(names))

    def affected_from(self, rows: Rows) -> AffectedAnswers:
        times = np.concatenate([np.asarray(rows.column(f"{side}_time")) for side in SIDES])
        return self.identified(rows, times)

    def missed_or_repeated(self, late: pa.Table, given: pa.Table, repeats: Sequence[pa.Table]) -> AffectedAnswers:
        return self.missed_by(pa.concat_tables([late, *self._as_late(late.schema, given, repeats)]))

    def _as_late(self, schema: pa.Schema, given: pa.Table, repeats: Sequence[pa.Table]) -> Iterator[pa.Table]:
        """Yield the repeats in streamed answers, in the form of rows of the table `late` that missed these answers."""
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
        """Return the affected pairs to add or replace, and retractions of pairs that should not exist."""
        identity, affected, versions = self.identity, revision.affected, revision.versions
        versions = select(
            versions, versions["as_of"].to_numpy() <= revision.before
        )  # the version of a later cut-off may not count yet
        touched = select(versions, affected.contains(versions))
        versions = select(versions, identity.find(versions, touched) >= 0)
        evaluated = _next_pairs(self, revision, versions)
        latest = identity.latest(of_others(versions, revision.interval))
        gone = select(latest, identity.find(latest, evaluated) < 0)
        is_known = _is_known(identity, revision.schema, evaluated, without_retracted(latest))
        is_gone = gone[RETRACTED].to_numpy()
        if is_known.any() or is_gone.any():  # other pairs get a row anyway
            elsewhere = revision.history.ids_outside(0, affected)
            is_known, is_gone = is_known & ~_has_left_id(evaluated, elsewhere), is_gone & ~_has_left_id(gone, elsewhere)
        rows, gone = select(evaluated, ~is_known), identity.first_rows(select(gone, ~is_gone))
        return with_retractions(with_stamps(identity, rows, versions), gone)

    def measure(self, ways: WaysToMeasure[T_co]) -> T_co:
        return ways.by_shortest_waits(self.shortest_wait)

    @abstractmethod
    def identified(self, answers: Rows, times: Ints) -> AffectedAnswers:
        """Return the answers of these rows, whose tuples have the event times `times`.

        The times in the rows may differ.
        """

    @abstractmethod
    def shortest_wait(self, answers: Rows, came: Ints, t_max: Ints) -> Ints:
        """Return the shortest slack K (allowed lateness, ms) with which the stream finds each answer; shape (n,).

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
        The greatest distance behind F of the event times of stored left and right tuples.
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


def _next_pairs(model: PairAnswers, revision: Revision, versions: pa.Table) -> pa.Table:
    """Return the affected pairs over all tuples before the cut-off, without repeats.

    `versions` has all versions of pairs. A pair is only missing if its later tuple is late. A known pair that is not
    among the affected ones came from a repeat. Its ids may have come first with other event times, even distant ones,
    so these are looked up.
    """
    history = revision.history
    if not versions.num_rows and not (revision.late["arrived"].to_numpy() <= revision.before).any():
        return revision.schema.empty_table()
    evaluated = history.evaluate(revision.affected)
    rest = select(versions, model.identity.find(versions, evaluated) < 0)
    if not rest.num_rows:
        return evaluated
    times = [history.event_times(side, rest.column(f"{name}_id").combine_chunks()) for side, name in enumerate(SIDES)]
    return pa.concat_tables([evaluated, history.evaluate(model.identified(rest, np.concatenate(times)))])


def _is_known(identity: Identity, schema: pa.Schema, evaluated: pa.Table, latest: pa.Table) -> NDArray[np.bool_]:
    """Test which pairs have one row among the latest versions, with the same content."""
    number, others = identity.number(evaluated, latest)
    once = np.bincount(others, minlength=number.max(initial=-1) + 1)[number] == 1
    return np.asarray(once & are_same(identity.determining, schema, evaluated, latest))


def _has_left_id(pairs: pa.Table, ids: pa.Array) -> NDArray[np.bool_]:
    number, others = unify([pairs.column("left_id"), ids])[1]
    return np.isin(number, others)
