"""Buffer of the statistics of one stream, cut where ticks are complete."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import pyarrow as pa

from tailrace.disorder import ticks as ticking
from tailrace.disorder.tick_statistics import COUNTS
from tailrace.disorder.ticks import Ticks
from tailrace.engine.repeats import ID_COLUMNS
from tailrace.engine.row_buffer import Cut, raise_ticks, renumber, split_at
from tailrace.ground.arrow.columns import Ints, single_batch
from tailrace.ground.arrow.wire import Batches
from tailrace.ground.time_limits import BEFORE_ALL

Newest = tuple[int, int]
"""A tick, and its end in ms."""


_TABLES = ("counts", "sample", "ids")


@dataclass(frozen=True)
class StreamBuffer:
    """The statistics of one stream's incomplete ticks, and how far the stream has come.

    Attributes
    ----------
    ticks : Ticks
        With tick 0, numbered by the tuples' positions in the stream.
    counts, sample : Table
        As in `disorder.tick_statistics`: the number of tuples by tick and pane, and the partials of some keys.
    ids : Table
        As in `engine.repeats`: the ids of all tuples where repeats are dropped, otherwise empty.
    newest : (int, int)
        The least tick that a coming tuple can belong to, and its end in ms: the newest tick with tuples, or a later one
        by a heartbeat. The stream has passed the ticks before it.
    """

    ticks: Ticks
    counts: pa.Table
    sample: pa.Table
    ids: pa.Table
    newest: Newest

    @staticmethod
    def empty(id_type: pa.DataType, sample: pa.Schema) -> StreamBuffer:
        """Return the initial buffer, given the schema of the kind's sample."""
        ids = pa.schema([(name, id_type if name == "id" else pa.int64()) for name in ID_COLUMNS])
        nothing = COUNTS.empty_table(), sample.empty_table(), ids.empty_table()
        return StreamBuffer(Ticks.none(), *nothing, (BEFORE_ALL, BEFORE_ALL))

    def append(self, segments: Sequence[Batches]) -> tuple[StreamBuffer, list[Newest]]:
        """Append the next segments of the stream's log: statistics computed from each alone.

        Tuples with arrival times before earlier ones belong to the largest tick so far.

        Returns
        -------
        buffer : StreamBuffer
        before : list of (int, int)
            For each segment, `newest` before it.
        """
        if not segments:
            return self, []
        newest, before, ticks = self.newest, [], [self.ticks]
        for batches in segments:
            before.append(newest)
            ticks.append(ticking.follow(Ticks.from_arrow(batches["ticks"]), *newest))
            if len(ticks[-1]):
                newest = (int(ticks[-1].tick[-1]), int(ticks[-1].end[-1]))
        counts, sample, ids = (
            pa.concat_tables(
                [mine, *(raise_ticks(each[name], at[0]) for each, at in zip(segments, before, strict=True))],
                promote_options="default",  # ids of versions have one column more than ids of tuples
            )
            for name, mine in self.tables().items()
        )
        return StreamBuffer(ticking.concatenate(ticks), counts, sample, ids, newest), before

    def tables(self) -> dict[str, pa.Table]:
        """Return the tables of rows by tick, by their names."""
        return {name: getattr(self, name) for name in _TABLES}

    def passed(self, end: int, tick_ms: int) -> StreamBuffer:
        """Record that the stream has passed all ticks before the one that ends at `end` (ms)."""
        if tick_ms:
            newest = (end // tick_ms - 1, end)
        else:  # numbered by position: passes the last tuple once, even if called repeatedly
            newest = (int(self.ticks.tick[-1]) + 1 if len(self.ticks) else self.newest[0], max(self.newest[1], end))
        return replace(self, newest=max(self.newest, newest))

    def split(self, count: int) -> tuple[StreamBuffer, StreamBuffer, Cut]:
        """Split into the first `count` ticks and the rest; also return the cut."""
        bound = None if count == len(self.ticks) else int(self.ticks.tick[count])
        tables = {
            name: (table, table.schema.empty_table()) if bound is None else split_at(table, bound)
            for name, table in self.tables().items()
        }
        first, rest = ({name: parts[index] for name, parts in tables.items()} for index in (0, 1))
        return (
            replace(self, ticks=self.ticks[:count], **first),
            replace(self, ticks=self.ticks[count:], **rest),
            Cut(bound),
        )

    def renumbered(self, number: Ints) -> StreamBuffer:
        """Renumber its ticks, in the same order."""
        tables = {name: renumber(table, self.ticks.tick, number) for name, table in self.tables().items()}
        return replace(self, ticks=replace(self.ticks, tick=number), **tables)

    def to_arrow(self) -> Batches:
        """Return one batch for each table, and one of the ticks."""
        return {name: single_batch(table) for name, table in self.tables().items()} | {"ticks": self.ticks.to_arrow()}

    @staticmethod
    def from_arrow(batches: Batches, newest: Newest) -> StreamBuffer:
        counts, sample, ids = (pa.Table.from_batches([batches[name]]) for name in _TABLES)
        return StreamBuffer(Ticks.from_arrow(batches["ticks"]), counts, sample, ids, newest)
