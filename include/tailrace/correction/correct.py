"""The correction of late tuples: closed windows get later versions of their answers."""

from __future__ import annotations

import json
from contextlib import ExitStack
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime
from functools import partial

import pyarrow as pa
import pyarrow.compute as pc

from tailrace.answers.affected_sessions import AffectedSessions
from tailrace.answers.changed_answers import count_changed
from tailrace.answers.model import AffectedAnswers, Revision
from tailrace.answers.versions import of_others, without_retracted
from tailrace.correction.correction_range import CorrectionRange
from tailrace.correction.given_answers import affected_by_arrival, read_given
from tailrace.correction.history_scan import HistoryScan
from tailrace.correction.quality import put_quality
from tailrace.correction.repeated_ids import in_events
from tailrace.correction.report import CorrectionReport
from tailrace.correction.scan_job import OpenScan
from tailrace.correction.whole_sessions import with_whole_sessions
from tailrace.delivery.places import deliver_all
from tailrace.engine.compiled_query import CompiledQuery
from tailrace.engine.pipeline import Pipeline
from tailrace.engine.progress import Progress
from tailrace.ground.arrow.answer_columns import RETRACTED
from tailrace.ground.arrow.matching import select
from tailrace.ground.arrow.times import TIME, with_times
from tailrace.ground.duration import format_duration, format_time
from tailrace.ground.errors import refuse
from tailrace.ground.notes import noting
from tailrace.kind.capabilities import IncrementallyCorrectable
from tailrace.kind.protocol import WindowedKind, windowed
from tailrace.query.late_tuples import require_late_tuples
from tailrace.query.query import Query
from tailrace.storage.checkpoint import never_ran, readable, require_corrections
from tailrace.storage.layout import Layout
from tailrace.storage.log import Log
from tailrace.storage.lookup_versions import versions_known
from tailrace.storage.progress import frontier_at, read_progress
from tailrace.storage.results import AnswerTables, Overlapping
from tailrace.storage.table_schemas import schemas
from tailrace.storage.tables import VACUUM, Tables, within
from tailrace.storage.warehouses import Warehouse
from tailrace.tables.correction import CORRECTION_RUNS, CORRECTION_TABLES

_WRITTEN = "the corrected answers are written; the same command completes the correction"

_VACUUM_S = 60.0  # the wait for the stream's vacuum, which takes seconds


