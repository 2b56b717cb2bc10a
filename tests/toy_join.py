"""A toy kind with two inputs: left and right tuples of the same value, whose event times are at most a reach apart."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from tailrace.answers.by_pair import ByPair
from tailrace.disorder.clock import Frontier
from tailrace.ground.columns import single_batch, unify
from tailrace.ground.facts import Facts
from tailrace.kind.inputs import Input, NameTypes, common_id_type
from tailrace.kind.step import Step
from tailrace.partition.by_key import hash_of, task_of
from tailrace.partition.routes import Routes
from tailrace.windows.sliding import Sliding


class ToyPartition:
    """The right side goes to all tasks, the left one to a task by its value; a right tuple's home goes by its id."""

    def assign(self, side: int, rows: pa.RecordBatch, plans: Facts, tasks: int) -> Routes:
        count = rows.num_rows
        if side == 0:
            return Routes(np.arange(count), task_of(rows.column("value"), tasks), np.ones(count, bool))
        row, task = np.repeat(np.arange(count), tasks), np.tile(np.arange(tasks), count)
        home = (hash_of(rows.column("id")) % np.uint64(tasks)).astype(np.int64)
        return Routes(row, task, task == home[row])


@dataclass(frozen=True)
class ToyState:
    """The tuples of each side that may still meet another."""

    left: pa.RecordBatch
    right: pa.RecordBatch

    def to_arrow(self) -> dict[str, pa.RecordBatch]:
        return {"left": self.left, "right": self.right}


@dataclass(frozen=True)
class ToyJoin:
    """The kind; the types of the two streams' ids may differ."""

    reach_ms: int
    left_id: pa.DataType = pa.string()  # noqa: RUF009
    right_id: pa.DataType = pa.string()  # noqa: RUF009

    @property
    def windows(self) -> Sliding:
        return Sliding(max(self.reach_ms, 1), max(self.reach_ms, 1))

    @property
    def inputs(self) -> tuple[Input, ...]:
        ids = self.left_id, self.right_id
        return tuple(Input({"value": "value"}, NameTypes(pa.string(), id_), {"value": pa.string()}) for id_ in ids)

    @property
    def partition(self) -> ToyPartition:
        return ToyPartition()

    @property
    def answers(self) -> ByPair:
        return ByPair(self.reach_ms)

    @property
    def answer(self) -> pa.Schema:
        return pa.schema([*self.answers.fields(self.left_id, self.right_id), ("tuples", pa.int64())])

    @property
    def late(self) -> pa.Schema:
        return self.answers.late(common_id_type(self.inputs))

    def prepare(self, tuples: pa.RecordBatch, side: int = 0) -> pa.RecordBatch:
        one = pa.array(np.ones(tuples.num_rows, np.int64))
        return tuples.select(["tick", "id", "event_time", "value"]).append_column("tuples", one)

    def start(self) -> ToyState:
        return ToyState(*(self.prepare(each.no_tuples, side) for side, each in enumerate(self.inputs)))

    def restore(self, batches: dict[str, pa.RecordBatch]) -> ToyState:
        return ToyState(batches["left"], batches["right"])

    def step(self, state: ToyState, arrived: tuple[pa.Table, ...], frontier: Frontier) -> Step:
        """Tick by tick: the new tuples meet each other and those that are there."""
        there = [state.left, state.right]
        answers, decided_at, late = [self.answer.empty_table()], [], [[], []]
        for index, tick in enumerate(frontier.tick.tolist()):
            if index and frontier.tick[index - 1] == tick:  # the end, at which only F moves on
                continue
            before = int(frontier.before(np.array([index]))[0])
            new = [single_batch(rows.filter(pa.array(rows["tick"].to_numpy() == tick))) for rows in arrived]
            for side, rows in enumerate(new):
                own = np.asarray(rows.column("tuples")) > 0
                is_late = (np.asarray(rows.column("event_time")) < before) & own
                found = rows.filter(pa.array(is_late))
                late[side].append(found.append_column("frontier", pa.array(np.full(len(found), before))))
            both = [pa.concat_batches([old, rows]) for old, rows in zip(there, new, strict=True)]
            met = pa.concat_batches([self.evaluate(new[0], both[1]), self.evaluate(there[0], new[1])])
            met = pa.Table.from_batches([self.answers.identity.first_rows(met)])
            answers.append(met)
            decided_at += [index] * len(met)
            horizon = int(frontier.after[index]) - self.reach_ms
            there = [rows.filter(pa.array(np.asarray(rows.column("event_time")) >= horizon)) for rows in both]
        nothing = [rows.slice(0, 0).append_column("frontier", pa.array([], pa.int64())) for rows in there]
        rows = tuple(pa.concat_batches([empty, *parts]) for empty, parts in zip(nothing, late, strict=True))
        result = single_batch(pa.concat_tables(answers))
        return Step(ToyState(*there), result, np.array(decided_at, np.int64), rows)

    def evaluate(self, *content: pa.RecordBatch) -> pa.RecordBatch:
        """All pairs, by trying each left tuple with each right one."""
        left, right = content
        (value, other), (time, other_time) = (
            unify([left.column("value"), right.column("value")])[1],
            [np.asarray(rows.column("event_time")) for rows in content],
        )
        apart = np.abs(time[:, None] - other_time[None, :])
        row, other_row = np.nonzero((value[:, None] == other[None, :]) & (apart <= self.reach_ms))
        ids = left.column("id").take(pa.array(row)), right.column("id").take(pa.array(other_row))
        columns = [*ids, time[row], other_time[other_row], np.full(len(row), 2)]
        return pa.RecordBatch.from_arrays([pa.array(column) for column in columns], schema=self.answer)

    def errors(self, approximate: pa.Table, exact: pa.Table) -> pa.RecordBatch:
        """0 of a pair that is there, 1 of one that is missing."""
        missing = self.answers.identity.find(exact, approximate) < 0
        rows = exact.select(self.answers.identity.columns).append_column("error", pa.array(missing.astype(np.float64)))
        return single_batch(rows)

    def quality(self, approximate: pa.Table, exact: pa.Table) -> float:
        """The recall: the share of the exact pairs that are there."""
        error = np.asarray(self.errors(approximate, exact).column("error"))
        return float(1 - error.mean()) if len(error) else 1.0
