"""Silence in a live run: heartbeats of silent streams, idle streams, and silence of all streams."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from tailrace.storage.journal import LogPosition, StreamPosition


@dataclass(frozen=True)
class Silence:
    """The part of a journal entry that records silence.

    Attributes
    ----------
    heartbeats : dict
        Heartbeats: the arrival time (ms) that a stream has passed, by the stream's name.
    idle : set of str
        The streams that become idle, so that no tick waits for them.
    quiet : bool
        Whether all streams become silent, so that open windows close.
    """

    heartbeats: Mapping[str, int] = field(default_factory=dict)
    idle: Collection[str] = ()
    quiet: bool = False

    def after(self, position: LogPosition, now: int) -> LogPosition:
        """Return the state of the log after this silence is recorded at the time `now` (ms) of the driver's clock."""
        streams = {
            name: replace(
                stream,
                silent_since_ms=now if self.quiet or name in self.heartbeats else stream.silent_since_ms,
                heartbeat_ms=self.heartbeats.get(name, stream.heartbeat_ms),
                idle=not self.quiet and (stream.idle or name in self.idle),
                awaited_since_ms=None if self.quiet else stream.awaited_since_ms,
            )
            for name, stream in position.streams.items()
        }
        return replace(position, streams=streams, quiet=position.quiet or self.quiet)


def closed(position: LogPosition) -> LogPosition:
    """Return the state of the log after the end of a bounded run, which closes windows as silence does."""
    return Silence(quiet=True).after(position, position.planned_ms)


def after_downtime(position: LogPosition, down_ms: int) -> LogPosition:
    """Return the state of the log for a driver that starts `down_ms` after the last entry; no wait includes it."""
    streams = {
        name: stream
        if stream.awaited_since_ms is None
        else replace(stream, awaited_since_ms=stream.awaited_since_ms + down_ms)
        for name, stream in position.streams.items()
    }
    return replace(position, streams=streams)


def with_waits(position: LogPosition, reached: Sequence[int | None], started_ms: int) -> LogPosition:
    """Return the state of the log with the awaited streams, and the start of the wait for each.

    A stream is awaited while another one has reached a later arrival time. The wait starts at the entry at which either
    reached its present arrival time. Rejected rows do not advance a stream. When all streams are silent, none is
    awaited.

    Parameters
    ----------
    reached : sequence of int or None
        The arrival time (ms) that each stream has reached by the rows in the log; empty where that is unknown.
    started_ms : int
        The time of the driver's start, before which no wait begins.
    """
    newest_ms = max((ms for ms in reached if ms is not None), default=None)
    if newest_ms is None:
        return position
    streams = {}
    for (name, stream), ms in zip(position.streams.items(), reached, strict=True):
        behind = not position.quiet and (ms is None or ms < newest_ms)
        moved = ms != stream.reached_ms or stream.awaited_since_ms is None
        since_ms = max(position.last_rows_ms, started_ms) if moved else stream.awaited_since_ms
        streams[name] = replace(stream, reached_ms=ms, awaited_since_ms=since_ms if behind else None)
    return replace(position, streams=streams)


@dataclass(frozen=True)
class SilenceRules:
    """Derives heartbeats, idle streams and quiet from the state of the log and the driver's clock (ms).

    A stream is idle when the others have waited for it for `idle_ms`. All streams are silent when none has brought
    anything for that time. Time without a driver does not count for either, as the writers of the sources may have been
    down, too.

    Attributes
    ----------
    tick_ms, idle_ms : int
        The query's settings.
    stamped : set of str
        The streams whose tuples have no arrival time, and get the time of their planning.
    started_ms, down_ms : int
        The time of the driver's start, and the time between the last entry and this start.
    """

    tick_ms: int
    idle_ms: int
    stamped: Collection[str]
    started_ms: int
    down_ms: int

    def beside_rows(self, position: LogPosition, silent: Collection[str], now: int) -> Silence:
        """Return the silence of streams while others bring rows, so that they do not hold back the ticks of these.

        A stamped stream that was silent for longer than a tick has passed `now`. Other streams can only become idle.
        """
        streams = {name: position.streams[name] for name in silent}
        heartbeats = {
            name: now
            for name, stream in streams.items()
            if name in self.stamped and now - stream.last_rows_ms > self.tick_ms
        }
        idle = {
            name for name, stream in streams.items() if self.is_awaited(name, stream) and self._waited_long(stream, now)
        }
        return Silence(heartbeats, idle)

    def without_rows(
        self,
        position: LogPosition,
        silent: Collection[str],
        now: int,
        reached_ms: int | None,
        has_open: bool = False,
    ) -> Silence | None:
        """Return the silence to record when no stream brings rows; None where there is nothing to record.

        Heartbeats of stamped streams complete the newest ticks. Then all streams are silent, and from then on
        heartbeats advance the committed arrival time.

        Parameters
        ----------
        silent : set of str
            The streams whose feeds hold nothing back.
        reached_ms : int or None
            The greatest arrival time that a stream has reached; None before any.
        has_open : bool
            Whether answers are open although the streams are silent, because event times are ahead of arrival; a
            heartbeat
        may close them.
        """
        silence, all_silent = now - position.last_rows_ms, len(silent) == len(position.streams)
        down_ms = self.down_ms if position.last_rows_ms < self.started_ms else 0
        if not position.rows:
            return None
        if position.quiet or (all_silent and silence - down_ms >= self.idle_ms):
            return self._quiet(position, now, reached_ms, has_open) if all_silent else None
        silences = self.beside_rows(position, silent, now)
        newest_ms = position.last_rows_ms + self.tick_ms
        before = (position.streams[name].heartbeat_ms for name in silences.heartbeats)
        completes = silence > self.tick_ms and any(last is None or last <= newest_ms for last in before)
        return silences if completes or silences.idle else None

    def is_awaited(self, name: str, stream: StreamPosition) -> bool:
        """Test whether the ticks of others wait for a stream."""
        return name not in self.stamped and not stream.idle and stream.awaited_since_ms is not None

    def problems(self, position: LogPosition, now: int) -> Iterator[str]:
        """Report streams that still hold the query up after the longest wait."""
        for name, stream in position.streams.items():
            if not self._waited_long(stream, now):
                continue
            if stream.reached_ms is None:
                yield f"stream {name}: no tuple yet; the frontier (the watermark) waits until every stream has one"
            elif self.is_awaited(name, stream):
                yield f"stream {name}: its records bring no later arrival time, and the others wait for it"

    def _waited_long(self, stream: StreamPosition, now: int) -> bool:
        since_ms = stream.awaited_since_ms
        return since_ms is not None and now - since_ms >= self.idle_ms

    def _quiet(self, position: LogPosition, now: int, reached_ms: int | None, has_open: bool) -> Silence | None:
        """Return the beginning of silence, or while it lasts a heartbeat each `idle_ms`."""
        since = max(stream.silent_since_ms for stream in position.streams.values())
        passed: dict[str, int | None] = {}
        for name, stream in position.streams.items():
            if name in self.stamped:
                passed[name] = now
            elif stream.heartbeat_ms is not None:  # the arrival time has advanced by the length of the silence
                passed[name] = stream.heartbeat_ms + now - stream.silent_since_ms
            else:
                passed[name] = None if reached_ms is None else reached_ms + now - since
        heartbeats = {name: ms for name, ms in passed.items() if ms is not None}
        if not position.quiet:
            return Silence(heartbeats, quiet=True)
        is_due = heartbeats and now - since >= max(self.idle_ms, self.tick_ms)
        return Silence(heartbeats, quiet=has_open) if is_due else None
