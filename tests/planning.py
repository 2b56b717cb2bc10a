"""The driver's planning without Spark: a source whose segments keep coming, a clock, and restarts at any time."""

from __future__ import annotations

import json
from itertools import accumulate
from pathlib import Path

from tailrace.disorder.policies import policy_from_json
from tailrace.ground.facts import newest
from tailrace.sources.feeds import remaining
from tailrace.sources.segments import Segment
from tailrace.storage.journal import BatchRecord, Journal
from tailrace.storage.progress import Progress
from tailrace.stream.batch_planner import BatchPlanner, RunOptions

# file → the rows of its segments
FILES = {"a": [3, 3, 2], "b": [4], "d": [1, 1]}
WHOLE = [(name, row) for name, rows in FILES.items() for row in range(sum(rows))]
LIVE = RunOptions(batch_rows=4, pace_ms=100, live=True)
IDLE, TICK = 1_000, 50
NONE, WAITING = '{"policy": "none"}', '{"policy": "k_slack", "k": "1 ms"}'


def segments(names: str = "abd", version: int = 0) -> list[Segment]:
    parts = [(name, part, rows) for name in names for part, rows in enumerate(FILES[name])]
    return [Segment(f"/in/{name}", sum(FILES[name][:part]), rows, version=version) for name, part, rows in parts]


class Log:
    """A source whose segments keep coming."""

    types = {"event_time": "int64"}  # noqa: RUF012
    version = 0
    holds_back = False
    problem = None

    def __init__(self, *there: Segment) -> None:
        self.there, self.given = list(there), 0

    def fresh(self) -> list[Segment]:
        found = self.there[self.given :]
        self.given = len(self.there)
        return found

    def rest(self, rows: int) -> list[Segment]:
        """What it gives to a driver that has read so many rows."""
        self.given = len(self.there)
        before = [0, *accumulate(segment.rows for segment in self.there)]
        parts = zip(self.there, before, strict=False)
        return [rest for part, first in parts for rest in remaining([part], part.first_row + rows - first)]


class Driver:
    """An intake with a clock, which may be begun anew at any time."""

    def __init__(self, directory: Path, log: Log, plan: RunOptions, settings: str = NONE, stamps: bool = False) -> None:
        self.directory, self.log, self.options, self.settings, self.stamps = directory, log, plan, settings, stamps
        self.time = 1_000_000
        self.restart()

    def restart(self, **changed: object) -> None:
        for name, value in changed.items():
            setattr(self, name, value)
        journal = Journal(self.directory)
        waiting = self.log.rest(sum(part.rows for entry in entries(self.directory) for part in entry.segments))
        self.intake = BatchPlanner(
            journal,
            self.log,
            waiting,
            lambda: (policy_from_json(self.settings), "declared"),
            TICK,
            IDLE,
            self.stamps,
            self.options,
            lambda: self.time,
        )

    def plan(self, after: int = 0, committed: int | None = None, newest_tick: int | None = None) -> BatchRecord | None:
        self.time += after
        return self.intake.plan(Progress(committed or 0, 0, False, newest_tick))

    def go(self) -> None:
        while self.plan() is not None:
            pass


def entries(directory: Path) -> list[BatchRecord]:
    journal, found = Journal(directory), []
    while len(found) in journal:
        found.append(journal[len(found)])
    return found


def rows_read(directory: Path) -> list[tuple[str, int]]:
    """The rows that the journal names, and each segment's place in the log right."""
    found, position, ordinal = [], 0, 0
    for entry in entries(directory):
        for segment in entry.segments:
            assert (segment.ordinal, segment.position) == (ordinal, position)
            ordinal, position = ordinal + 1, position + segment.rows
            found += [(Path(segment.path).name, segment.first_row + row) for row in range(segment.rows)]
        assert (entry.position.segments, entry.position.rows) == (ordinal, position)
    return found


def in_force(entry: BatchRecord) -> str:
    """The settings (JSON) that an entry's newest fact holds."""
    return json.dumps(newest(entry.header.facts, "settings").value)


def said(entry: BatchRecord | None) -> tuple[int | None, bool, int] | None:
    """What silence an entry puts down, and how many segments it has."""
    return None if entry is None else (entry.header.heartbeat_ms, entry.header.closes, len(entry.segments))
