"""The kind `spatial_join` with `join: table`: tuples of a stream with rows of a dimension table (paper 003)."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from tailrace.answers.by_table_row import ByTableRow
from tailrace.disorder.clock import Frontier
from tailrace.ground.columns import Ints, group_sums
from tailrace.kind.explanation import Explanation
from tailrace.kind.inputs import Input, NameTypes
from tailrace.kind.pair_quality import PairQuality
from tailrace.kind.step import Step
from tailrace.operators.chunk import Chunks
from tailrace.partition.by_tick import ByTick
from tailrace.partition.routes import Partition
from tailrace.spatial_join.derived import derived
from tailrace.spatial_join.geometry_input import GeometryInput
from tailrace.spatial_join.table_lookup import IndexedTable, TableLookup
from tailrace.windows.sliding import Sliding

_TUPLES = 1  # that an answer stands for


class NoState:
    """The state of a task that holds nothing."""

    def to_arrow(self) -> dict[str, pa.RecordBatch]:
        return {}


@dataclass(frozen=True, kw_only=True)
class SpatialTableJoin(PairQuality):
    """Pairs of a tuple and a row of the table whose geometries are related (definition 3).

    The readers answer (`answers_of`); a task only counts tuples, by which the progress of the stream is known.

    Attributes
    ----------
    names : pair of NameTypes
        The types of the stream's id, and of the table's.
    geometry : GeometryInput
        How the geometries of the stream are read.
    lookup : TableLookup
    derived : tuple of str
        What is computed of a pair: `distance`, `azimuth`.
    explanation : Explanation
    """

    names: tuple[NameTypes, NameTypes]
    geometry: GeometryInput
    lookup: TableLookup
    explanation: Explanation
    derived: tuple[str, ...] = ()

    @property
    def windows(self) -> Sliding:
        return Sliding(1, 1)

    @property
    def inputs(self) -> tuple[Input, ...]:
        return (Input(self.geometry.columns, self.names[0], self.geometry.types, self.geometry.check),)

    @property
    def partition(self) -> Partition:
        return ByTick()

    @property
    def answers(self) -> ByTableRow:
        return ByTableRow()

    @property
    def answer(self) -> pa.Schema:
        left, right = (names.id for names in self.names)
        values = [(name, pa.float64()) for name in self.derived]
        return pa.schema([*self.answers.fields(left, right), *values, ("tuples", pa.int64())])

    @property
    def late(self) -> pa.Schema:
        return self.answers.late(self.names[0].id)

    @property
    def row_weight(self) -> int:
        return 1

    def prepare(self, tuples: pa.RecordBatch, side: int = 0) -> pa.RecordBatch:
        ones = pa.repeat(pa.scalar(1, pa.int64()), tuples.num_rows)
        columns = [tuples.column("tick"), tuples.column("event_time"), ones]
        return pa.RecordBatch.from_arrays(columns, names=["tick", "event_time", "tuples"])

    def combine(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        """Combine rows into one for each tick: nothing else of them is needed."""
        tick, (tuples,) = group_sums(*(np.asarray(rows.column(name)) for name in ("tick", "tuples")))
        return pa.RecordBatch.from_arrays([pa.array(tick), pa.array(tuples)], names=["tick", "tuples"])

    def start(self) -> NoState:
        return NoState()

    def restore(self, batches: dict[str, pa.RecordBatch], chunks: Chunks) -> NoState:
        return NoState()

    def step(self, state: Any, arrived: tuple[pa.Table, ...], frontier: Frontier) -> Step:
        late = [*self.late, *((name, pa.int64()) for name in ("tick", "tuples", "frontier"))]
        none = pa.RecordBatch.from_pylist([], pa.schema(late))
        return Step(state, pa.RecordBatch.from_pylist([], self.answer), np.zeros(0, np.int64), (none,))

    def answers_of(self, tuples: pa.RecordBatch, version: Path) -> tuple[pa.RecordBatch, Ints]:
        """Answer tuples by a version of the table, see `kind.capabilities.JoinsTable`."""
        return self._join(tuples, self.lookup.indexed(version))

    def evaluate(self, *content: pa.RecordBatch) -> pa.RecordBatch:
        """All pairs of the given tuples and the table as its file is now."""
        (tuples,) = content
        return self._join(tuples, self.lookup.read(self.lookup.table.path))[0]

    def _join(self, tuples: pa.RecordBatch, indexed: IndexedTable) -> tuple[pa.RecordBatch, Ints]:
        table, search = indexed
        geometries = self.geometry.of_tuples(tuples)
        pairs = search.matches(geometries)
        left, row, count = pa.array(pairs.left), pa.array(pairs.right), len(pairs.left)
        columns = [tuples.column("id").take(left), table.ids.take(row)]
        columns += [tuples.column("event_time").take(left), pa.nulls(count, pa.int64())]
        if self.derived:
            one, two = geometries.take(pairs.left), table.geometries.take(pairs.right)
            values = derived(self.derived, self.lookup.condition, one, two)
            columns += [pa.array(values[name], mask=np.isnan(values[name])) for name in self.derived]
        columns.append(pa.repeat(pa.scalar(_TUPLES, pa.int64()), count))
        return pa.RecordBatch.from_arrays(columns, schema=self.answer), pairs.left