def correct(
    query: Query, warehouse: Warehouse, correction_range: CorrectionRange, distributed: OpenScan
) -> CorrectionReport:
    """Append the next versions of closed windows; idempotent, as a second run replaces the rows of the first.

    Each run adds a row to `correction_runs`.

    A range of event time covers every closed window that overlaps it, as of all committed tuples. An interval of
    arrival covers the answers that its late tuples missed, and the answers that the stream wrote in it with a repeat of
    an id, as of its end.

    Raises
    ------
    Refused
        When the query never ran here, another correction is running, an interval does not fit the ticks, or the
        stream has not committed up to its end.
    """
    require_late_tuples(query)
    layout = Layout.for_query(warehouse, query.name)
    tables = Tables(layout)
    origin = readable(tables, query)
    if origin is None:
        raise never_ran(layout)
    if correction_range != CorrectionRange():  # a correction of everything restores lost tables
        require_corrections(tables)
    started, query = datetime.now(UTC), query.fixed_by(origin.structure)
    pipeline = CompiledQuery.declare(query).bind(origin.types).pipeline(layout.histories(query.streams))
    wanted, model = schemas(pipeline.kind), pipeline.kind.answers
    answers = AnswerTables(tables, model)
    with layout.lock("correction") as require_held, layout.lock(VACUUM, _VACUUM_S), ExitStack() as behind:
        # Read within the first lock, so that no older cut-off can follow.
        committed = _committed(tables)
        late = _late(tables, committed.until, correction_range)
        as_of = _cut_off(correction_range, query, committed)
        tables.create({name: wanted[name] for name in CORRECTION_TABLES})
        corrections = tables.open("corrections")  # as opened in the lock; replacing rows fails if it was lost since
        history_scan = HistoryScan(
            pipeline,
            lambda: [Log.read(reader, tables, as_of) for reader in pipeline.readers],
            distributed,
            query.parallelism,
        )
        affected, repeats = _affected(history_scan, late, answers, correction_range, as_of, committed.frontier)
        affected = with_whole_sessions(history_scan, affected)
        interval = str(correction_range)
        revised = revise(history_scan, answers, affected, as_of, interval)
        recorded = tables.read("correction_runs", ["interval"])["interval"].to_pylist()
        rows, (changed, recounted) = revised.rows, revised.changed(interval, interval in recorded)
        emitted_at = pa.repeat(pa.scalar(started, TIME), rows.num_rows)
        table = with_times(rows.append_column("emitted_at", emitted_at), wanted["corrections"], "corrections")
        require_held()
        tables.replace("corrections", table, "interval", interval, corrections)
        behind.enter_context(noting(lambda _: _WRITTEN))
        frontier = committed.frontier if as_of == committed.until else frontier_at(tables, as_of)
        put_quality(query, pipeline.kind, answers, model.horizon(rows), frontier)
        lookups = _lookups(pipeline, tables, as_of)
        report = _report(history_scan, late, revised, correction_range, as_of, repeats, lookups)
        report = replace(report, changed=changed)
        ledger = asdict(report) | {"interval": interval, "started_at": started}
        del ledger["other_contents"], ledger["recounted"]
        tables.add("correction_runs", CORRECTION_RUNS.table([ledger]))
        tables.compact(CORRECTION_TABLES)
        contents = None
        if not correction_range.arrival:
            contents = in_events(query, pipeline, history_scan.logs, *correction_range.bounds)
        report = replace(report, other_contents=contents, recounted=recounted)
    deliver_all(layout, query, pipeline.kind)
    return report


def _affected(
    history_scan: HistoryScan,
    late: pa.Table,
    answers: AnswerTables,
    correction_range: CorrectionRange,
    as_of: int,
    frontier: int,
) -> tuple[AffectedAnswers, int | None]:
    """Return the answers that a correction computes, and for an interval of arrival the number of repeats in it."""
    model, (low, high) = history_scan.pipeline.kind.answers, correction_range.bounds
    if not correction_range.arrival:
        return model.closed((low, high), frontier), None
    given = partial(read_given, answers.tables, model, low, min(high, as_of))
    return affected_by_arrival(history_scan, late, given, lambda ranges: _arrived(answers.late(ranges), as_of))


def _arrived(late: pa.Table, until: int) -> pa.Table:
    return select(late, late["arrived"].to_numpy() <= until)


def _report(
    history_scan: HistoryScan,
    late: pa.Table,
    revised: Revised,
    correction_range: CorrectionRange,
    as_of: int,
    repeats: int | None,
    lookups: str | None,
) -> CorrectionReport:
    """Return the report of a correction: counts of its rows, and of failures."""
    answers = history_scan.pipeline.kind.answers.identity.first_rows(without_retracted(revised.rows)).num_rows
    counts = (pc.sum(late["tuples"], min_count=0).as_py(), answers, revised.taken_back)
    failed = history_scan.failed_pairs
    return CorrectionReport(
        correction_range,
        as_of,
        *counts,
        *correction_range.covered(as_of),
        repeats,
        overflowed=history_scan.overflowed,
        where_failed=failed.number,
        where_failure=failed.reason,
        lookups=lookups,
    )


def _committed(tables: Tables) -> Progress:
    progress = read_progress(tables)
    if progress is None:
        raise refuse(str(tables.layout.home), "the stream has committed nothing yet", "tailrace run, first")
    return progress


def _lookups(pipeline: Pipeline, tables: Tables, as_of: int) -> str | None:
    """Return as JSON the versions of the tables that the correction's lookups read; None without such a lookup."""
    readers = [reader for reader in pipeline.readers if reader.records is not None]
    subjects = {each.subject: f"{reader.name}.{each.name}" for reader in readers for each in reader.columns.lookups}
    if not subjects:
        return None
    known = versions_known(tables, subjects, as_of)
    return json.dumps({name: known[subject].number for subject, name in subjects.items()})


