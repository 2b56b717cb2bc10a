"""The kind `spatial_join` with `join: window`: pairs of two streams in each window that holds both (paper 003)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from tailrace.answers.by_pair_in_window import ByPairInWindow
from tailrace.disorder.clock import Frontier
from tailrace.ground.arrow.columns import Floats, Ints, single_batch
from tailrace.kind.joined_pairs import TUPLES
from tailrace.kind.step import Step
from tailrace.operators import window_join
from tailrace.operators.chunk import Chunk, Chunks
from tailrace.operators.chunked_rows import ChunkedRows
from tailrace.operators.interval_join import Matches
from tailrace.operators.window_join import WindowPairState
from tailrace.partition.by_key import task_of
from tailrace.partition.routes import TaskSlot
from tailrace.spatial_join.streams.joined_streams import JoinedStreams
from tailrace.windows.sliding import Sliding


@dataclass(frozen=True, kw_only=True)
class SpatialWindowJoin(JoinedStreams):
    """Pairs of related geometries in each window that holds both, answered as the window closes (SINLJ: definition 6).

    A pair is found once, when its later tuple comes, however many windows contain it.

    Attributes
    ----------
    sliding : Sliding
    """

    sliding: Sliding

    @property
    def windows(self) -> Sliding:
        return self.sliding

    @property
    def bounds_ms(self) -> None:
        return None

    @property
    def answers(self) -> ByPairInWindow:
        return ByPairInWindow(self.sliding)

    def start(self) -> WindowPairState:
        return WindowPairState.from_chunks({})

    def restore(self, batches: dict[str, pa.RecordBatch], chunks: Chunks) -> WindowPairState:
        return WindowPairState.from_chunks(chunks)

    def match(self, left: Sequence[Chunk], right: Sequence[Chunk], new: int) -> Matches:
        """Find the pairs of new rows of one side that share a window."""
        apart = self.sliding.size_ms - 1
        return self.join.match((left, right), new, (-apart, apart), self.task_slot, self.sliding)

    def step(self, state: WindowPairState, arrived: tuple[pa.Table, ...], frontier: Frontier) -> Step:
        state, closed, late = window_join.step(self.sliding, self.pairs, state, arrived, frontier, self.carried)
        answers = self._in_windows(closed.pairs, closed.end)
        return Step(state, answers, frontier.closing(closed.end), late, closed.loads, closed.counts)

    def moved(self, states: Sequence[WindowPairState], slot: TaskSlot) -> WindowPairState:
        """Return the stored rows of one task, and its share of the waiting pairs; see `Rescalable`."""
        waiting = [chunk.rows for state in states for chunk in state.pairs.chunks]
        mine = [rows.filter(pa.array(task_of(rows.column("left_id"), slot.tasks) == slot.task)) for rows in waiting]
        sides: WindowPairState = super().moved(states, slot)
        return replace(sides, pairs=ChunkedRows.from_parts(mine, None, window_join.FIRST_END))

    def _answers(
        self, left: pa.Table | pa.RecordBatch, right: pa.Table | pa.RecordBatch, values: Mapping[str, Floats]
    ) -> pa.RecordBatch:
        times = [np.asarray(side.column("event_time")) for side in (left, right)]
        row, end = window_join.shared_windows(self.sliding, *times)
        pairs = pa.table(
            {
                f"{name}_{part}": side.column(column)
                for part, column in (("id", "id"), ("time", "event_time"))
                for name, side in (("left", left), ("right", right))
            }
            | self._values(left, right, values)
        )
        return self._in_windows(pairs.take(pa.array(row)), end)

    def _in_windows(self, pairs: pa.Table, end: Ints) -> pa.RecordBatch:
        """Return the answers for pairs, each in the window with the given end."""
        columns = {name: pairs[name] for name in pairs.column_names}
        columns |= {"window_start": pa.array(end - self.sliding.size_ms), "window_end": pa.array(end)}
        columns["tuples"] = pa.repeat(pa.scalar(TUPLES, pa.int64()), pairs.num_rows)
        return single_batch(pa.table([columns[name] for name in self.answer.names], schema=self.answer))
