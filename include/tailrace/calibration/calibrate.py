"""The calibration of the cache duration: what history says is enough, proposed to the stream. It needs no Spark."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import numpy as np
import pyarrow.dataset as ds

from tailrace.calibration.calibration_input import LoggedHistory
from tailrace.calibration.measure import Accuracies
from tailrace.calibration.recent_windows import Measurement, NotReady, RecentWindows
from tailrace.calibration.search import Interval, Search
from tailrace.disorder.cache_duration import CacheDuration
from tailrace.engine.stage import Stage
from tailrace.ground.duration import format_duration, format_time
from tailrace.ground.errors import Problem, refuse
from tailrace.query.query import Query
from tailrace.storage.checkpoint import readable
from tailrace.storage.layout import Layout
from tailrace.storage.log import Log
from tailrace.storage.progress import Progress
from tailrace.storage.proposals import Proposal, Proposals
from tailrace.storage.tables import Tables

_ROUNDS = 60  # of a survey; the search ends in fewer


@dataclass(frozen=True)
class MeasuredDuration:
    """A duration, the mean accuracy with it, and the standard error of that."""

    duration_ms: int
    accuracy: float
    error: float


@dataclass(frozen=True)
class Report:
    """What a calibration found.

    Attributes
    ----------
    tried : tuple of Tried
        In order of their durations.
    promise : float
        The accuracy that is to be kept.
    windows, up_to : int
        Over how many windows, and where the last of them ends, in ms of event time.
    k_ms : int or None
        K in force.
    interval, found : Interval
        What was searched, and what follows from it: the K that is proposed, the interval that is searched next.
    longest_ms : int
        The longest delay of the tuples that were read.
    proposed : bool or None
        Whether the proposal was written; None: the policy takes none.
    """

    tried: tuple[MeasuredDuration, ...]
    promise: float
    windows: int
    up_to: int
    k_ms: int | None
    interval: Interval
    found: Interval
    longest_ms: int
    proposed: bool | None

    @property
    def accuracy(self) -> float | None:
        """That of the K that is proposed; None where it was not measured."""
        return next((one.accuracy for one in self.tried if one.duration_ms == self.found.k_ms), None)

    @property
    def evidence(self) -> str:
        """Why this K, in a sentence."""
        over = f"calibrated over {self.windows} windows up to {format_time(self.up_to)}"
        k, longest = format_duration(self.found.k_ms), self.tried[-1]
        if self.accuracy is None:
            most = f"{format_duration(longest.duration_ms)} gives {longest.accuracy:.4f} < {self.promise:g}"
            then = f"so {k} is tried" if self.proposed is not None else "and the past is too short for more"
            return f"{over}: {most}, {then}"
        if self.accuracy >= self.promise:
            return f"{over}: {k} gives {self.accuracy:.4f} ≥ {self.promise:g}"
        if self.longest_ms <= self.found.k_ms:
            return f"{over}: {k} gives {self.accuracy:.4f} < {self.promise:g}, and no tuple was delayed for longer"
        return f"{over}: {k} gives {self.accuracy:.4f}, which is {self.promise:g} within its error"


def calibrate(query: Query, warehouse: Path, dry_run: bool = False) -> Report:
    """Measure over the newest windows of history, and propose the K that follows.

    With policy `cache_duration` this is one step of its search, from where the last one ended. Any other policy takes
    no proposal; a dry run surveys what each K would have given, from 0 to the shortest that keeps 0.95.

    Parameters
    ----------
    dry_run : bool
        Write nothing.

    Raises
    ------
    Refused
        When the policy takes no proposal, another calibration is running, or there is too little to go by yet
        (`NotReady`): the query never ran here, or fewer windows than it takes are whole.
    """
    layout, policy = Layout.of(warehouse, query.name), query.policy
    if not isinstance(policy, CacheDuration) and not dry_run:
        right = "--dry-run, which shows what each K would give; or policy: cache_duration, which takes the one proposed"
        raise refuse("disorder.policy", f"{policy.policy} takes no proposal", right)
    past = _past(query, layout)
    if not isinstance(policy, CacheDuration):
        return past.survey(CacheDuration(policy="cache_duration"))
    declared, proposals = policy.model_dump_json(), Proposals(layout)
    if dry_run:
        return past.step(policy, proposals.newest(declared))
    with layout.lock("calibration"):
        report = past.step(policy, proposals.newest(declared), proposed=True)
        found = report.found
        proposals.add(
            Proposal(
                int(datetime.now(UTC).timestamp() * 1000),
                declared,
                policy.waiting(found.k_ms).model_dump_json(),
                found.k_ms,
                found.lower_ms,
                found.upper_ms,
                tuple((one.duration_ms, one.accuracy) for one in report.tried),
                report.windows,
                report.accuracy,
                past.until,
                report.evidence,
            )
        )
        return report


@dataclass(frozen=True)
class _CalibrationRun:
    """A query's log up to the point of arrival time `until`, and K as it stood there."""

    query: Query
    stage: Stage
    log: Log
    until: int
    k_ms: int | None

    def step(self, policy: CacheDuration, last: Proposal | None, proposed: bool = False) -> Report:
        """One step of the policy's search, from the last proposal or from the start."""
        search = self._search(policy)
        interval = search.start(policy.k_ms) if last is None else Interval(last.lower_ms, last.upper_ms, last.k_ms)
        one = self._recent(policy).measure(search.durations(interval))
        found = search.next(interval, one.measured.accuracy, one.measured.error, one.longest_ms)
        return self._report(policy, [one], interval, found, proposed)

    def survey(self, policy: CacheDuration) -> Report:
        """The whole search over the same past: from 0 on to where it stays, or as far as the past reaches."""
        search, recent = self._search(policy), self._recent(policy)
        interval = before = search.start(0)
        found: list[Measurement] = []
        for _ in range(_ROUNDS):
            try:
                found.append(recent.measure(search.durations(interval)))
            except NotReady:
                if not found:
                    raise
                break
            measured, longest = found[-1].measured, found[-1].longest_ms
            before, interval = interval, search.next(interval, measured.accuracy, None, longest)
            if interval == before:
                break
        with suppress(NotReady):
            found.insert(0, recent.measure(np.array([self.k_ms or 0])))
        return self._report(policy, found, before, interval, None)

    def _search(self, policy: CacheDuration) -> Search:
        return Search.of(policy, self.query.tick_ms)

    def _recent(self, policy: CacheDuration) -> RecentWindows:
        return RecentWindows(self.stage.kind, LoggedHistory(self.stage, self.log), policy.queries, policy.accuracy)

    def _report(
        self,
        policy: CacheDuration,
        found: list[Measurement],
        interval: Interval,
        after: Interval,
        proposed: bool | None,
    ) -> Report:
        """`found` is what was measured; of a duration that was measured more than once the last time counts."""
        last = found[-1]
        tried = {row.duration_ms: row for one in found for row in _tried(one.measured)}
        windows = (len(last.measured.ends), int(last.measured.ends[-1]))
        rows = tuple(tried[duration] for duration in sorted(tried))
        return Report(rows, policy.accuracy, *windows, self.k_ms, interval, after, last.longest_ms, proposed)


def _tried(measured: Accuracies) -> Iterable[MeasuredDuration]:
    columns = (measured.durations, measured.accuracy, measured.error)
    return (MeasuredDuration(*row) for row in zip(*(np.asarray(column).tolist() for column in columns), strict=True))


def _past(query: Query, layout: Layout) -> _CalibrationRun:
    origin, committed = readable(layout, query), Progress.read(layout)
    if origin is None or committed is None or not committed.until:
        wrong = (
            "the query has never run in this warehouse" if origin is None else "the stream has committed nothing yet"
        )
        raise NotReady([Problem(str(layout.home), wrong, "tailrace run, first")])
    tables, stage = Tables(layout), Stage.of(query, origin.types, layout.table("history"))
    last = tables.greatest("metrics", "batch")
    k_ms = tables.read("metrics", ["k_ms"], ds.field("batch") == last).column("k_ms").to_pylist()
    log = Log.read(stage, tables, committed.until)
    if log.segments.empty:
        raise NotReady(
            [Problem(str(layout.home), "no tuple has been accepted yet", "to calibrate when there are some")]
        )
    return _CalibrationRun(query, stage, log, committed.until, max(k_ms, default=None))
