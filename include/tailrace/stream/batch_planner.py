"""Plans the next batch between two batches, and writes it to the journal as the next entry."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

from tailrace.disorder.policy import SlackPolicy
from tailrace.engine.batch_header import BatchHeader
from tailrace.engine.feedback import FEEDBACK, Feedback
from tailrace.engine.next_facts import next_facts, with_plan
from tailrace.engine.progress import Progress
from tailrace.ground.facts import Facts
from tailrace.sources.feed import Feed
from tailrace.sources.segments import Segment
from tailrace.storage.journal import BatchRecord, LogPosition, StreamPosition
from tailrace.stream.batch_segments import MOST_WAITING, Selection, in_step, number_segments, select
from tailrace.stream.batch_size import BatchSize
from tailrace.stream.entry_writer import EntryWriter
from tailrace.stream.pace import Pace
from tailrace.stream.run_options import RunOptions
from tailrace.stream.silence import Silence, SilenceRules, after_downtime, closed, with_waits
from tailrace.stream.steady_clock import SteadyClock
from tailrace.stream.table_versions import TableVersions
from tailrace.stream.task_number import TaskNumber

Settings = tuple[SlackPolicy, str]
"""A slack policy, and the origin of its settings, in words."""


class BatchPlanner:
    """Plans batches, one at a time.

    Parameters
    ----------
    feeds : dict
        The feed of each stream, by the stream's name, in the order of the kind's inputs.
    waiting : dict
        The segments that each feed has returned so far.
    wanted : callable
        Returns the policy for the next batch, and the origin of its settings.
    tick_ms, idle_ms : int
        The query's settings.
    stamped : set of str
        The streams whose tuples have no arrival time, and get the time of their planning.
    clock : callable
        Creates the driver's clock from the last stamp of the journal, 0 before any.
    started_ms : int, optional
        The start of the driver, by default now; silence before it does not count.
    tables : sequence of TableVersions
        The versions of the dimension table, and of the tables of lookups.
    task_number : TaskNumber, optional
        Where the number of tasks may change.
    """

    def __init__(
        self,
        writer: EntryWriter,
        feeds: Mapping[str, Feed],
        waiting: Mapping[str, list[Segment]],
        wanted: Callable[[], Settings],
        tick_ms: int,
        idle_ms: int,
        stamped: Collection[str],
        feedback: Feedback,
        options: RunOptions,
        clock: Callable[[int], SteadyClock] = SteadyClock,
        started_ms: int | None = None,
        tables: Sequence[TableVersions] = (),
        task_number: TaskNumber | None = None,
    ) -> None:
        self.writer, self.journal = writer, writer.journal
        planned_ms = writer.last.position.planned_ms if writer.last else 0
        self.feeds, self.wanted, self.options, self.clock = feeds, wanted, options, clock(planned_ms)
        self.feedback, self.tables, self.size = feedback, tables, BatchSize(feedback.kind, options)
        self.pace, self.task_number = Pace(options.pace_ms), task_number
        started_ms = self.clock() if started_ms is None else started_ms
        down_ms = max(started_ms - planned_ms, 0) if writer.last else 0
        self.silence = SilenceRules(tick_ms, idle_ms, stamped, started_ms, down_ms)
        self.facts: Facts = ()
        before = writer.last.position if writer.last else LogPosition(dict.fromkeys(feeds, StreamPosition()))
        self.position = after_downtime(closed(before) if self.ended else before, down_ms)
        self.waiting = {name: deque(waiting[name]) for name in feeds}

    def observe(self, metrics: Sequence[Mapping[str, Any]]) -> None:
        """Observe the newest batch's rows in `metrics` (times in ms), which set the next one's size and routing."""
        if self.writer.last is not None:
            self.feedback.observe(metrics, self.writer.last.header.facts)
        self.size.observe(*(sum(row[name] for row in metrics) for name in ("rows", "partials", "answers")))
        took_ms = self.clock() - self.position.planned_ms
        self.pace.batch_took(took_ms)
        if self.task_number is not None:
            self.task_number.observe(len(metrics), sum(row["rows"] for row in metrics), took_ms)

    @property
    def batches(self) -> int:
        """The number of planned batches."""
        return self.writer.last.header.batch + 1 if self.writer.last else 0

    def record(self, entries: int) -> BatchRecord:
        """Return the entry that follows the first `entries` ones."""
        last = self.writer.last
        return last if last is not None and last.header.batch == entries else self.journal[entries]

    @property
    def ended(self) -> bool:
        """Whether the newest entry ends a bounded run, so that everything is complete and no window is open."""
        return self.writer.last is not None and self.writer.last.header.ends

    @property
    def rows_left(self) -> int:
        """The number of known rows that are in no entry yet."""
        return sum(segment.rows for segments in self.waiting.values() for segment in segments)

    @property
    def state(self) -> Literal["streaming", "waiting", "quiet"]:
        """The activity of a stream between batches."""
        if any(self.waiting.values()):
            return "streaming"
        return "quiet" if self.position.quiet and self.position.rows else "waiting"

    @property
    def wait_s(self) -> float:
        """The time to wait before the next call of `plan_batch`, after one that has planned nothing."""
        return self.pace.wait_ms(self.clock() - self.position.planned_ms) / 1000

    @property
    def problem(self) -> str | None:
        """The reasons why a source, or the query, gives nothing more for now; None without any."""
        problems = [feed.problem for feed in self.feeds.values()] + [table.problem for table in self.tables]
        problems += [*self.silence.problems(self.position, self.clock()), *self.clock.problems()]
        return "; ".join(filter(None, problems)) or None

    def plan_batch(self, progress: Progress | None = None, takes_rows: bool = True) -> BatchRecord | None:
        """Write the next entry; return None when there is nothing to do now.

        Parameters
        ----------
        progress : Progress or None
            The progress of the stream after the previous entry; None before the first batch.
        takes_rows : bool
            Whether rows may be taken. Otherwise existing rows wait, and waiting is not silence.
        """
        if (entry := self.writer.write_again()) is not None:
            return entry
        now = self.clock()
        if progress is not None and self.options.live:
            self.position = with_waits(self.position, progress.reached, self.silence.started_ms)
        facts = self.writer.last.header.facts if self.writer.last else ()
        self.facts = next_facts(facts, *self.wanted(), progress, self.feedback.kind, self.batches)
        if self.task_number is not None:
            self.facts = self.task_number.stamped(self.facts, self.position.segments, self.batches)
        stamped = self.facts[-1].batch == self.batches
        changed = stamped if self.writer.last else not self.options.live
        if self.options.live:
            is_due = self.pace.until_look_ms(now - self.position.planned_ms) <= 0
            if not (is_due or any(self.waiting.values()) or changed):  # rows that come meanwhile form one batch
                return None
            for name, feed in self.feeds.items():
                self.waiting[name] += feed.fresh() if len(self.waiting[name]) < MOST_WAITING else ()
            self.pace.look_took(self.clock() - now)
        elif self.ended and not self.rows_left:  # no window is open
            return None
        names = self._readable(progress)
        if takes_rows and (names or changed):
            return self._rows(now, names, progress)
        if self.options.live:
            return self._without_rows(now, progress) if takes_rows or not any(self.waiting.values()) else None
        return self._append(self.position, now, (), closes=True) if self.options.flush else None

    def _readable(self, progress: Progress | None) -> list[str]:
        """Return the streams from which the next batch takes rows.

        A live run that has caught up takes the rows of all. Otherwise streams are read in step by arrival, so that none
        piles up; while a silent one is awaited, only stamped streams are read.
        """
        names = [name for name, segments in self.waiting.items() if segments]
        if self.options.live and self.rows_left <= self.size.rows:
            return names
        free = self.silence.stamped if self.options.live else ()
        streams = self.position.streams.items() if self.options.live else ()
        if any(self.silence.is_awaited(name, stream) and not self.waiting[name] for name, stream in streams):
            return [name for name in names if name in free]
        return in_step(self.waiting, progress.reached if progress else (), free)

    def _rows(self, now: int, names: Sequence[str], progress: Progress | None) -> BatchRecord:
        """Write an entry with rows of the named streams, or with changed settings only."""
        selections = select(self.waiting, names, self.size.rows)
        firsts = {name: mine.first_left(self.waiting[name]) for name, mine in selections.items()}
        left = {name: first for name, first in firsts.items() if first is not None}
        segments, position = number_segments(selections, self.position, self.silence.stamped, now, self.clock.latest())
        if (partition_plan := self.feedback.take(self.facts)) is not None:
            self.facts = with_plan(self.facts, partition_plan, FEEDBACK, progress, self.position.segments, self.batches)
        for table in self.tables:
            self.facts = table.stamped(self.facts, self.position.segments, self.batches)
        over = not self.options.live and self.options.flush and not left
        silence = self._beside_rows(position, selections, left, now) if segments and not over else Silence()
        return self._append(position, now, segments, silence, closes=over, left=left, selections=selections)

    def _beside_rows(
        self, position: LogPosition, selections: Mapping[str, Selection], left: Collection[str], now: int
    ) -> Silence:
        """Return the silence of the streams without rows in a batch; a stream that was read to its end is idle."""
        if self.options.live:
            silent = [name for name, mine in selections.items() if not (mine.segments or name in left)]
            return self.silence.beside_rows(position, self._holding_nothing(silent), now)
        return Silence(idle=[name for name in selections if name not in left] if self.options.flush else ())

    def _without_rows(self, now: int, progress: Progress | None) -> BatchRecord | None:
        """Write an entry that records silence; return None if there is nothing to record."""
        committed = (progress.until or None) if progress else None
        reached = [ms for ms in progress.reached if ms is not None] if progress else []
        reached_ms = max(reached, default=committed)
        silent = self._holding_nothing([name for name, segments in self.waiting.items() if not segments])
        has_open = progress is not None and progress.has_open
        silence = self.silence.without_rows(self.position, silent, now, reached_ms, has_open)
        return None if silence is None else self._append(self.position, now, (), silence, closes=silence.quiet)

    def _holding_nothing(self, names: Collection[str]) -> list[str]:
        return [name for name in names if not self.feeds[name].holds_back]

    def _append(
        self,
        position: LogPosition,
        now: int,
        segments: tuple[Segment, ...],
        silence: Silence = Silence(),  # noqa: B008 (frozen)
        closes: bool = False,
        left: Mapping[str, Segment] = {},
        selections: Mapping[str, Selection] = {},
    ) -> BatchRecord:
        """Write an entry with the selected rows; `left` has each stream's first segment that is in no entry yet."""
        position = silence.after(position, now)
        streams = {
            name: replace(stream, version=left[name].version - 1 if name in left else self.feeds[name].version)
            for name, stream in position.streams.items()
        }
        position = replace(position, streams=streams, planned_ms=now)
        idle = tuple(name for name, stream in streams.items() if stream.idle)
        ends, idle_ms = closes and not self.options.live, self.silence.idle_ms
        header = BatchHeader(self.batches, self.facts, silence.heartbeats, idle, closes, ends, idle_ms)

        def take() -> None:
            self.position = position
            for name, mine in selections.items():
                mine.remove_from(self.waiting[name])

        return self.writer.write(BatchRecord(header, segments, position), take)
