"""The join of two streams' geometries in a task: candidates by a local index, and the pairs that the task owns."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from threading import Lock
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa

from tailrace.ground.arrow.columns import Floats, Ints, group_sums
from tailrace.operators.chunk import Chunk
from tailrace.operators.interval_join import Matches
from tailrace.partition import by_cell
from tailrace.partition.by_cell import ByCell, fraction
from tailrace.partition.by_span import ByHash
from tailrace.partition.grid import Grid
from tailrace.partition.routes import LEFT, Partition, TaskSlot
from tailrace.spatial_join.derived import derived
from tailrace.spatial_join.geometry.geometries import Geometries, Mask, Points
from tailrace.spatial_join.geometry_input import GeometryInput
from tailrace.spatial_join.search.condition import Condition
from tailrace.spatial_join.search.pair_search import LocalIndex, nested_loops
from tailrace.spatial_join.search.pairs import NO_PAIRS, JoinInterval, Pairs
from tailrace.spatial_join.search.queries import Queries
from tailrace.windows.sliding import Sliding

Sides = Sequence[Sequence[Chunk]]
"""The chunks of the left and of the right side."""


@dataclass(frozen=True)
class StreamJoin:
    """Matches rows of two streams by their geometries and event times (paper 003, Algorithms 2 to 4).

    The left stream drives the join: copies of its rows go to all cells where partners may lie.

    Attributes
    ----------
    inputs : pair of GeometryInput
        How the geometries of the left and the right stream are stored in rows.
    condition : Condition
    derived : tuple of str
        The columns computed from a pair: `distance`, `azimuth`.
    grid : Grid or None
        The grid by whose cells rows are spread over tasks. None: left rows are spread by hash, right rows go to all
        tasks.
    is_indexed : bool
        False: all pairs are tested, as in the paper's baseline.
    """

    inputs: tuple[GeometryInput, GeometryInput]
    condition: Condition
    derived: tuple[str, ...] = ()
    grid: Grid | None = None
    is_indexed: bool = True

    @property
    def partition(self) -> Partition:
        """The partitioning of both streams."""
        return ByHash() if self.grid is None else ByCell(self.grid, self.boxes)

    def boxes(self, side: int, rows: pa.RecordBatch) -> tuple[Ints, Floats]:
        """Return the boxes of rows, widened by the distance for left rows; see `by_cell.Boxes`."""
        bounds = self.inputs[side].geometries(rows).bounds
        if side == LEFT:
            boxes = self.condition.boxes(bounds)
            return boxes.row, boxes.bounds
        row = np.flatnonzero(~np.isnan(bounds[:, 0]))
        return row, bounds[row]

    def match(
        self,
        sides: Sides,
        new: int,
        interval: tuple[int, int],
        task_slot: TaskSlot | None,
        windows: Sliding | None = None,
    ) -> Matches:
        """Find the pairs with lower ≤ right time − left time ≤ upper that belong to a task.

        The new rows query the chunks of the other side one by one, each by its own index.

        Parameters
        ----------
        sides : pair of sequences of Chunk
            Rows with `id`, `event_time`, `plan` and their geometries.
        new : int
            The side that queries the other one; it has one chunk.
        interval : (int, int)
            lower and upper, in ms.
        task_slot : TaskSlot or None
            The task; None where all pairs belong to it.
        windows : Sliding, optional
            Windows, one of which must contain both tuples.
        """
        ((mine,), others), first = (sides[new], sides[1 - new]), 0
        queries = Queries(self.inputs[new].geometries(mine.rows), self.condition)
        rows = [(mine.rows, chunk.rows) if new == LEFT else (chunk.rows, mine.rows) for chunk in others]
        near = [_can_meet(*both, interval) for both in rows]
        parts = [Matches(*NO_PAIRS, dict.fromkeys(self.derived, np.zeros(0)))]
        for chunk, both, is_near, index in zip(
            others, rows, near, self._indexes(others, near, new, task_slot), strict=True
        ):
            if is_near and index is not None:
                matches = self._matches(_times(both, interval, windows), both, index, queries, new, task_slot)
                parts.append(matches.after(0, first) if new == LEFT else matches.after(first, 0))
            first += chunk.rows.num_rows
        return Matches.joined(parts)

    def _indexes(
        self, chunks: Sequence[Chunk], near: Sequence[bool], new: int, task_slot: TaskSlot | None
    ) -> list[LocalIndex | None]:
        """Return the indexes of the chunks of the queried side."""
        geometry = self.inputs[1 - new]
        owner = (new, geometry, self.condition, task_slot and task_slot.task)
        return INDEXES.indexes(
            owner,
            chunks,
            near,
            lambda chunk: LocalIndex.from_geometries(geometry.geometries(chunk.rows), self.condition),
        )

    def next_plan(
        self, plan: Mapping[str, Any] | None, loads: Mapping[str, Floats], tasks: int
    ) -> Mapping[str, Any] | None:
        """Return the next partition plan, see `LoadBalanced`; `loads` has `cell` and `load`."""
        if self.grid is None:
            return plan
        return by_cell.next_plan(self.grid, plan, loads["cell"].astype(np.int64), loads["load"], tasks)

    def _matches(
        self,
        times: JoinInterval,
        rows: tuple[pa.RecordBatch, pa.RecordBatch],
        index: LocalIndex,
        queries: Queries,
        new: int,
        task_slot: TaskSlot | None,
    ) -> Matches:
        sides = (queries.geometries, index.geometries)
        one, two = sides if new == LEFT else sides[::-1]
        if self.is_indexed:
            pairs = index.query(queries, new != LEFT, times)
        else:
            pairs = nested_loops(one, two, self.condition, times)
        loads: dict[str, Floats] = {}
        if self.grid is not None and task_slot is not None and task_slot.tasks > 1:
            spots = Spots.from_pairs(self.grid, self.condition, one, two, pairs, rows[1].column("id"))
            plan_version = np.minimum(*(_plans(side, mine) for side, mine in zip(rows, pairs, strict=True)))
            owned = ByCell(self.grid, self.boxes).owned(spots.position, spots.of_pair, plan_version, task_slot)
            pairs, loads = pairs.take(owned), spots.loads(owned)
        columns = derived(self.derived, self.condition, one.take(pairs.left), two.take(pairs.right))
        return Matches(*pairs, columns, loads)


def _times(
    rows: tuple[pa.RecordBatch, pa.RecordBatch], interval: tuple[int, int], windows: Sliding | None
) -> JoinInterval:
    left_ms, right_ms = (np.asarray(side.column("event_time")) for side in rows)
    return JoinInterval(left_ms, right_ms, *interval, windows)


def _can_meet(left: pa.RecordBatch, right: pa.RecordBatch, interval: tuple[int, int]) -> bool:
    """Test whether the event times of two batches are near enough for a pair, and both have rows."""
    if not (left.num_rows and right.num_rows):
        return False
    left_ms, right_ms = (np.asarray(rows.column("event_time")) for rows in (left, right))
    lower, upper = interval
    return bool(right_ms.min() - left_ms.max() <= upper and right_ms.max() - left_ms.min() >= lower)


def _plans(rows: pa.RecordBatch, index: Ints) -> Ints:
    return np.asarray(rows.column("plan"))[index]


class Spots(NamedTuple):
    """Positions on the curve of cells (`partition.by_cell`), which assign pairs to tasks.

    Attributes
    ----------
    cell, part : ndarray, shape (s,)
        The cell of each spot, and the fraction of its right row.
    of_pair : ndarray, shape (m,)
        The spot of each pair.
    """

    cell: Ints
    part: Floats
    of_pair: Ints

    @staticmethod
    def from_pairs(
        grid: Grid, condition: Condition, left: Geometries, right: Geometries, pairs: Pairs, right_ids: pa.Array
    ) -> Spots:
        """Return the spots of the reference points of pairs.

        The reference point of two points is the right one, so that pairs of one right row share a spot. For other
        geometries it is the lower left corner of the intersection of the pair's boxes.
        """
        is_used = np.zeros(len(right), bool)
        is_used[pairs.right] = True
        used, number = np.flatnonzero(is_used), np.cumsum(is_used) - 1
        part = fraction(right_ids.take(pa.array(used)))
        if isinstance(right, Points):
            return Spots(grid.cell(right.x[used], right.y[used]), part, number[pairs.right])
        x, y = _corners(condition, left.take(pairs.left).bounds, right.bounds[pairs.right])
        return Spots(grid.cell(x, y), part[number[pairs.right]], np.arange(len(x)))

    @property
    def position(self) -> Floats:
        return self.cell + self.part

    def loads(self, owned: Mask) -> dict[str, Floats]:
        """Return the number of owned pairs by cell, see `kind.step.Step`."""
        count = np.bincount(self.of_pair[owned], minlength=len(self.cell))
        cells, (load,) = group_sums(self.cell[count > 0], count[count > 0].astype(float))
        return {"cell": cells.astype(float), "load": load}


def _corners(condition: Condition, left: Floats, right: Floats) -> tuple[Floats, Floats]:
    """Return the lower left corner of each pair's intersection: of the widened left and the right envelope."""
    boxes = condition.boxes(left)
    mine, theirs = boxes.bounds, right[boxes.row]
    meets = ((mine[:, :2] <= theirs[:, 2:]) & (theirs[:, :2] <= mine[:, 2:])).all(axis=1)
    corner = np.maximum(mine[:, :2], theirs[:, :2])
    x, y = right[:, 0].copy(), right[:, 1].copy()
    row = boxes.row[meets][::-1]  # the last assignment to an index stays: that is the first box's
    x[row], y[row] = corner[meets][::-1].T
    return x, y


