"""The kind `spatial_join` with `join: table`: tuples of a stream with rows of a dimension table (paper 003)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from tailrace.answers.by_table_row import ByTableRow
from tailrace.ground.arrow.times import whole_times
from tailrace.ground.errors import Problem
from tailrace.ground.files.object_path import Location
from tailrace.kind.column_use import ColumnUse, of_side
from tailrace.kind.explanation import KindExplanation
from tailrace.kind.inputs import ColumnTypes, Input
from tailrace.kind.pair_condition import PairCondition
from tailrace.kind.pair_quality import PairQuality
from tailrace.kind.protocol import TableAnswers
from tailrace.kind.selection import Selected, columns_of_side, computed_of, types_of
from tailrace.partition.routes import LEFT, RIGHT
from tailrace.spatial_join.derived import derived
from tailrace.spatial_join.geometry_input import GeometryInput
from tailrace.spatial_join.search.pairs import Pairs
from tailrace.spatial_join.table.dimension_table import DimensionTable
from tailrace.spatial_join.table.table_lookup import IndexedTable, TableLookup

_TUPLES = 1  # marks no row in an answer


@dataclass(frozen=True, kw_only=True)
class SpatialTableJoin(PairQuality):
    """Pairs of a tuple and a related row of the table (definition 3): an enrichment.

    Attributes
    ----------
    column_types : pair of ColumnTypes
        The types of the stream's columns, and of the table's.
    geometry : GeometryInput
        Reads the geometries of the stream.
    lookup : TableLookup
    explanation : Explanation
    selection : tuple of Selected
        The columns of an answer beside its identity.
    condition : PairCondition or None
        The condition `where` on pairs.
    answers_unmatched : bool
        Whether a tuple without a matching row is answered once, with null for the row and its columns.
    uses : tuple of ColumnUse
        The uses of the stream's columns.
    """

    column_types: tuple[ColumnTypes, ColumnTypes]
    geometry: GeometryInput
    lookup: TableLookup
    explanation: KindExplanation
    selection: tuple[Selected, ...] = ()
    condition: PairCondition | None = None
    answers_unmatched: bool = False
    uses: tuple[ColumnUse, ...] = ()

    @property
    def inputs(self) -> tuple[Input, ...]:
        uses, types = of_side(self.uses, LEFT), self.column_types[LEFT]
        return (Input(uses, self.geometry.check, self.geometry.check_file, types),)

    @property
    def answers(self) -> ByTableRow:
        return ByTableRow()

    @property
    def answer(self) -> pa.Schema:
        left, right = (types.id for types in self.column_types)
        values = types_of(self.selection, self.column_types)
        return pa.schema([*self.answers.fields(left, right), *values.items(), ("tuples", pa.int64())])

    @property
    def late(self) -> pa.Schema:
        return self.answers.late(self.column_types[0].id)

    @property
    def row_weight(self) -> int:
        return 1

    def type_problems(self) -> list[Problem]:
        """Return the problems of `where`, see `TypedByColumns`."""
        return [] if self.condition is None else self.condition.problems()

    def answers_of(self, tuples: pa.RecordBatch, version: Location) -> TableAnswers:
        """Answer tuples from a version of the table, see `kind.protocol.Enrichment`."""
        return self._join(tuples, self.lookup.indexed(version))

    def evaluate(self, *content: pa.RecordBatch) -> pa.RecordBatch:
        """Return all pairs of the given tuples and the table in its current state."""
        (tuples,) = content
        table = self.lookup.table
        return self._join(tuples, self.lookup.read(table.place.file, table.place.suffix)).answers

    def _join(self, tuples: pa.RecordBatch, indexed: IndexedTable) -> TableAnswers:
        table, search = indexed
        geometries = self.geometry.of_tuples(tuples)
        pairs, counts = self._pairs(tuples, table, _valid(tuples, table, search.matches(geometries)))
        if self.answers_unmatched:
            pairs = _with_unmatched(pairs, tuples.num_rows)
        left, row, count = pa.array(pairs.left), pa.array(pairs.right, mask=pairs.right < 0), len(pairs.left)
        columns = [tuples.column("id").take(left), table.ids.take(row).cast(self.column_types[RIGHT].id)]
        columns += [tuples.column("event_time").take(left), pa.nulls(count, pa.int64())]
        values = {name: tuples.column(name).take(left) for name in columns_of_side(self.selection, LEFT)}
        for name, dtype in self.column_types[RIGHT].of_carried(columns_of_side(self.selection, RIGHT)).items():
            values[name] = table.values(name, dtype, row)
        if names := computed_of(self.selection):
            matched = pairs.take(pairs.right >= 0)
            one, two = geometries.take(matched.left), table.geometries.take(matched.right)
            for name, each in derived(names, self.lookup.condition, one, two).items():
                of_all = np.full(count, np.nan)
                of_all[pairs.right >= 0] = each
                values[name] = pa.array(of_all, mask=np.isnan(of_all))
        columns += [values[name] for name, _, _ in self.selection]
        columns.append(pa.repeat(pa.scalar(_TUPLES, pa.int64()), count))
        return TableAnswers(pa.RecordBatch.from_arrays(columns, schema=self.answer), pairs.left, counts)

    def _pairs(self, tuples: pa.RecordBatch, table: DimensionTable, pairs: Pairs) -> tuple[Pairs, Mapping[str, int]]:
        """Return the related pairs that fulfil `where`, and the counts of pairs for which it fails."""
        if self.condition is None or not len(pairs.left):
            return pairs, {}
        left, row, values = pa.array(pairs.left), pa.array(pairs.right), dict[str, pa.Array]()
        for name, each in self.condition.columns.items():
            if each.side == LEFT:
                values[name] = tuples.column(each.name).take(left)
            else:
                values[name] = table.values(each.name, self.column_types[RIGHT].of_carried([each.name])[each.name], row)
        tested = self.condition.test(values, len(pairs.left))
        return pairs.take(tested.kept), tested.counts


def _valid(tuples: pa.RecordBatch, table: DimensionTable, pairs: Pairs) -> Pairs:
    """Return the pairs whose row is valid at the tuple's event time."""
    if table.validity is None:
        return pairs
    times = whole_times(tuples, "event_time")[pairs.left]
    return pairs.take(table.validity.holds(pairs.right, times))


def _with_unmatched(pairs: Pairs, tuples: int) -> Pairs:
    """Add each tuple without a pair, with the row −1; the result ascends by tuple, like the pairs."""
    unmatched = np.setdiff1d(np.arange(tuples), pairs.left)
    left = np.concatenate([pairs.left, unmatched])
    right = np.concatenate([pairs.right, np.full(len(unmatched), -1)])
    order = np.argsort(left, kind="stable")
    return Pairs(left[order], right[order])
