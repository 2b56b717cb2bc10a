"""The calibration of the cache duration: it proposes the slack K (allowed lateness) that sufficed in history.

It needs no Spark.
"""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, replace
from itertools import repeat
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from tailrace.answers.model import ShortestWait
from tailrace.calibration.acceptance import proposal_of, require_proposable
from tailrace.calibration.direct import DirectCalibration, Estimated
from tailrace.calibration.measure import Accuracies, EventTimeCourse
from tailrace.calibration.recent_losses import AggregateLosses, PairLosses
from tailrace.calibration.recent_pairs import RecentPairs
from tailrace.calibration.recent_windows import Measurement, NotReady, RecentTuples, RecentWindows
from tailrace.calibration.recent_winners import RecentWinners
from tailrace.calibration.report import Basis, CalibrationReport, Determination, MeasuredDuration
from tailrace.calibration.search import Bracket, SlackSearch
from tailrace.correction import deduplication
from tailrace.disorder.cache_duration import CacheDuration
from tailrace.engine.compiled_query import CompiledQuery
from tailrace.engine.pipeline import Pipeline
from tailrace.engine.stream_reader import StreamReader
from tailrace.ground.arrow.times import EVENT_US
from tailrace.ground.errors import Problem, refuse
from tailrace.ground.time_limits import AFTER_ALL
from tailrace.kind.capabilities import ComposedOfTuples
from tailrace.kind.protocol import WindowedKind, windowed
from tailrace.query.calibration_section import CostSection
from tailrace.query.late_tuples import require_late_tuples
from tailrace.query.query import Query
from tailrace.query.sessions import require_lengths
from tailrace.storage.checkpoint import readable
from tailrace.storage.layout import Layout
from tailrace.storage.log import ORDER, Log
from tailrace.storage.progress import read_progress
from tailrace.storage.proposals import Proposal, Proposals
from tailrace.storage.tables import Tables
from tailrace.storage.warehouses import Warehouse

MOST_ROWS = 5_000_000
"""The default limit of rows, which easily fit into this process's memory."""


@dataclass(frozen=True)
class LoggedHistory:
    """The history in a log with at least one segment.

    Attributes
    ----------
    most_rows : int
        The limit of rows; a calibration that needs more is refused.
    """

    reader: StreamReader
    log: Log
    most_rows: int = MOST_ROWS

    def span(self) -> tuple[int, int]:
        """Return the earliest and the newest event time, in ms."""
        segments = self.log.segments
        return pc.min(segments["min_event"]).as_py(), pc.max(segments["max_event"]).as_py()

    def is_readable(self, low: int) -> bool:
        """Whether the tuples from an event time on (ms) lie within at most `most_rows` rows."""
        return _rows(self._log_since(low)) <= self.most_rows

    def since(self, low: int) -> RecentTuples:
        """Read the tuples from an event time on, in ms, without repeats.

        Raises
        ------
        Refused
            When they lie within more than `most_rows` rows.
        """
        log = self._log_since(low)
        pieces, reader, rows = log.pieces(), log.reader(), _rows(log)
        if rows > self.most_rows:
            fault = f"what is to be measured lies within {rows:,} rows, more than the {self.most_rows:,} it reads"
            raise refuse("calibration", fault, "fewer windows, by a smaller `queries` beside disorder.policy")
        columns = list(dict.fromkeys(["event_time", EVENT_US, "key", *self.reader.value_types, *ORDER]))
        arrivals = pa.concat_batches([reader.read(piece, columns) for piece in pieces])
        tick, event, arrival = (np.asarray(arrivals.column(name)) for name in ("tick", "event_time", "arrival_time"))
        recent = event >= low
        counted = self.reader.columns.counted_events(event, arrival)
        course, tuples = EventTimeCourse.from_tuples(tick[recent], counted[recent]), arrivals.filter(pa.array(recent))
        in_course = tick >= course.tick[0] if recent.any() else recent
        counts = deduplication.counted(tuples, arrivals.filter(pa.array(~recent)).select(ORDER))
        delays = course.delays(tick[in_course], event[in_course])
        return RecentTuples(low, tuples.filter(pa.array(counts)), course, delays)

    def _log_since(self, low: int) -> Log:
        return self.log.of_events((np.array([low]), np.array([AFTER_ALL])))


def _rows(log: Log) -> int:
    return sum(piece.rows for piece in log.pieces())


_MAX_ROUNDS = 60  # the most steps of a survey; the search ends in fewer


