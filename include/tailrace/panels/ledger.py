"""The panel `ledger`: corrections and calibrations over arrival time, and the gaps without a correction."""

from __future__ import annotations

from typing import Literal

import pyarrow as pa
import pyarrow.compute as pc
from pydantic import ConfigDict, Field

from tailrace.correction.intervals import Interval, corrected_intervals, uncovered
from tailrace.correction.uncorrected import count_late
from tailrace.ground.time_limits import AFTER_ALL, BEFORE_ALL
from tailrace.panels.arrival_range import NOTHING_YET, TimesRequest
from tailrace.panels.cells import plain
from tailrace.panels.panel import Panel, PanelAnswer, Shown
from tailrace.panels.pieces import Pieces
from tailrace.panels.query_view import QueryView
from tailrace.storage.progress import committed_until
from tailrace.storage.tables import Tables
from tailrace.tables.calibration import PROPOSALS
from tailrace.tables.correction import CORRECTION_RUNS

MOST = 500
"""The largest number of shown runs and gaps, the newest ones."""

_CALIBRATIONS = ("made_at", "until", "evidence", "k_ms", "accuracy", "windows")
_NO_CORRECTIONS, _NO_CALIBRATIONS = CORRECTION_RUNS.empty(), PROPOSALS.empty(_CALIBRATIONS)


class LedgerRun(Shown):
    """A correction or a calibration that has ended; fields of the other one are null.

    Attributes
    ----------
    interval : str or None
        The range of a correction, in words: of arrival, or of event time.
    arrived_from, arrived_to : int or None
        The interval [from, to) of arrival whose late tuples are all corrected; a null start is the stream's beginning;
        a null end means that there is no such interval, such as for a range of event time.
    as_of : int
        The arrival time up to which history was read.
    started_at : int
        Wall-clock time at which a correction began, or a calibration proposed.
    late, answers, changed, retracted, repeats, overflowed, where_failed : int or None
        The counts of a correction, see `CorrectionReport`.
    where_failure : str or None
        The reason of a pair for which the condition of a join failed.
    lookups : str or None
        The versions of tables in which a correction repeated lookups, by lookup, as JSON.
    evidence, k_ms, accuracy, windows
        For a calibration: its result in words, the proposed K (ms), its accuracy, and the number of windows measured.
    """

    kind: Literal["correction", "calibration"]
    as_of: int | None
    started_at: int | None
    interval: str | None = None
    arrived_from: int | None = None
    arrived_to: int | None = None
    late: int | None = None
    answers: int | None = None
    changed: int | None = None
    retracted: int | None = None
    repeats: int | None = None
    overflowed: int | None = None
    where_failed: int | None = None
    where_failure: str | None = None
    lookups: str | None = None
    evidence: str | None = None
    k_ms: int | None = None
    accuracy: float | None = None
    windows: int | None = None


class Gap(Shown):
    """An interval [from, to) of arrival that no correction covers, and the number of late tuples in it.

    A null start is the stream's beginning; null late tuples are unknown. The newest gap is open if no correction covers
    anything after it; the next one will cover it.
    """

    model_config = ConfigDict(serialize_by_alias=True)

    from_: int | None = Field(serialization_alias="from")
    to: int
    late: int | None
    is_open: bool


class Totals(Shown):
    """Totals of all corrections in the range: their number, late tuples, answers, changed ones and retractions.

    An answer that several corrections cover counts in each of them.
    """

    corrections: int
    late: int
    answers: int
    changed: int
    retracted: int


class LedgerAnswer(PanelAnswer):
    """The runs, newest first, and the gaps between them, in order of arrival; `committed` is the stream's progress.

    `runs_total`, `gaps_total`, `gaps_late` and `totals` count everything in the range, also if not shown.
    """

    runs: list[LedgerRun]
    gaps: list[Gap]
    committed: int | None
    runs_total: int
    gaps_total: int
    gaps_late: int | None
    totals: Totals


