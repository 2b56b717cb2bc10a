"""Buffer of one stream at a task: the task's rows and the whole stream's statistics, cut where ticks are complete."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tailrace.disorder import ticks as ticking
from tailrace.disorder.tick_statistics import COUNTS, SAMPLE
from tailrace.disorder.ticks import Ticks
from tailrace.engine.repeats import ID_COLUMNS
from tailrace.ground.columns import single_batch, unify
from tailrace.ground.time_limits import BEFORE_ALL
from tailrace.ground.wire import Batches

Ints = NDArray[np.int64]
Newest = tuple[int, int]
"""A tick, and the end of it in ms."""


_TABLES = ("rows", "counts", "sample", "ids")


@dataclass(frozen=True)
class StreamBuffer:
    """A task's rows of one stream, and the stream's statistics, which are the same in every task.

    Attributes
    ----------
    rows : Table
        What the kind prepared of the tuples, as far as it goes to this task.
    ticks : Ticks
        With tick 0, numbered by the tuples' positions in the stream.
    counts, sample : Table
        As in `disorder.tick_statistics`: how many tuples each tick brought to each pane, and the partials of some keys.
    ids : Table
        As in `engine.repeats`: the ids of all tuples, where repeats are dropped; else empty.
    newest : (int, int)
        The least tick that a coming tuple can belong to, and the end of it in ms: the newest one with tuples, where
        no heartbeat says more. The stream has passed the ticks before it.
    """

    rows: pa.Table
    ticks: Ticks
    counts: pa.Table
    sample: pa.Table
    ids: pa.Table
    newest: Newest

    @staticmethod
    def empty(rows: pa.RecordBatch, id_type: pa.DataType) -> StreamBuffer:
        """The buffer before anything came; `rows` is an empty batch of the rows that will come."""
        ids = pa.schema([(name, id_type if name == "id" else pa.int64()) for name in ID_COLUMNS])
        nothing = COUNTS.empty_table(), SAMPLE.empty_table(), ids.empty_table()
        return StreamBuffer(pa.Table.from_batches([rows]), Ticks.none(), *nothing, (BEFORE_ALL, BEFORE_ALL))

    def append(self, segments: Sequence[Batches]) -> tuple[StreamBuffer, list[Newest]]:
        """Append the next segments of the stream's log: prepared rows, and statistics that follow from each alone.

        Where their arrival times lie before what came earlier, their tuples belong to the largest tick so far.

        Returns
        -------
        buffer : StreamBuffer
        found : list of (int, int)
            Of each segment, `newest` when it came.
        """
        if not segments:
            return self, []
        newest, found, ticks = self.newest, [], [self.ticks]
        for batches in segments:
            found.append(newest)
            ticks.append(ticking.follow(Ticks.from_arrow(batches["ticks"]), *newest))
            if len(ticks[-1]):
                newest = (int(ticks[-1].tick[-1]), int(ticks[-1].end[-1]))
        rows, counts, sample, ids = (
            pa.concat_tables([mine, *(_at_least(each[name], at[0]) for each, at in zip(segments, found, strict=True))])
            for name, mine in self.tables().items()
        )
        return StreamBuffer(rows, ticking.concatenate(ticks), counts, sample, ids, newest), found

    def tables(self) -> dict[str, pa.Table]:
        """The tables of rows by tick, by their names."""
        return {name: getattr(self, name) for name in _TABLES}

    def passed(self, end: int, tick_ms: int) -> StreamBuffer:
        """Record that the stream has passed all ticks before the one that ends at `end` (ms)."""
        if tick_ms:
            newest = (end // tick_ms - 1, end)
        else:  # numbered by position: past the last tuple once, however often this is said
            newest = (int(self.ticks.tick[-1]) + 1 if len(self.ticks) else self.newest[0], max(self.newest[1], end))
        return replace(self, newest=max(self.newest, newest))

    def split(self, count: int) -> tuple[StreamBuffer, StreamBuffer]:
        """Split into the first `count` ticks and the rest."""
        if count == len(self.ticks):
            first, rest = (lambda table: table), (lambda table: table.slice(0, 0))
        else:
            bound = int(self.ticks.tick[count])
            first, rest = (lambda table: _before(table, bound)), (lambda table: _from(table, bound))
        return self._with_tables(first, self.ticks[:count]), self._with_tables(rest, self.ticks[count:])

    def renumbered(self, number: Ints) -> StreamBuffer:
        """Renumber its ticks, in the same order."""

        def renumber(table: pa.Table) -> pa.Table:
            tick = number[np.searchsorted(self.ticks.tick, table.column("tick").to_numpy())]
            return table.set_column(table.schema.get_field_index("tick"), "tick", pa.array(tick))

        return self._with_tables(renumber, replace(self.ticks, tick=number))

    def _with_tables(self, change: Callable[[pa.Table], pa.Table], ticks: Ticks) -> StreamBuffer:
        rows, counts, sample, ids = (change(table) for table in self.tables().values())
        return StreamBuffer(rows, ticks, counts, sample, ids, self.newest)

    def to_arrow(self) -> Batches:
        """One batch each; a dictionary has the values still in use."""
        rows = self.rows
        for index, field in enumerate(rows.schema):
            if pa.types.is_dictionary(field.type):
                chunks = [chunk.dictionary_decode() for chunk in rows.column(index).chunks]
                values, codes = unify(chunks or [pa.array([], field.type.value_type)])
                column = pa.DictionaryArray.from_arrays(pa.array(np.concatenate(codes), pa.int32()), values)
                rows = rows.set_column(index, field.name, column)
        tables = self.tables() | {"rows": rows}
        return {name: single_batch(table) for name, table in tables.items()} | {"ticks": self.ticks.to_arrow()}

    @staticmethod
    def from_arrow(batches: Batches, newest: Newest) -> StreamBuffer:
        rows, counts, sample, ids = (pa.Table.from_batches([batches[name]]) for name in _TABLES)
        return StreamBuffer(rows, Ticks.from_arrow(batches["ticks"]), counts, sample, ids, newest)


def _at_least(batch: pa.RecordBatch, tick: int) -> pa.Table:
    """The rows with no tick below the given one."""
    place = batch.schema.get_field_index("tick")
    moved = pa.array(np.maximum(np.asarray(batch.column(place)), tick))
    return pa.Table.from_batches([batch.set_column(place, "tick", moved)])


def _before(rows: pa.Table, tick: int) -> pa.Table:
    return rows.filter(pa.array(rows.column("tick").to_numpy() < tick))


def _from(rows: pa.Table, tick: int) -> pa.Table:
    return rows.filter(pa.array(rows.column("tick").to_numpy() >= tick))
