"""What the driver decides between two batches: the next entry of the journal."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Literal

from tailrace.disorder.policy import SlackPolicy
from tailrace.engine.batch_header import BATCH_ROWS, BatchHeader, next_facts
from tailrace.ground.errors import Problem, Refused
from tailrace.ground.facts import Facts
from tailrace.sources.feeds import Feed, remaining
from tailrace.sources.segments import Segment
from tailrace.storage.journal import BatchRecord, Journal, LogPosition
from tailrace.storage.progress import Progress
from tailrace.storage.status import wall_ms

_MADE = 1_000_000  # partials or answers that a batch may come to: they go through the driver's memory
_SEGMENTS = 10_000  # in a batch, however small they are


Settings = tuple[SlackPolicy, str]
"""A slack policy, and where its settings come from, in words."""


class Ended(Refused):
    """The stream was ended by a bounded run."""


@dataclass(frozen=True)
class RunOptions:
    """How the batches of a run are cut; no answer depends on the first two.

    Attributes
    ----------
    batch_rows : int
        A batch takes segments up to so many rows, or a part of one; and no more than come to a million partials or
        answers, by what the batch before came to, nor than twice as many as that one might.
    pace_ms : int
        A live run looks for more no earlier than so long after it planned a batch.
    live : bool
        The source goes on; its silence is put down. Else the run is over when all that was there is read.
    flush : bool
        Whether a run that is over ends the stream, and closes what is open.
    """

    batch_rows: int = BATCH_ROWS
    pace_ms: int = 1000
    live: bool = False
    flush: bool = True


class BatchPlanner:
    """Plans batches, one at a time.

    Parameters
    ----------
    waiting : list of Segment
        What the feed has given so far.
    wanted : callable
        Gives the policy as it is to be from now on, and where its settings come from.
    tick_ms, idle_ms : int
        The query's.
    stamps : bool
        Whether the source's tuples bring no arrival time, and get that of their planning.
    now : callable
        The wall clock, in epoch milliseconds.
    """

    def __init__(
        self,
        journal: Journal,
        feed: Feed,
        waiting: list[Segment],
        wanted: Callable[[], Settings],
        tick_ms: int,
        idle_ms: int,
        stamps: bool,
        plan: RunOptions,
        now: Callable[[], int] = wall_ms,
    ) -> None:
        self.journal, self.feed, self.wanted, self.options, self.now = journal, feed, wanted, plan, now
        self.tick_ms, self.idle_ms, self.stamps = tick_ms, idle_ms, stamps
        self.last = journal.last()
        self.facts: Facts = ()
        self.position = self.last.position if self.last else LogPosition()
        self.waiting = deque(waiting)
        self.room = min(plan.batch_rows, _MADE)

    def adapt_batch_size(self, rows: int, partials: int, answers: int) -> None:
        """What a batch made of its rows: by this the next one is cut."""
        if rows:
            enough = max(_MADE * rows // max(partials, answers, 1), _MADE)
            self.room = min(enough, 2 * self.room, self.options.batch_rows)

    @property
    def batches(self) -> int:
        """How many batches are planned."""
        return self.last.header.batch + 1 if self.last else 0

    @property
    def ended(self) -> bool:
        return self.last is not None and self.last.header.ends

    @property
    def rows_left(self) -> int:
        """How many rows are known to be there that no entry has named yet."""
        return sum(segment.rows for segment in self.waiting)

    @property
    def newest_rows(self) -> int:
        """The number of rows that the newest entry reads."""
        return sum(segment.rows for segment in self.last.segments) if self.last else 0

    @property
    def state(self) -> Literal["streaming", "waiting", "quiet"]:
        """What a stream does that is at no batch."""
        if self.waiting:
            return "streaming"
        return "quiet" if self.position.quiet and self.position.rows else "waiting"

    def plan(self, progress: Progress | None = None) -> BatchRecord | None:
        """Write the next entry; None when there is nothing to be done now.

        Parameters
        ----------
        progress : Progress or None
            The progress of the stream after the entry before; None before the first batch.

        Raises
        ------
        Ended
            When the stream has ended, and there is more to read.
        """
        now = self.now()
        ticks = (progress.newest_tick, progress.complete_tick) if progress else (None, None)
        self.facts = next_facts(self.last.header.facts if self.last else (), *self.wanted(), *ticks, self.batches)
        stamped = self.facts[-1].batch == self.batches
        changed = stamped if self.last else not self.options.live
        if self.options.live:
            if not (self._due(now) or changed):  # what comes meanwhile comes together
                return None
            self.waiting += self.feed.fresh()
        if self.ended:
            if self.waiting:
                raise self._ended(f"{self.waiting[0].path} came after its end, and would never be read")
            return None
        if self.waiting or changed:
            return self._rows(now)
        if self.options.live:
            return self._silence(now, progress.until or None if progress else None)
        return self._append(self.position, now, (), closes=True) if self.options.flush else None

    def refuse_ended(self) -> None:
        """Refuse to go on with a stream that has ended."""
        if self.ended:
            raise self._ended("the stream was ended by a bounded run, and its windows are closed")

    def _rows(self, now: int) -> BatchRecord:
        taken, rest = self._next()
        segments: list[Segment] = []
        standing = self.position
        for segment in taken:
            stamp = now if self.stamps else None
            segments.append(replace(segment, ordinal=standing.segments, position=standing.rows, ingested_ms=stamp))
            standing = replace(standing, segments=standing.segments + 1, rows=standing.rows + segment.rows)
        if segments:
            standing = replace(standing, last_rows_ms=now, silent_since_ms=now, heartbeat_ms=None, quiet=False)
        left = rest or list(islice(self.waiting, len(taken), len(taken) + 1))
        over = not self.options.live and self.options.flush and not left
        entry = self._append(standing, now, tuple(segments), closes=over, left=left)
        for _ in taken:
            self.waiting.popleft()
        self.waiting.extendleft(rest)
        return entry

    def _next(self) -> tuple[list[Segment], list[Segment]]:
        """The segments of the next batch, the first of them cut where it alone has too many rows; and its rest."""
        taken: list[Segment] = []
        room = self.room
        for segment in islice(self.waiting, _SEGMENTS):
            if segment.rows > room:
                if taken:
                    break
                return [replace(segment, rows=room)], remaining([segment], segment.first_row + room)
            taken.append(segment)
            room -= segment.rows
        return taken, []

    def _due(self, now: int) -> bool:
        since = now - self.position.planned_ms
        return bool(self.waiting) or not 0 <= since < self.options.pace_ms  # clocks are set back, too

    def _silence(self, now: int, committed: int | None) -> BatchRecord | None:
        """What is put down while nothing comes: a heartbeat after the newest rows, that the stream is quiet, and from
        then on heartbeats, by which what is committed keeps up with the time."""
        if self.feed.holds_back:
            return None
        last, silent = self.position, now - self.position.last_rows_ms
        before, since = committed if last.heartbeat_ms is None else last.heartbeat_ms, now - last.silent_since_ms
        # Where tuples bring their arrival time, only the length of the silence can tell how far it has come.
        passed = now if self.stamps else None if before is None else before + since
        if not last.quiet and silent >= self.idle_ms:
            return self._append(
                replace(last, silent_since_ms=now, heartbeat_ms=passed, quiet=True), now, (), passed, closes=True
            )
        completes = self.stamps and last.heartbeat_ms is None and silent > self.tick_ms
        goes_on = last.quiet and passed is not None and since >= max(self.idle_ms, self.tick_ms)
        if last.rows and (completes or goes_on):
            return self._append(replace(last, silent_since_ms=now, heartbeat_ms=passed), now, (), passed)
        return None

    def _append(
        self,
        standing: LogPosition,
        now: int,
        segments: tuple[Segment, ...],
        passed: int | None = None,
        closes: bool = False,
        left: Sequence[Segment] = (),
    ) -> BatchRecord:
        """Write an entry, or change nothing; `left` begins with the first segment that is in no entry yet."""
        version = left[0].version - 1 if left else self.feed.version
        standing = replace(standing, version=version, planned_ms=now)
        header = BatchHeader(self.batches, self.facts, passed, closes, ends=closes and not self.options.live)
        entry = BatchRecord(header, segments, standing)
        self.journal.append(entry)
        self.last, self.position = entry, standing
        return entry

    def _ended(self, wrong: str) -> Ended:
        right = "another warehouse, or another name for the query; --keep-open leaves a run open"
        return Ended([Problem(str(self.journal.directory.parent.parent), wrong, right)])
