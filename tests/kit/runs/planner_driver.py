"""A `BatchPlanner` without Spark: over growing sources, with a clock of its own, and restartable at any time."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping
from itertools import accumulate
from pathlib import Path

from kit.draws.kind_samples import kind_of
from tailrace.disorder.policies import policy_from_json
from tailrace.engine.feedback import Feedback
from tailrace.engine.progress import Progress
from tailrace.ground.facts import newest
from tailrace.kind.protocol import Kind
from tailrace.sources.reading_progress import remaining
from tailrace.sources.segments import Segment
from tailrace.storage.journal import BatchRecord, Journal
from tailrace.stream.batch_planner import BatchPlanner
from tailrace.stream.entry_writer import EntryWriter
from tailrace.stream.run_options import RunOptions
from tailrace.stream.steady_clock import SteadyClock

# file → the number of rows of each of its segments
FILES = {"a": [3, 3, 2], "b": [4], "d": [1, 1]}
WHOLE = [(name, row) for name, rows in FILES.items() for row in range(sum(rows))]
LIVE = RunOptions(batch_rows=4, pace_ms=100, live=True)
IDLE, TICK = 1_000, 50
STREAM = "readings"
METRICS = {"rows": 1, "partials": 1, "answers": 1, "repeats": 0, "late": 0, "k_ms": 0, "coverage": 1.0}
METRICS |= dict.fromkeys(("committed", "frontier", "t_max", "newest_tick", "complete_tick"), 5)
METRICS |= {
    "flushed": False,
    "reached": [5],
    "newest_event": 5,
    "imbalance": None,
    "threshold": None,
    "loads": None,
    "counts": None,
    "filtered": 0,
}
NONE, WAITING = '{"policy": "none"}', '{"policy": "k_slack", "k": "1 ms"}'


def segments(names: str = "abd", version: int = 0) -> list[Segment]:
    parts = [(name, part, rows) for name in names for part, rows in enumerate(FILES[name])]
    return [Segment(f"/in/{name}", sum(FILES[name][:part]), rows, version=version) for name, part, rows in parts]


class Log:
    """An in-memory feed: a test appends segments to `there`, and `given` counts those that were returned."""

    types = {"event_time": "int64"}  # noqa: RUF012
    version = 0
    holds_back = False
    problem = None

    def __init__(self, *there: Segment) -> None:
        self.there, self.given = list(there), 0

    def fresh(self) -> list[Segment]:
        unread = self.there[self.given :]
        self.given = len(self.there)
        return unread

    def rest(self, rows: int) -> list[Segment]:
        """The unread segments of a driver that has read `rows` rows, which count as returned."""
        self.given = len(self.there)
        before = [0, *accumulate(segment.rows for segment in self.there)]
        parts = zip(self.there, before, strict=False)
        return [rest for part, first in parts for rest in remaining([part], part.first_row + rows - first)]


class Driver:
    """A batch planner with clocks of its own, and a journal from which `restart` goes on.

    `time` is the steady one, and the wall clock is ahead of it by `wall_ahead`; ms.
    """

    def __init__(
        self,
        directory: Path,
        log: Log | Mapping[str, Log],
        plan: RunOptions,
        settings: str = NONE,
        stamps: bool | Collection[str] = False,
        kind: Kind | None = None,
    ) -> None:
        """Take one log, of the stream `STREAM`, or one for each stream; `stamps`: all or none of them, or their names.

        With one log, `log` is it.
        """
        self.logs = {STREAM: log} if isinstance(log, Log) else dict(log)
        self.log = next(iter(self.logs.values()))
        self.kind = kind or kind_of("sum")
        self.directory, self.options, self.settings, self.stamps = directory, plan, settings, stamps
        self.time, self.wall_ahead, self.started = 1_000_000, 0, None
        self.restart()

    def restart(self, **changed: object) -> None:
        """Go on from the journal; `started=0`: no time counts as time without a driver."""
        for name, value in changed.items():
            setattr(self, name, value)
        journal = Journal(self.directory)
        planned = [part for record in entries(self.directory) for part in record.segments]
        unread_segments = {
            name: log.rest(sum(part.rows for part in planned if part.stream == name)) for name, log in self.logs.items()
        }
        self.planner = BatchPlanner(
            EntryWriter(journal),
            self.logs,
            unread_segments,
            lambda: (policy_from_json(self.settings), "declared"),
            TICK,
            IDLE,
            (self.logs if self.stamps else ()) if isinstance(self.stamps, bool) else self.stamps,
            Feedback(self.kind, 2),
            self.options,
            self.clock,
            self.started,
        )

    def clock(self, last_stamp_ms: int) -> SteadyClock:
        return SteadyClock(last_stamp_ms, lambda: self.time + self.wall_ahead, lambda: self.time / 1000)

    def plan(
        self,
        after: int = 0,
        committed: int | None = None,
        newest_tick: int | None = None,
        reached: tuple[int | None, ...] = (),
        frontier: int = 0,
        newest_event: int | None = None,
    ) -> BatchRecord | None:
        self.time += after
        complete_tick = None if newest_tick is None else newest_tick - 1
        return self.planner.plan_batch(
            Progress(committed or 0, frontier, False, newest_tick, complete_tick, reached, newest_event)
        )

    def go(self) -> None:
        while self.plan() is not None:
            pass


def entries(directory: Path) -> list[BatchRecord]:
    journal, records = Journal(directory), []
    while len(records) in journal:
        records.append(journal[len(records)])
    return records


def rows_read(directory: Path) -> list[tuple[str, int]]:
    """The (file, row) pairs that the journal names; each segment's place in the log is asserted."""
    row_ids, position, ordinal = [], 0, 0
    for record in entries(directory):
        for segment in record.segments:
            assert (segment.ordinal, segment.position) == (ordinal, position)
            ordinal, position = ordinal + 1, position + segment.rows
            row_ids += [(Path(segment.path).name, segment.first_row + row) for row in range(segment.rows)]
        assert (record.position.segments, record.position.rows) == (ordinal, position)
    return row_ids


def in_force(record: BatchRecord) -> str:
    """The settings (JSON) of the newest fact of a journal entry."""
    return json.dumps(newest(record.header.facts, "settings").value)


def said(record: BatchRecord | None) -> tuple[int | None, bool, int] | None:
    """(heartbeat in ms, whether windows close, number of segments) of a journal entry; None without one."""
    return None if record is None else (heartbeat(record), record.header.closes, len(record.segments))


def heartbeat(record: BatchRecord) -> int | None:
    """The heartbeat (ms) in a journal entry of the only stream."""
    assert record.header.heartbeats.keys() <= {STREAM}
    assert not record.header.idle
    return record.header.heartbeats.get(STREAM)