def read(view: QueryView, request: TimesRequest) -> LedgerAnswer:
    """Read the runs within the requested range of arrival, by default all, and the gaps in it."""
    low = BEFORE_ALL if request.from_ is None else request.from_
    high = AFTER_ALL if request.to is None else request.to
    pieces, tables = Pieces(), view.tables
    committed = pieces.read("committed gaps gaps_total gaps_late", lambda: committed_until(tables), None)
    corrections = pieces.read("runs runs_total totals", lambda: _corrections(tables), _as_corrections(_NO_CORRECTIONS))
    calibrations = pieces.read("runs runs_total", lambda: _calibrations(tables), _as_calibrations(_NO_CALIBRATIONS))
    listed = [_in_range(runs, low, high) for runs in (corrections, calibrations)]
    newest = [row for rows in listed for row in rows.sort_by([("started_at", "descending")])[:MOST].to_pylist()]
    newest.sort(key=lambda row: row["started_at"] or BEFORE_ALL, reverse=True)
    gaps, corrected_to = list[Interval](), BEFORE_ALL
    if committed is not None and view.has_late_tuples:
        known = pieces.read("gaps gaps_total gaps_late", lambda: corrected_intervals(tables), None)
        gaps = [] if known is None else uncovered([(BEFORE_ALL, low), *known], min(high, committed))
        corrected_to = max((end for _, end in known or []), default=BEFORE_ALL)
    runs = sum(rows.num_rows for rows in listed)
    late = pieces.read("gaps gaps_late", lambda: count_late(tables, gaps), None)
    of_gaps = [None] * MOST if late is None else late[-MOST:].tolist()
    return LedgerAnswer(
        runs=[LedgerRun(**plain(row)) for row in newest[:MOST]],
        gaps=[_gap(*gap, corrected_to) for gap in zip(gaps[-MOST:], of_gaps, strict=late is not None)],
        committed=committed,
        runs_total=runs,
        gaps_total=len(gaps),
        gaps_late=None if late is None else int(late.sum()),
        totals=_totals(listed[0]),
        note=None if pieces.damaged else _note(view, committed, runs, len(gaps)),
        damaged=pieces.damaged,
    )


def _totals(corrections: pa.Table) -> Totals:
    sums = {name: pc.sum(corrections[name]).as_py() or 0 for name in ("late", "answers", "changed", "retracted")}
    return Totals(corrections=corrections.num_rows, **sums)


def _corrections(tables: Tables) -> pa.Table:
    return _as_corrections(tables.read_or_empty(CORRECTION_RUNS))


def _as_corrections(rows: pa.Table) -> pa.Table:
    return rows.append_column("kind", pa.repeat("correction", rows.num_rows))


def _calibrations(tables: Tables) -> pa.Table:
    return _as_calibrations(tables.read_or_empty(PROPOSALS, _CALIBRATIONS))


def _as_calibrations(rows: pa.Table) -> pa.Table:
    rows = rows.rename_columns({"made_at": "started_at", "until": "as_of"})
    none = pa.nulls(rows.num_rows, pa.int64())
    ends = {"arrived_from": none, "arrived_to": none, "kind": pa.repeat("calibration", rows.num_rows)}
    for name, column in ends.items():
        rows = rows.append_column(name, column)
    return rows


def _in_range(runs: pa.Table, low: int, high: int) -> pa.Table:
    """Select the runs with a part in [low, high) of arrival, by their interval or else their cut-off."""
    start, end, as_of = pc.fill_null(runs["arrived_from"], BEFORE_ALL), runs["arrived_to"], runs["as_of"]
    meets = pc.and_(pc.less(start, high), pc.greater(end, low))
    is_near = pc.and_(pc.greater(as_of, low), pc.less_equal(as_of, high))
    return runs.filter(pc.if_else(pc.is_valid(end), meets, pc.fill_null(is_near, True)))


def _gap(ends: Interval, late: int | None, corrected_to: int) -> Gap:
    start, end = ends
    return Gap(from_=None if start == BEFORE_ALL else start, to=end, late=late, is_open=start >= corrected_to)


def _note(view: QueryView, committed: int | None, runs: int, gaps: int) -> str | None:
    if committed is None:
        return f"{NOTHING_YET}: there is nothing to correct"
    if not view.has_late_tuples:
        return "a join with a table answers each tuple as it comes: none is late, and nothing is to be corrected"
    if not runs:
        return "nothing was corrected or calibrated in this range yet"
    if runs > MOST or gaps > MOST:
        return f"the newest {min(runs, MOST):,} of {runs:,} runs, and {min(gaps, MOST):,} of {gaps:,} gaps"
    return None


PANEL = Panel("ledger", TimesRequest, read, ("correction_runs", "proposals", "late", "metrics"))
