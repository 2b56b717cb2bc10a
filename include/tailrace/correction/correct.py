"""The correction of late tuples: closed windows get later versions of their answers."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime

import pyarrow as pa
import pyarrow.compute as pc

from tailrace.correction.correction_range import CorrectionRange
from tailrace.correction.given_answers import affected_by_arrival, read_given
from tailrace.correction.history_scan import HistoryScan
from tailrace.correction.quality import put_quality
from tailrace.correction.scan_job import OpenScan
from tailrace.correction.versions import revise
from tailrace.engine.pipeline import Pipeline
from tailrace.engine.progress import Progress
from tailrace.ground.duration import format_duration, format_time
from tailrace.ground.errors import refuse
from tailrace.ground.times import TIME, with_times
from tailrace.query.query import Query, require_late_tuples
from tailrace.storage.checkpoint import readable, require_corrections
from tailrace.storage.layout import Layout
from tailrace.storage.log import Log
from tailrace.storage.progress import frontier_at, read_progress
from tailrace.storage.results import AnswerTables
from tailrace.storage.table_schemas import CORRECTION_TABLES, schemas
from tailrace.storage.tables import VACUUM, Tables, within
from tailrace.storage.warehouses import Warehouse

_VACUUM_S = 60.0  # a vacuum of the stream's takes seconds


@dataclass(frozen=True)
class CorrectionReport:
    """Result of a correction: its cut-off, and the numbers of late tuples, corrected answers and retracted ones.

    `arrived_from` and `arrived_to` are as in `CorrectionRange.covered`: late tuples of this interval are corrected in
    whole. `repeats` is the number of repeats of ids among the tuples of the answers that the stream gave in the
    interval; None for a range of event time, where they are not counted. `overflowed` is the number of values of the
    corrected answers that are null as their type does not hold them. `where_failed` is the number of pairs for which
    the condition of a join failed, `where_failure` the reason of one.
    """

    interval: str
    as_of: int
    late: int
    answers: int
    retracted: int
    arrived_from: int | None = None
    arrived_to: int | None = None
    repeats: int | None = None
    overflowed: int = 0
    where_failed: int = 0
    where_failure: str | None = None


def correct(
    query: Query, warehouse: Warehouse, correction_range: CorrectionRange, distributed: OpenScan
) -> CorrectionReport:
    """Append the next versions of closed windows (idempotent: run again, it replaces what it gave).

    A range of event time covers every closed window that overlaps it, as of all that is committed. An interval of
    arrival covers the answers that the late tuples in it missed, and those that the stream gave in it with a repeat of
    an id; as of its end.

    Raises
    ------
    Refused
        When the query never ran here, another correction is running, an interval does not fit the ticks, or the
        stream has not committed up to its end.
    """
    require_late_tuples(query)
    layout = Layout.of(warehouse, query.name)
    origin = readable(layout, query)
    if origin is None:
        raise refuse(str(layout.home), "the query has never run in this warehouse", "tailrace run, first")
    if correction_range != CorrectionRange():  # one of everything gives again what is lost of earlier ones
        require_corrections(layout)
    started, query = datetime.now(UTC), query.fixed_by(origin.structure)
    pipeline, tables = Pipeline.of(query, origin.types, layout.histories(query.streams)), Tables(layout)
    wanted, model = schemas(pipeline.kind), pipeline.kind.answers
    answers = AnswerTables(tables, model)
    with layout.lock("correction") as require_held, layout.lock(VACUUM, _VACUUM_S):
        # What is committed is read in the first lock: no older cut-off comes after.
        committed = _committed(layout)
        late = _late(tables, committed.until, correction_range)
        as_of = _cut_off(correction_range, query, committed)
        tables.create(wanted, CORRECTION_TABLES)
        corrections = tables.open("corrections")  # as it was in the lock: its replacement fails if it was lost since
        history_scan = HistoryScan(
            pipeline,
            lambda: [Log.read(reader, tables, as_of) for reader in pipeline.readers],
            distributed,
            query.parallelism,
        )
        affected, repeats = model.closed(correction_range.bounds, committed.frontier), None
        if correction_range.arrival:
            affected, repeats = affected_by_arrival(
                history_scan,
                late,
                lambda: read_given(tables, model, correction_range.bounds[0], min(correction_range.bounds[1], as_of)),
            )
        rows = revise(history_scan, answers, affected, as_of, str(correction_range))
        emitted_at = pa.repeat(pa.scalar(started, TIME), rows.num_rows)
        table = with_times(rows.append_column("emitted_at", emitted_at), wanted["corrections"])
        require_held()
        tables.replace("corrections", table, "interval", str(correction_range), corrections)
        frontier = committed.frontier if as_of == committed.until else frontier_at(layout, as_of)
        put_quality(query, pipeline.kind, answers, model.horizon(rows), frontier)
        gone = model.identity.first_rows(rows)["retracted"].to_numpy()
        counts = (pc.sum(late["tuples"], min_count=0).as_py(), int((~gone).sum()), int(gone.sum()))
        report = CorrectionReport(str(correction_range), as_of, *counts, *correction_range.covered(as_of), repeats)
        failed = history_scan.failed_pairs
        report = replace(report, where_failed=failed.number, where_failure=failed.reason)
        report = replace(report, overflowed=history_scan.overflowed)
        ledger = pa.Table.from_pylist([asdict(report) | {"started_at": started}])
        tables.add("correction_runs", with_times(ledger, wanted["correction_runs"]))
        tables.compact(CORRECTION_TABLES)
        return report


def _committed(layout: Layout) -> Progress:
    progress = read_progress(layout)
    if progress is None:
        raise refuse(str(layout.home), "the stream has committed nothing yet", "tailrace run, first")
    return progress


def _late(tables: Tables, until: int, correction_range: CorrectionRange) -> pa.Table:
    """The tuples registered late up to a point of arrival time; those of an interval of arrival, if it is one."""
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
