"""Common base of the kinds that join two streams and answer each pair within a reach of event time."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Self

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tailrace.answers.by_pair import ByPair, PairAnswers
from tailrace.disorder.clock import Frontier
from tailrace.ground.arrow.columns import Floats, Ints, single_batch
from tailrace.ground.arrow.times import EVENT_US
from tailrace.ground.errors import Problem
from tailrace.kind.capabilities import FAILURE
from tailrace.kind.column_use import ColumnUse
from tailrace.kind.inputs import ColumnTypes, Input, common_id_type
from tailrace.kind.pair_condition import PairCondition
from tailrace.kind.pair_quality import PairQuality
from tailrace.kind.selection import Selected, columns_of_side, types_of
from tailrace.kind.step import Step
from tailrace.operators import interval_join
from tailrace.operators.chunk import Chunk, Chunks, take
from tailrace.operators.chunked_rows import ChunkedRows
from tailrace.operators.interval_join import SIDES, Matches, PairState
from tailrace.partition.routes import LEFT, RIGHT, Partition, TaskSlot, spread_again
from tailrace.windows.sliding import Sliding

TUPLES = 2
"""The number of tuples in an answer."""

_BLOCK_ROWS, _RIGHT_ROWS = 4096, 32_768  # left and right tuples in a block of an evaluation


@dataclass(frozen=True)
class JoinedPairs(PairQuality):
    """Base of a kind that answers pairs of a left and a right tuple.

    A kind adds inputs, partition, `prepare` and `match`.

    Attributes
    ----------
    reach_ms : int
        The greatest distance of the event times of a pair.
    column_types : pair of ColumnTypes
        The types of the columns of either side.
    selection : tuple of Selected
        The columns of an answer that `select` names, beside its identity.
    condition : PairCondition or None
        The condition `where`, which keeps some of the matching pairs.
    keeps_failed : bool
        Whether answers include pairs for which the condition fails, with the column `FAILURE`.
    uses : tuple of ColumnUse
        The uses of the columns of both sides.
    sort_key : str or None
        The column by which prepared rows are sorted for `match`.
    """

    reach_ms: int
    column_types: tuple[ColumnTypes, ColumnTypes] = (ColumnTypes(), ColumnTypes())
    selection: tuple[Selected, ...] = ()
    condition: PairCondition | None = None
    keeps_failed: bool = False
    uses: tuple[ColumnUse, ...] = ()

    sort_key: ClassVar[str | None] = None

    @property
    def values(self) -> dict[str, pa.DataType]:
        """The columns of an answer between its identity and `tuples`: carried columns, and doubles from `match`."""
        failure = {FAILURE: pa.string()} if self.keeps_failed else {}
        return types_of(self.selection, self.column_types) | failure

    @property
    def carried(self) -> tuple[tuple[str, ...], ...]:
        """The columns of each side's tuples and rows that are copied to answers under the same names."""
        return tuple(tuple(columns_of_side(self.selection, side)) for side in (LEFT, RIGHT))

    @property
    def bin_ms(self) -> int | None:
        """The length of the bins of event time in which rows are stored, see `ChunkedRows`."""
        return None

    @property
    def bounds_ms(self) -> tuple[int, int] | None:
        """The least and the greatest right time − left time of a pair; None where windows bound it."""
        return -self.reach_ms, self.reach_ms

    @property
    def times(self) -> list[str]:
        """The columns of a row with its event time."""
        return ["event_time"] if self.bounds_ms is None else ["event_time", EVENT_US]

    @property
    def kept_ms(self) -> tuple[int, int]:
        """The distance behind F up to which left and right tuples are stored, see `interval_join.step`.

        The larger one is the reach.
        """
        return self.reach_ms, self.reach_ms

    @property
    def row_weight(self) -> int:
        return 1

    @property
    @abstractmethod
    def inputs(self) -> tuple[Input, ...]:
        """The inputs, see `Kind.inputs`."""

    @property
    @abstractmethod
    def partition(self) -> Partition:
        """The partitioning of both streams, see `Kind.partition`."""

    @abstractmethod
    def prepare(self, tuples: pa.RecordBatch, side: int = 0) -> pa.RecordBatch:
        """Prepare rows, see `Kind.prepare`."""

    @abstractmethod
    def match(self, left: Sequence[Chunk], right: Sequence[Chunk], new: int) -> Matches:
        """Find the pairs of matching rows within `bounds_ms` by their milliseconds, see `interval_join.Match`."""

    @property
    def windows(self) -> Sliding:
        return Sliding(max(self.reach_ms, 1), max(self.reach_ms, 1))

    @property
    def answers(self) -> PairAnswers:
        return ByPair(self.kept_ms)

    @property
    def late(self) -> pa.Schema:
        return self.answers.late(common_id_type(self.inputs))

    @property
    def answer(self) -> pa.Schema:
        left, right = (types.id for types in self.column_types)
        return pa.schema([*self.answers.fields(left, right), *self.values.items(), ("tuples", pa.int64())])

    def type_problems(self) -> list[Problem]:
        """Return the problems of `where`, see `TypedByColumns`."""
        return [] if self.condition is None else self.condition.problems()

    def pairs(self, left: Sequence[Chunk], right: Sequence[Chunk], new: int) -> Matches:
        """Find the pairs as `match` does, and keep those within the bounds that fulfil `where`."""
        matches = self._within_bounds(left, right, self.match(left, right, new))
        if self.condition is None or not (len(matches.left) or self.keeps_failed):
            return matches
        values: dict[str, pa.ChunkedArray] = {}
        for side, (chunks, rows) in enumerate(zip((left, right), (matches.left, matches.right), strict=True)):
            names = {name: each.name for name, each in self.condition.columns.items() if each.side == side}
            table = pa.Table.from_batches([chunk.rows.select([*names.values()]) for chunk in chunks])
            values |= dict(zip(names, take(table, rows).columns if names else (), strict=True))
        tested = self.condition.test(values, len(matches.left))
        if not self.keeps_failed:
            return matches.only(tested.kept, tested.counts)
        matches = matches._replace(columns={**matches.columns, FAILURE: tested.reasons})
        return matches.only(tested.kept | tested.failed, tested.counts)

    def _within_bounds(self, left: Sequence[Chunk], right: Sequence[Chunk], matches: Matches) -> Matches:
        """Leave out pairs that are beyond a bound by less than a millisecond.

        The bounds are whole milliseconds, so the milliseconds of such a pair differ by exactly the bound.
        """
        if self.bounds_ms is None or not len(matches.left):
            return matches
        sides = (left, matches.left), (right, matches.right)
        left_ms, right_ms = (_taken(chunks, "event_time", rows) for chunks, rows in sides)
        apart_ms, (lower, upper) = right_ms - left_ms, self.bounds_ms
        at_bound = np.flatnonzero((apart_ms == lower) | (apart_ms == upper))
        if not len(at_bound):
            return matches
        left_us, right_us = (_taken(chunks, EVENT_US, rows[at_bound]) for chunks, rows in sides)
        more, apart_ms = right_us - left_us, apart_ms[at_bound]
        is_beyond = ((apart_ms == upper) & (more > 0)) | ((apart_ms == lower) & (more < 0))
        kept = np.ones(len(matches.left), bool)
        kept[at_bound[is_beyond]] = False
        return matches.only(kept, {}) if is_beyond.any() else matches

    def counting(self) -> Self:
        """Return the kind whose `evaluate` keeps failed pairs, see `capabilities.Counting`."""
        return self if self.condition is None else replace(self, keeps_failed=True)

    def start(self) -> Any:
        return PairState.from_chunks({}, self.bin_ms)

    def restore(self, batches: dict[str, pa.RecordBatch], chunks: Chunks) -> Any:
        return PairState.from_chunks(chunks, self.bin_ms)

    def step(self, state: Any, arrived: tuple[pa.Table, ...], frontier: Frontier) -> Step:
        state, pairs, late = interval_join.step(
            self.kept_ms, self.pairs, state, arrived, frontier, self.sort_key, self.carried
        )
        answers = self._answers(pairs.left, pairs.right, pairs.columns)
        return Step(state, answers, pairs.decided_at, late, pairs.loads, pairs.counts)

    def moved(self, states: Sequence[Any], slot: TaskSlot) -> Any:
        """Return the stored rows of one task, see `Rescalable`."""
        sides = {
            name: ChunkedRows.from_parts(self.moved_rows(side, stored, slot).to_batches(), self.bin_ms, self.sort_key)
            for side, name in enumerate(SIDES)
            if (stored := [chunk.rows for state in states for chunk in state.chunks[name]])
        }
        return replace(self.start(), **sides)

    def moved_rows(self, side: int, rows: Sequence[pa.RecordBatch], slot: TaskSlot) -> pa.Table:
        """Return the rows of one task, see `Rescalable`; rows are redistributed without their replicas."""
        at_home = [part.filter(pc.greater(part.column("tuples"), 0)) for part in rows]
        return spread_again(self.partition, side, at_home, slot)

    def evaluate(self, *content: pa.RecordBatch) -> pa.RecordBatch:
        """Return all pairs of the given tuples; their order and lateness do not matter."""
        left, right = (tuples.sort_by("event_time") for tuples in content)
        parts = [self._evaluate(left[mine], right[others]) for mine, others in self._blocks(left, right)]
        return single_batch(pa.Table.from_batches(parts, self.answer))

    def _blocks(self, left: pa.RecordBatch, right: pa.RecordBatch) -> Iterator[tuple[slice, slice]]:
        """Cut tuples (in order of event time) into blocks of left tuples, each with all right tuples within reach.

        A block spans the reach, or more if it would have fewer than `_BLOCK_ROWS` tuples. It ends earlier where more
        than `_RIGHT_ROWS` right tuples would be within its reach, but has at least one tuple.
        """
        time, other = (np.asarray(side.column("event_time")) for side in (left, right))
        start = 0
        while start < len(time):
            end = max(int(np.searchsorted(time, time[start] + self.reach_ms, side="right")), start + _BLOCK_ROWS)
            first = int(np.searchsorted(other, time[start] - self.reach_ms, side="left"))
            if first + _RIGHT_ROWS < len(other):
                until = other[first + _RIGHT_ROWS] - self.reach_ms
                end = min(end, max(int(np.searchsorted(time, until, side="left")), start + 1))
            mine = slice(start, min(end, len(time)))
            yield mine, slice(first, int(np.searchsorted(other, time[mine.stop - 1] + self.reach_ms, side="right")))
            start = mine.stop

    def _evaluate(self, left: pa.RecordBatch, right: pa.RecordBatch) -> pa.RecordBatch:
        prepared = (pa.Table.from_batches([self.prepare(tuples, side)]) for side, tuples in enumerate((left, right)))
        left, right = (interval_join.in_order(rows, self.sort_key) for rows in prepared)
        matches = self.pairs([Chunk(left)], [Chunk(right)], 0)
        left, right = left.take(pa.array(matches.left)), right.take(pa.array(matches.right))
        return self._answers(left, right, matches.columns)

    def _answers(
        self, left: pa.Table | pa.RecordBatch, right: pa.Table | pa.RecordBatch, values: Mapping[str, Floats]
    ) -> pa.RecordBatch:
        columns = [side.column(name) for name in ("id", "event_time") for side in (left, right)]
        others = self._values(left, right, values)
        columns += [others[name] for name in self.values]
        columns.append(pa.repeat(pa.scalar(TUPLES, pa.int64()), left.num_rows))
        return single_batch(pa.table(columns, schema=self.answer))

    def _values(
        self, left: pa.Table | pa.RecordBatch, right: pa.Table | pa.RecordBatch, computed: Mapping[str, Floats]
    ) -> dict[str, pa.Array | pa.ChunkedArray]:
        """Return the columns of answers beside the identity: computed ones, with NaN as null, and carried ones."""
        sides = zip((left, right), self.carried, strict=True)
        carried = {name: side.column(name) for side, names in sides for name in names}
        failures = {FAILURE: pa.array(computed[FAILURE], pa.string())} if self.keeps_failed else {}
        numbers = {name: each for name, each in computed.items() if name not in failures}
        return {name: pa.array(each, mask=np.isnan(each)) for name, each in numbers.items()} | failures | carried


def _taken(chunks: Sequence[Chunk], name: str, rows: Ints) -> Ints:
    """Return the values of an integer column in some rows, which are numbered across the chunks."""
    return np.concatenate([np.asarray(chunk.rows.column(name)) for chunk in chunks])[rows]
