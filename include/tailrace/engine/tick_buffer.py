"""Buffer of the statistics of all streams. It releases a tick when it is complete: when every stream has passed it.

An idle stream holds no tick back. Its later tuples belong at least to the current tick of the others.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pyarrow as pa

from tailrace.disorder import ticks as ticking
from tailrace.disorder.ticks import Ticks
from tailrace.engine.row_buffer import Cut
from tailrace.engine.stream_buffer import Newest, StreamBuffer
from tailrace.ground.arrow import wire
from tailrace.ground.arrow.wire import Batches
from tailrace.ground.time_limits import BEFORE_ALL


@dataclass(frozen=True)
class CompleteTicks:
    """The content of complete ticks, over all streams.

    Attributes
    ----------
    counts, sample : Table
        As in `disorder.tick_statistics`.
    ids : tuple of Table
        The ids of each stream, as in `engine.repeats`.
    cuts : tuple of Cut
        The end of the complete ticks in each stream.
    """

    ticks: Ticks
    counts: pa.Table
    sample: pa.Table
    ids: tuple[pa.Table, ...]
    cuts: tuple[Cut, ...]


@dataclass(frozen=True)
class TickBuffer:
    """The buffers of the query's streams.

    Attributes
    ----------
    tick_ms : int
    streams : tuple of StreamBuffer
        The buffers by side, the index of the stream among the kind's inputs.
    numbered : tuple of int
        With tick 0, each side's number of positions up to its last complete tuple.
    idle : frozenset of int
        The sides that are recorded as idle.
    """

    tick_ms: int
    streams: tuple[StreamBuffer, ...]
    numbered: tuple[int, ...]
    idle: frozenset[int] = frozenset()

    @staticmethod
    def empty(tick_ms: int, id_types: Sequence[pa.DataType], sample: pa.Schema) -> TickBuffer:
        """Return the initial buffer, with one stream for each type of ids; `sample` is the kind's schema."""
        streams = tuple(StreamBuffer.empty(id_type, sample) for id_type in id_types)
        return TickBuffer(tick_ms, streams, (0,) * len(streams))

    @property
    def newest_tick(self) -> int | None:
        """The newest tick that a tuple or a heartbeat has reached; None before any.

        With tick 0, an upper bound of the numbers of all tuples so far, whatever tuples of other streams may precede
        them.
        """
        numbers = [stream.newest[0] for stream in self.streams if stream.newest[1] > BEFORE_ALL]
        if not numbers:
            return None
        return max(numbers) if self.tick_ms else sum(max(number, -1) + 1 for number in numbers) - 1

    @property
    def reached(self) -> list[int | None]:
        """The arrival time that each stream has reached, in ms; None before any."""
        ends = [stream.newest[1] for stream in self.streams]
        return [None if end == BEFORE_ALL else end - max(self.tick_ms, 1) for end in ends]

    @property
    def committed(self) -> int | None:
        """The arrival time, in ms, up to which every tuple has been processed; None before any."""
        end, _ = self._least_newest()
        return None if end == BEFORE_ALL else end - max(self.tick_ms, 1)

    def append(self, segments: Sequence[tuple[int, Batches]]) -> tuple[TickBuffer, list[Newest]]:
        """Append the segments of a batch in the order of the log; their streams are no longer idle.

        Each segment comes with its side.

        Returns
        -------
        buffer : TickBuffer
        before : list of (int, int)
            For each segment, the newest tick of its stream before it, and that tick's end in ms.
        """
        streams: list[StreamBuffer] = []
        before: dict[int, Newest] = {}
        for side, stream in enumerate(self._with_idle_raised().streams):
            mine = [index for index, (of_side, _) in enumerate(segments) if of_side == side]
            appended, newest = stream.append([segments[index][1] for index in mine])
            streams.append(appended)
            before |= dict(zip(mine, newest, strict=True))
        idle = self.idle - {side for side, _ in segments}
        return replace(self, streams=tuple(streams), idle=idle), [before[index] for index in range(len(segments))]

    def silent(self, heartbeats: Mapping[int, int], idle: Iterable[int]) -> TickBuffer:
        """Record heartbeats (ms of arrival time that a stream has passed, by side), and the streams that are idle."""
        buffer = self._with_idle_raised()  # by tuples that came before the silence, in this batch or earlier
        streams = list(buffer.streams)
        for side, arrival_ms in heartbeats.items():
            end = (arrival_ms // self.tick_ms + 1) * self.tick_ms if self.tick_ms else arrival_ms
            streams[side] = streams[side].passed(end, self.tick_ms)
        return replace(buffer, streams=tuple(streams), idle=buffer.idle.union(idle))

    def complete_all(self, last_end: int) -> TickBuffer:
        """Complete all ticks: later rows belong to later ticks, and no stream is idle any more.

        `last_end` is the end of the last tick that was complete before, in ms.
        """
        end = max([last_end, *(int(stream.ticks.end[-1]) for stream in self.streams if len(stream.ticks))])
        if end == BEFORE_ALL:
            return replace(self, idle=frozenset())
        after = end + max(self.tick_ms, 1)
        return replace(
            self, streams=tuple(stream.passed(after, self.tick_ms) for stream in self.streams), idle=frozenset()
        )

    def split(self) -> tuple[CompleteTicks, TickBuffer]:
        """Split into the content of complete ticks, and the buffer of the rest."""
        parts = [stream.split(self._complete(side)) for side, stream in enumerate(self.streams)]
        complete, rest, cuts = (list(each) for each in zip(*parts, strict=True))
        numbered = self.numbered
        if self.tick_ms == 0 and len(complete) > 1:
            by_position, (complete, numbered) = complete, self._number(complete)
            cuts = [
                replace(cut, numbers=(before.ticks.tick, after.ticks.tick))
                for cut, before, after in zip(cuts, by_position, complete, strict=True)
            ]
        counts, sample = (
            pa.concat_tables([getattr(stream, name) for stream in complete]) for name in ("counts", "sample")
        )
        ticks, ids = (tuple(getattr(stream, name) for stream in complete) for name in ("ticks", "ids"))
        pending = replace(self, streams=tuple(rest), numbered=numbered)
        return CompleteTicks(ticking.unite(ticks), counts, sample, ids, tuple(cuts)), pending._with_idle_raised()

    def _active(self) -> set[int]:
        """Return the sides that ticks wait for: the sides that are not idle, or all sides where all are idle."""
        sides = set(range(len(self.streams)))
        return sides - self.idle or sides

    def _least_newest(self) -> tuple[int, int]:
        """Return the end of the newest tick, and the side, of the stream that is furthest behind."""
        return min((self.streams[side].newest[1], side) for side in self._active())

    def _complete(self, side: int) -> int:
        """Return the number of complete ticks of a stream."""
        ticks, counts = self.streams[side].ticks, [len(self.streams[side].ticks)]
        for other in self._active():
            tick, end = self.streams[other].newest
            if other == side:
                counts.append(int(np.searchsorted(ticks.tick, tick)))
            else:  # with tick 0, the first stream's tuple comes first among equal arrival times
                comes_first = self.tick_ms == 0 and side < other
                counts.append(int(np.searchsorted(ticks.end, end, side="right" if comes_first else "left")))
        return min(counts)

    def _number(self, complete: Sequence[StreamBuffer]) -> tuple[list[StreamBuffer], tuple[int, ...]]:
        """Number tuples that are their own ticks (tick 0) by arrival time, side and position.

        A tuple's number is its position plus the number of positions of other streams before it.
        """
        position, end = (np.concatenate([getattr(each.ticks, name) for each in complete]) for name in ("tick", "end"))
        side = np.repeat(np.arange(len(complete)), [len(each.ticks) for each in complete])
        order = np.lexsort([position, side, end])
        number, numbered = position.copy(), []
        for other, before in enumerate(self.numbered):
            is_other = side[order] == other
            passed = np.maximum.accumulate(np.append(before, np.where(is_other, position[order] + 1, 0)))
            number[order] += np.where(is_other, 0, passed[1:])
            numbered.append(int(passed[-1]))
        return [each.renumbered(number[side == index]) for index, each in enumerate(complete)], tuple(numbered)

    def _with_idle_raised(self) -> TickBuffer:
        """Move each idle stream to the tick of the others, which do not wait for its rows."""
        end, least = self._least_newest()
        streams, active = list(self.streams), self._active()
        for side, stream in enumerate(streams):
            if side not in active and end > BEFORE_ALL:
                after = end + (1 if self.tick_ms == 0 and side < least else 0)
                streams[side] = stream.passed(after, self.tick_ms)
        return replace(self, streams=tuple(streams))

    def to_arrow(self) -> tuple[Batches, dict[str, Any]]:
        """Serialize the buffer as record batches and JSON values."""
        batches = {
            f"{side}.{name}": batch
            for side, stream in enumerate(self.streams)
            for name, batch in stream.to_arrow().items()
        }
        newest = [stream.newest for stream in self.streams]
        return batches, {"newest": newest, "idle": sorted(self.idle), "numbered": self.numbered}

    @staticmethod
    def from_arrow(tick_ms: int, batches: Batches, values: dict[str, Any]) -> TickBuffer:
        """Restore the buffer from the output of `to_arrow`."""
        streams = tuple(
            StreamBuffer.from_arrow(wire.under(f"{side}.", batches), (tick, end))
            for side, (tick, end) in enumerate(values["newest"])
        )
        return TickBuffer(tick_ms, streams, tuple(values["numbered"]), frozenset(values["idle"]))