def _late(tables: Tables, until: int, correction_range: CorrectionRange) -> pa.Table:
    """Return the late tuples that arrived before `until`, of the range if it is one of arrival times."""
    low, high = (
        (correction_range.bounds[0], min(correction_range.bounds[1], until)) if correction_range.arrival else (0, until)
    )
    return tables.read("late", where=within("arrived", low, high))


def _cut_off(correction_range: CorrectionRange, query: Query, committed: Progress) -> int:
    """Return the cut-off of a correction in ms, or refuse its range."""
    if correction_range.bounds[0] >= correction_range.bounds[1]:
        raise refuse(str(correction_range), "its end is not after its start", "an end after the start")
    if not correction_range.arrival:
        return committed.until
    if correction_range.start is None or correction_range.end is None:
        raise refuse("interval of arrival", f"{correction_range} is open", "a start and an end")
    for point in (correction_range.start, correction_range.end):
        if query.tick_ms and point % query.tick_ms:
            before, tick = point // query.tick_ms * query.tick_ms, format_duration(query.tick_ms)
            remedy = f"{format_time(before)} or {format_time(before + query.tick_ms)}"
            raise refuse("interval of arrival", f"{format_time(point)} is no multiple of the tick, {tick}", remedy)
    if correction_range.end > committed.until and not committed.ended:
        fault = f"the stream has committed up to {format_time(committed.until)} only"
        raise refuse("interval of arrival", fault, "an end up to there; or to let the stream go on, and try again")
    return min(correction_range.end, committed.until)


@dataclass(frozen=True)
class Revised:
    """The rows of `corrections` for some answers, and all earlier versions of these answers."""

    rows: pa.Table
    versions: pa.Table
    kind: WindowedKind

    def changed(self, interval: str, is_recorded: bool) -> tuple[int, int]:
        """Count the answers that these versions add or change, and how many of them only differ in `tuples`.

        Retractions are not counted.

        An earlier run of the same interval may have changed some of them. If it died before the ledger recorded it,
        they count now.
        """
        versions = self.versions if is_recorded else of_others(self.versions, interval)
        model = self.kind.answers
        every, values = (
            count_changed(model.identity, model.row_identity, content, self.rows, versions)
            for content in (self.kind.answer, pa.schema([each for each in self.kind.answer if each.name != "tuples"]))
        )
        return every, every - values

    @property
    def taken_back(self) -> int:
        """The number of earlier answers that these versions retract."""
        identity = self.kind.answers.identity
        retracted = identity.first_rows(select(self.rows, self.rows[RETRACTED].to_numpy()))
        return int((identity.find(retracted, without_retracted(self.versions)) >= 0).sum())


def revise(
    history: HistoryScan, answers: AnswerTables, affected: AffectedAnswers, before: int, interval: str
) -> Revised:
    """Return the next versions of the affected answers, as of the cut-off of `history`."""
    kind, ranges = history.pipeline.kind, affected.ranges()
    low, high = ranges
    horizons = low - 1, high  # applies to every tuple in [low, high)
    is_of_sessions = isinstance(affected, AffectedSessions)
    versions = answers.versions(Overlapping(ranges) if is_of_sessions else horizons, withheld=True)
    late = answers.late(ranges)
    readers = history.pipeline.readers
    repeats_lookups = any(reader.records is not None for reader in readers)
    replaces = repeats_lookups or any(reader.takes_newest for reader in readers)  # a late version replaces others
    amend = kind.amend if isinstance(kind, IncrementallyCorrectable) and not replaces else None
    of_kind = history, kind.answer, versions, late, affected, before, interval, amend
    rows = kind.answers.revise(Revision(*of_kind, repeats_lookups))
    as_of = pa.repeat(pa.scalar(before, pa.int64()), rows.num_rows)
    rows = rows.append_column("as_of", as_of).append_column("interval", pa.repeat(interval, rows.num_rows))
    return Revised(rows, versions, windowed(kind))