@dataclass(frozen=True, eq=False)
class IndexCache:
    """Indexes of the chunks of states. No answer depends on it: a missing index is built again.

    An index is dropped when its state no longer has its chunk, or when room is short. The most recently used states
    keep their indexes; within a state the oldest chunks do, which are large and stay longest.

    Attributes
    ----------
    most_bytes : int
        The memory that the indexes may take, as measured by `LocalIndex.nbytes`.
    """

    most_bytes: int
    _by_owner: dict[Hashable, dict[Hashable, LocalIndex]] = field(default_factory=dict)
    _lock: Lock = field(default_factory=Lock)  # the tasks of one process run in threads

    def indexes(
        self, owner: Hashable, chunks: Sequence[Chunk], near: Sequence[bool], make: Callable[[Chunk], LocalIndex]
    ) -> list[LocalIndex | None]:
        """Return the indexes of a side's chunks; a chunk that is not near only has one if it is cached.

        Parameters
        ----------
        owner : hashable
            A key that identifies the side and its state.
        make : callable
            A function that indexes a chunk.
        """
        with self._lock:
            cached = self._by_owner.pop(owner, {})
        indexes = [
            cached.get(chunk.source) or (make(chunk) if is_near else None)
            for chunk, is_near in zip(chunks, near, strict=True)
        ]
        held = {
            chunk.source: index
            for chunk, index in zip(chunks, indexes, strict=True)
            if chunk.source is not None and index is not None
        }
        with self._lock:
            self._by_owner[owner] = held
            self._make_room()
        return indexes

    def _make_room(self) -> None:
        room = self.most_bytes
        for owner, indexes in reversed(list(self._by_owner.items())):
            for source, index in list(indexes.items()):
                room -= index.nbytes
                if room < 0:
                    del indexes[source]
            if not indexes:
                del self._by_owner[owner]


INDEXES = IndexCache(1 << 28)
"""The cache of this process: a Spark worker lives across batches, and restores the state in each."""
