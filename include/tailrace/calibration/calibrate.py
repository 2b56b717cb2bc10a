"""The calibration of the cache duration: proposes the slack K (allowed lateness) that sufficed in history. No Spark."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime

import numpy as np
import pyarrow.dataset as ds

from tailrace.answers.model import ShortestWait
from tailrace.calibration.calibration_input import MOST_ROWS, LoggedHistory
from tailrace.calibration.measure import Accuracies
from tailrace.calibration.recent_pairs import RecentPairs
from tailrace.calibration.recent_windows import Measurement, NotReady, RecentWindows
from tailrace.calibration.report import CalibrationReport, MeasuredDuration
from tailrace.calibration.search import Bracket, SlackSearch
from tailrace.disorder.cache_duration import CacheDuration
from tailrace.engine.pipeline import Pipeline
from tailrace.ground.errors import Problem, refuse
from tailrace.kind.protocol import WindowedKind, windowed
from tailrace.query.query import Query, require_late_tuples
from tailrace.storage.checkpoint import readable
from tailrace.storage.layout import Layout
from tailrace.storage.log import Log
from tailrace.storage.progress import read_progress
from tailrace.storage.proposals import Proposal, Proposals
from tailrace.storage.tables import Tables
from tailrace.storage.warehouses import Warehouse

_MAX_ROUNDS = 60  # of a survey; the search ends in fewer


def calibrate(query: Query, warehouse: Warehouse, dry_run: bool = False) -> CalibrationReport:
    """Measure accuracy over the newest windows of history, and propose the K that follows.

    With policy `cache_duration` this is one step of its search, from where the last one ended. Any other policy takes
    no proposal; a dry run surveys the accuracy that each K would have given, from 0 to the smallest that keeps 0.95.

    Parameters
    ----------
    dry_run : bool
        Write nothing.

    Raises
    ------
    Refused
        When the policy takes no proposal, another calibration is running, or there is too little history yet
        (`NotReady`): the query never ran here, or fewer windows than required are complete.
    """
    require_late_tuples(query)
    layout, policy = Layout.of(warehouse, query.name), query.policy
    if not isinstance(policy, CacheDuration) and not dry_run:
        remedy = "--dry-run, which shows what each K would give; or policy: cache_duration, which takes a proposal"
        raise refuse("disorder.policy", f"{policy.policy} takes no proposal", remedy)
    run = _calibration_run(query, layout)
    if not isinstance(policy, CacheDuration):
        return run.survey(CacheDuration(policy="cache_duration"))
    proposals = Proposals(layout)
    if dry_run:
        return run.step(policy, proposals.newest(policy))
    with layout.lock("calibration") as require_held:
        report = run.step(policy, proposals.newest(policy), proposed=True)
        interval = report.next_interval
        require_held()
        proposals.add(
            Proposal(
                int(datetime.now(UTC).timestamp() * 1000),
                policy.model_dump_json(),
                policy.waiting(interval.k_ms).model_dump_json(),
                interval.k_ms,
                interval.lower_ms,
                interval.upper_ms,
                tuple((row.duration_ms, row.accuracy) for row in report.measurements),
                report.windows,
                report.accuracy,
                run.until,
                report.evidence,
            )
        )
        return report


@dataclass(frozen=True)
class _RecentAnswers:
    """The newest answers of history, in each of the ways to measure them (`answers.model.WaysToMeasure`)."""

    kind: WindowedKind
    histories: tuple[LoggedHistory, ...]
    policy: CacheDuration

    def by_windows(self) -> RecentWindows | RecentPairs:
        return RecentWindows(self.kind, self.histories[0], self.policy.queries, self.policy.accuracy, self.policy.of)

    def by_shortest_waits(self, shortest_wait: ShortestWait) -> RecentWindows | RecentPairs:
        return RecentPairs(self.kind, self.histories, self.policy.queries, self.policy.accuracy, shortest_wait)


@dataclass(frozen=True)
class _CalibrationRun:
    """The logs of a query's streams up to the point of arrival time `until`, and the K in force then."""

    query: Query
    pipeline: Pipeline
    logs: tuple[Log, ...]
    until: int
    k_ms: int | None

    def step(self, policy: CacheDuration, last: Proposal | None, proposed: bool = False) -> CalibrationReport:
        """One step of the policy's search, from the last proposal or from the start."""
        search = self._search(policy)
        interval = search.start(policy.k_ms) if last is None else Bracket(last.lower_ms, last.upper_ms, last.k_ms)
        result = self._recent(policy).measure(search.durations(interval))
        next_interval = search.next(interval, result.measured.accuracy, result.measured.error, result.longest_ms)
        return self._report(policy, [result], interval, next_interval, proposed)

    def survey(self, policy: CacheDuration) -> CalibrationReport:
        """The whole search over the same history: from 0 until the interval stays, or as far as history reaches."""
        search, recent = self._search(policy), self._recent(policy)
        interval = previous = search.start(0)
        results: list[Measurement] = []
        for _ in range(_MAX_ROUNDS):
            try:
                results.append(recent.measure(search.durations(interval)))
            except NotReady:
                if not results:
                    raise
                break
            measured, longest = results[-1].measured, results[-1].longest_ms
            previous, interval = interval, search.next(interval, measured.accuracy, None, longest)
            if interval == previous:
                break
        with suppress(NotReady):
            results.insert(0, recent.measure(np.array([self.k_ms or 0])))
        return self._report(policy, results, previous, interval, None)

    def _search(self, policy: CacheDuration) -> SlackSearch:
        return SlackSearch.of(policy, self.query.tick_ms)

    def _recent(self, policy: CacheDuration) -> RecentWindows | RecentPairs:
        kind = windowed(self.pipeline.kind)
        most = MOST_ROWS // kind.row_weight
        sides = zip(self.pipeline.readers, self.logs, strict=True)
        histories = tuple(LoggedHistory(reader, log, most) for reader, log in sides)
        return kind.answers.measure(_RecentAnswers(kind, histories, policy))

    def _report(
        self,
        policy: CacheDuration,
        results: list[Measurement],
        interval: Bracket,
        next_interval: Bracket,
        proposed: bool | None,
    ) -> CalibrationReport:
        """The report of some measurements; of a duration that was measured more than once the last time counts."""
        last = results[-1]
        row_of = {row.duration_ms: row for result in results for row in _measured_durations(result.measured)}
        windows = (len(last.measured.ends), int(last.measured.ends[-1]))
        rows = tuple(row_of[duration] for duration in sorted(row_of))
        return CalibrationReport(
            rows, policy.accuracy, *windows, self.k_ms, interval, next_interval, last.longest_ms, proposed
        )