def calibrate(query: Query, warehouse: Warehouse, dry_run: bool = False) -> CalibrationReport:
    """Measure accuracy over the newest windows of history, and propose the K that follows.

    With policy `cache_duration`, its method decides: K is estimated directly, or by one step of a search that continues
    from the last one. Any other policy accepts no proposal; a dry run estimates K for an accuracy of 0.95, or surveys
    the accuracy of each K from 0 to the smallest that keeps it.

    Parameters
    ----------
    dry_run : bool
        Write nothing.

    Raises
    ------
    Refused
        When the policy accepts no proposal, another calibration is running, or there is too little history yet
        (`NotReady`): the query never ran here, or fewer windows than required are complete.
    """
    require_late_tuples(query)
    require_lengths(query)
    layout, policy = Layout.for_query(warehouse, query.name), query.policy
    if not dry_run:
        require_proposable(policy)
    run = _calibration_run(query, layout)
    if not isinstance(policy, CacheDuration):
        return run.dry_run_of(CacheDuration(policy="cache_duration"))
    proposals = Proposals(layout)
    if dry_run:
        return run.calibrate(policy, proposals.newest(policy))
    with layout.lock("calibration") as require_held:
        report = run.calibrate(policy, proposals.newest(policy), proposed=True)
        require_held()
        proposals.add(proposal_of(report, policy))
        return report


@dataclass(frozen=True)
class _RecentAnswers:
    """Reads the newest answers of history, for each kind of answers (`answers.model.WaysToMeasure`)."""

    kind: WindowedKind
    histories: tuple[LoggedHistory, ...]
    policy: CacheDuration

    def by_windows(self) -> RecentWindows | RecentPairs:
        return RecentWindows(self.kind, self.histories[0], self.policy.queries, self.policy.accuracy, self.policy.of)

    def by_shortest_waits(self, shortest_wait: ShortestWait) -> RecentWindows | RecentPairs:
        return RecentPairs(self.kind, self.histories, self.policy.queries, self.policy.accuracy, shortest_wait)


@dataclass(frozen=True)
class _DirectCalibrations:
    """The direct calibration of each kind of answers (`answers.model.WaysToMeasure`)."""

    kind: WindowedKind
    histories: tuple[LoggedHistory, ...]
    policy: CacheDuration
    query: Query

    def by_windows(self) -> DirectCalibration[Any]:
        if isinstance(self.kind, ComposedOfTuples):
            return RecentWinners(*self._of_one, prices=self._prices)
        return AggregateLosses(*self._of_one, prices=self._prices)

    def by_shortest_waits(self, shortest_wait: ShortestWait) -> DirectCalibration[Any]:
        return PairLosses(self.kind, self.histories, self.policy, self.query.tick_ms, shortest_wait)

    @property
    def _of_one(self) -> tuple[WindowedKind, LoggedHistory, CacheDuration, int]:
        return self.kind, self.histories[0], self.policy, self.query.tick_ms

    @property
    def _prices(self) -> CostSection | None:
        return self.query.calibration.cost


