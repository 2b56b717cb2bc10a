"""What has arrived at a task: segments of the log put in order, and cut where ticks are complete."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from tailrace.disorder import ticks as ticking
from tailrace.disorder.tick_statistics import COUNTS, SAMPLE
from tailrace.disorder.ticks import Ticks
from tailrace.ground.columns import unify
from tailrace.ground.time_limits import BEFORE_ALL
from tailrace.ground.wire import Batches
from tailrace.kind.protocol import Kind


@dataclass(frozen=True)
class TickBuffer:
    """A task's partials, and the query's statistics, which every task is told alike.

    Attributes
    ----------
    ticks : Ticks
    counts, sample : Table
        As in `disorder.tick_statistics`: how many tuples each tick brought to each pane, and the partials of some keys.
    newest : (int, int)
        The least tick that a coming tuple can belong to, and the end of it in ms: the newest one with tuples, where
        no heartbeat says more. Ticks before it are complete.
    """

    partials: pa.Table
    ticks: Ticks
    counts: pa.Table
    sample: pa.Table
    newest: tuple[int, int]

    @staticmethod
    def empty(kind: Kind) -> TickBuffer:
        columns = {"event_time": pa.int64(), "tick": pa.int64(), "key": kind.key_type, "id": kind.id_type}
        columns |= {name: pa.float64() for name in kind.columns}
        nothing = pa.RecordBatch.from_pylist([], pa.schema(columns.items()))
        no_ticks = Ticks.from_arrow(pa.RecordBatch.from_pylist([], ticking.SCHEMA))
        partials = pa.Table.from_batches([kind.combine(nothing)])
        return TickBuffer(partials, no_ticks, COUNTS.empty_table(), SAMPLE.empty_table(), (BEFORE_ALL, BEFORE_ALL))

    def append(self, segments: list[tuple[Batches, dict[str, Any]]]) -> tuple[TickBuffer, list[dict[str, Any]]]:
        """These and the segments after them, given in the order of the log.

        A segment knows its ticks only by itself: where its arrival times lie before what came earlier in the log,
        its tuples belong to the largest tick so far.

        Returns
        -------
        buffer : TickBuffer
        places : list of dict
            What is known of each segment, with the tick and the end of it that the segment found.
        """
        partials, ticks, counts, sample, places = [self.partials], [self.ticks], [self.counts], [self.sample], []
        newest = self.newest
        for batches, about in segments:
            places.append(about | {"before_tick": newest[0], "before_end": newest[1]})
            partials.append(_at_least(batches["partials"], newest[0]))
            counts.append(_at_least(batches["counts"], newest[0]))
            sample.append(_at_least(batches["sample"], newest[0]))
            ticks.append(ticking.follow(Ticks.from_arrow(batches["ticks"]), *newest))
            if len(ticks[-1]):
                newest = (int(ticks[-1].tick[-1]), int(ticks[-1].end[-1]))
        one, two, three = (pa.concat_tables(parts) for parts in (partials, counts, sample))
        return TickBuffer(one, ticking.merge(ticks), two, three, newest), places

    def heartbeat(self, arrival_ms: int, tick_ms: int) -> TickBuffer:
        """These, when the source has passed a point of arrival time (a heartbeat)."""
        if tick_ms:
            number = arrival_ms // tick_ms
            return self._at_least((number, (number + 1) * tick_ms))
        # Numbered by position: past the last tuple once, however many heartbeats there are.
        number = int(self.ticks.tick[-1]) + 1 if len(self.ticks) else self.newest[0]
        return self._at_least((number, max(self.newest[1], arrival_ms)))

    def complete_all(self, tick_ms: int, last_end: int) -> TickBuffer:
        """These, when all of them are complete: what comes belongs to a later tick.

        `last_end` is the end of the last tick that was complete before.
        """
        number, end = self.newest[0], last_end
        if len(self.ticks):
            number, end = int(self.ticks.tick[-1]) + 1, int(self.ticks.end[-1])
        return self if end == BEFORE_ALL else self._at_least((number, end + max(tick_ms, 1)))

    def split(self) -> tuple[TickBuffer, TickBuffer]:
        """What came in complete ticks, and the rest."""
        bound = self.newest[0]
        before, rest = self.ticks[self.ticks.tick < bound], self.ticks[self.ticks.tick >= bound]
        due, left = _split(self.partials, bound)
        (counted, uncounted), (drawn, undrawn) = _split(self.counts, bound), _split(self.sample, bound)
        complete = TickBuffer(due, before, counted, drawn, self.newest)
        return complete, TickBuffer(left, rest, uncounted, undrawn, self.newest)

    def _at_least(self, newest: tuple[int, int]) -> TickBuffer:
        return replace(self, newest=max(self.newest, newest))

    def to_arrow(self) -> Batches:
        """One batch each; the keys are those still in use."""
        names = [chunk.dictionary_decode() for chunk in self.partials.column("key").chunks]
        keys, codes = unify(names or [pa.array([], self.partials.schema.field("key").type.value_type)])
        key = pa.DictionaryArray.from_arrays(pa.array(np.concatenate(codes), pa.int32()), keys)
        return {
            "partials": _one(self.partials.set_column(0, "key", key)),
            "ticks": self.ticks.to_arrow(),
            "counts": _one(self.counts),
            "sample": _one(self.sample),
        }

    @staticmethod
    def from_arrow(kept: Batches, newest: tuple[int, int]) -> TickBuffer:
        partials, counts, sample = (pa.Table.from_batches([kept[name]]) for name in ("partials", "counts", "sample"))
        return TickBuffer(partials, Ticks.from_arrow(kept["ticks"]), counts, sample, newest)


def _at_least(batch: pa.RecordBatch, tick: int) -> pa.Table:
    """The rows with no tick below the given one."""
    place = batch.schema.get_field_index("tick")
    moved = pa.array(np.maximum(np.asarray(batch.column(place)), tick))
    return pa.Table.from_batches([batch.set_column(place, "tick", moved)])


def _split(rows: pa.Table, bound: int) -> tuple[pa.Table, pa.Table]:
    before = rows.column("tick").to_numpy() < bound
    return rows.filter(pa.array(before)), rows.filter(pa.array(~before))


def _one(rows: pa.Table) -> pa.RecordBatch:
    batches = rows.combine_chunks().to_batches()
    return batches[0] if batches else pa.RecordBatch.from_pylist([], rows.schema)