def _measured_durations(accuracies: Accuracies) -> Iterable[MeasuredDuration]:
    least = accuracies.columns or (None,) * len(accuracies.durations)
    durations, means, errors = (each.tolist() for each in (accuracies.durations, accuracies.accuracy, accuracies.error))
    return map(MeasuredDuration, durations, means, errors, least)


def _calibration_run(query: Query, layout: Layout) -> _CalibrationRun:
    manifest, progress = readable(layout, query), read_progress(layout)
    if manifest is None or progress is None or not progress.until:
        fault = (
            "the query has never run in this warehouse" if manifest is None else "the stream has committed nothing yet"
        )
        raise NotReady([Problem(str(layout.home), fault, "tailrace run, first")])
    query = query.fixed_by(manifest.structure)
    tables, pipeline = Tables(layout), Pipeline.of(query, manifest.types, layout.histories(query.streams))
    last = tables.greatest("metrics", "batch")
    k_ms = tables.read("metrics", ["k_ms"], ds.field("batch") == last).column("k_ms").to_pylist()
    logs = tuple(Log.read(reader, tables, progress.until) for reader in pipeline.readers)
    if any(log.segments.empty for log in logs):
        raise NotReady(
            [Problem(str(layout.home), "no tuple has been accepted yet", "to calibrate when there are some")]
        )
    return _CalibrationRun(query, pipeline, logs, progress.until, max(k_ms, default=None))