@dataclass(frozen=True)
class _CalibrationRun:
    """The logs of a query's streams, the measured answers, and the K that was in force."""

    query: Query
    pipeline: Pipeline
    logs: tuple[Log, ...]
    basis: Basis
    k_ms: int | None

    def calibrate(self, policy: CacheDuration, last: Proposal | None, proposed: bool = False) -> CalibrationReport:
        """Propose K by the policy's method, after the last proposal, if there is one."""
        is_direct = self._is_direct(policy)
        report = self._estimate(policy, proposed) if is_direct else self._step(policy, last, proposed)
        return replace(report, basis=replace(self.basis, previous=None if last is None else last.made_at))

    def dry_run_of(self, policy: CacheDuration) -> CalibrationReport:
        """Find the K that the policy would reach if every proposal were accepted."""
        return self._estimate(policy, None) if self._is_direct(policy) else self._survey(policy)

    def _is_direct(self, policy: CacheDuration) -> bool:
        is_default = policy.method is None and self.query.answers_are_tuples
        return is_default or policy.method == "two_scales"

    def _estimate(self, policy: CacheDuration, proposed: bool | None) -> CalibrationReport:
        """Estimate K from the losses of the newest windows."""
        kind = windowed(self.pipeline.kind)
        ways = _DirectCalibrations(kind, self._histories(kind), policy, self.query)
        estimated = kind.answers.measure(ways).estimate(self.k_ms)
        return _report_of_estimate(estimated, policy.accuracy, self.k_ms, proposed, self.basis)

    def _step(self, policy: CacheDuration, last: Proposal | None, proposed: bool) -> CalibrationReport:
        """Run one step of the policy's search, from the last proposal or from the start."""
        search = self._search(policy)
        interval = search.start(policy.k_ms) if last is None else Bracket(last.lower_ms, last.upper_ms, last.k_ms)
        result = self._recent(policy).measure(search.durations(interval))
        next_interval = search.next(interval, result.measured.accuracy, result.measured.error, result.longest_ms)
        return self._report(policy, [result], interval, next_interval, proposed)

    def _survey(self, policy: CacheDuration) -> CalibrationReport:
        """Run the whole search over the same history, from 0 until the interval is stable or history is exhausted."""
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
        return SlackSearch.from_policy(policy, self.query.tick_ms, doubling=policy.method != "paper")

    def _recent(self, policy: CacheDuration) -> RecentWindows | RecentPairs:
        kind = windowed(self.pipeline.kind)
        return kind.answers.measure(_RecentAnswers(kind, self._histories(kind), policy))

    def _histories(self, kind: WindowedKind) -> tuple[LoggedHistory, ...]:
        most = MOST_ROWS // kind.row_weight
        sides = zip(self.pipeline.readers, self.logs, strict=True)
        return tuple(LoggedHistory(reader, log, most) for reader, log in sides)

    def _report(
        self,
        policy: CacheDuration,
        results: list[Measurement],
        interval: Bracket,
        next_interval: Bracket,
        proposed: bool | None,
    ) -> CalibrationReport:
        """Return the report of measurements; if a duration was measured several times, the last one counts."""
        last = results[-1]
        row_of = {row.duration_ms: row for result in results for row in _measured_durations(result.measured)}
        windows = (len(last.measured.ends), int(last.measured.ends[-1]))
        rows = tuple(row_of[duration] for duration in sorted(row_of))
        return CalibrationReport(
            rows, policy.accuracy, *windows, self.k_ms, interval, next_interval, last.longest_ms, proposed, self.basis
        )


def _measured_durations(accuracies: Accuracies) -> Iterable[MeasuredDuration]:
    least = accuracies.columns or (None,) * len(accuracies.durations)
    durations, means, errors = (each.tolist() for each in (accuracies.durations, accuracies.accuracy, accuracies.error))
    return map(MeasuredDuration, durations, means, errors, least)


def _calibration_run(query: Query, layout: Layout) -> _CalibrationRun:
    tables = Tables(layout)
    manifest, progress = readable(tables, query), read_progress(tables)
    if manifest is None or progress is None or not progress.until:
        fault = (
            "the query has never run in this warehouse" if manifest is None else "the stream has committed nothing yet"
        )
        raise NotReady([Problem(str(layout.home), fault, "tailrace run, first")])
    query = query.fixed_by(manifest.structure)
    pipeline = CompiledQuery.declare(query).bind(manifest.types).pipeline(layout.histories(query.streams))
    last = tables.greatest("metrics", "batch")
    k_ms = tables.read("metrics", ["k_ms"], ds.field("batch") == last).column("k_ms").to_pylist()
    logs = tuple(Log.read(reader, tables, progress.until) for reader in pipeline.readers)
    if not all(log.segments.num_rows for log in logs):
        raise NotReady(
            [Problem(str(layout.home), "no tuple has been accepted yet", "to calibrate when there are some")]
        )
    basis = Basis(query.name, manifest.id, query.policy.model_dump_json(), None, progress.until)
    return _CalibrationRun(query, pipeline, logs, basis, max(k_ms, default=None))


def _report_of_estimate(
    estimated: Estimated, promise: float, k_ms: int | None, proposed: bool | None, basis: Basis
) -> CalibrationReport:
    """Return the report of an estimate.

    Parameters
    ----------
    promise : float
        The accuracy to keep.
    k_ms : int or None
        K in force.
    proposed : bool or None
        True if the proposal is written, False in a dry run; None if the policy accepts none.
    """
    estimate = estimated.estimate
    columns = (each.tolist() for each in (estimate.durations, estimate.accuracy, estimate.error))
    costs = repeat(None) if estimate.cost is None else estimate.cost.tolist()
    interval = Bracket(estimate.lower_ms, estimate.upper_ms, estimate.k_ms)
    determination = Determination(
        estimate.lower_ms,
        estimate.upper_ms,
        estimate.is_narrow,
        estimate.windows,
        estimate.hazard_ratio,
        estimate.by_winners,
        estimate.since,
        estimate.promise_ms,
    )
    return CalibrationReport(
        tuple(map(MeasuredDuration, *columns, repeat(estimate.column), costs)),
        promise,
        estimate.levels,
        estimated.up_to,
        k_ms,
        interval,
        interval,
        estimated.longest_ms,
        proposed,
        basis,
        determination,
    )
