"""Proposes a query for a sample, checks the sample's records with it, and lists doubts, the worst first."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tailrace.advice.column_profile import ColumnProfile, profiles_of
from tailrace.advice.delay_profile import DelayProfile
from tailrace.advice.query_text import ASSUMED, EARLIEST_MS, KINDS, STREAM, QueryText, free_name
from tailrace.advice.quoting import quoted, shown
from tailrace.advice.record_id import are_resent, record_id
from tailrace.advice.roles import PARTS, Roles, find_roles
from tailrace.advice.table_sample import TableSample
from tailrace.advice.time_forms import DateOrder
from tailrace.expressions.projection import Projection
from tailrace.expressions.types import column_type
from tailrace.ground.errors import Problem, Refused, refuse
from tailrace.ground.words import counted
from tailrace.query.loading import parse
from tailrace.query.query import Query
from tailrace.sources.column_rules import is_text
from tailrace.sources.record_times import read_times
from tailrace.sources.verdict import RecordVerdict
from tailrace.stream.sample_report import SampleReport, SourceSample
from tailrace.stream.source_sample import contents_of, report_of, sample_sources

_USUAL = 0.9
_MOST_OTHERS = 3


@dataclass(frozen=True)
class Choices:
    """The user's choices for a sample.

    Attributes
    ----------
    columns : dict
        The columns that are parts of a tuple, by part.
    timezone : str or None
        The zone of times without one.
    date_order : "day", "month" or None
        The part that comes first in dates such as 03/04/2026.
    """

    columns: Mapping[str, str]
    kind: str = "aggregate"
    timezone: str | None = None
    date_order: DateOrder | None = None


class AmbiguousDates(Refused):
    """Raised if nothing shows whether days or months come first in dates.

    State it: `--date-order day` or `--date-order month`.
    """


@dataclass(frozen=True)
class QueryProposal:
    """A query file for a sample, with findings and doubts."""

    draft: QueryText
    text: str
    query: Query
    report: SampleReport
    profile: DelayProfile

    def doubts(self) -> Iterator[str]:
        """Yield the doubts, the worst first."""
        draft, report = self.draft, self.report
        rejected = report.read - report.accepted
        if rejected > report.accepted:
            yield self._rejected(rejected)
        yield from report.doubts()
        if draft.assumes_zone:
            yield f"{draft.without_zone}, and the file takes them for UTC, marked {ASSUMED}; or --timezone ZONE"
        if headers := _headers_among(draft.sample.table):
            yield f"the header is repeated in {counted(headers, 'record')}, to go to quarantine"
        if 0 < rejected <= report.accepted:
            yield self._rejected(rejected)
        yield from report.outlying.lines() if report.outlying is not None else ()
        if draft.record_id is not None:
            yield f"{draft.record_id.reason}; or --id COLUMN"
            for each in draft.record_id.others:
                different = f"{each.distinct:,} different of {each.rows:,} records"
                yield f"{shown(each.name, 40)}: {different}; repeats? --id {shlex.quote(each.name)}"
        if draft.roles.column("arrival_time") is None and "arrival_time" not in draft.sample.own:
            yield "no column says when a record arrived: it arrives when it is read; or --arrival-time COLUMN"

    def findings(self) -> Iterator[str]:
        """Yield the findings: the columns that are parts of a tuple, with reasons, and the delay profile."""
        for part, meaning in PARTS.items():
            role = self.draft.roles.parts.get(part)
            column = "none" if role is None else f"{shown(role.column.name, 40)}: {role.reason}"
            others = [] if role is None else [shown(other.name, 40) for other in role.others[:_MOST_OTHERS]]
            option = f"; or --{part} {' or '.join(others)}" if others else ""
            yield f"{part} ({meaning}): {column}{option}"
        if self.draft.sample.others:
            names = ", ".join(shown(name, 40) or "(no name)" for name in self.draft.sample.others)
            yield f"left out, as they are lists or objects, or their names stand twice or are empty: {names}"
        yield from self.profile.lines()

    def _rejected(self, rejected: int) -> str:
        return f"{rejected:,} of {self.report.read:,} records go to quarantine; the first: {self.report.first_line}"


def propose(sample: TableSample, file: Path, choices: Choices) -> QueryProposal:
    """Return a query that runs on a sample; relative paths in it start at the directory of `file`.

    Raises
    ------
    AmbiguousDates
    Refused
        When no column holds times, a column named by the user does not fit, or no record of the sample fits.
    """
    columns = profiles_of(sample.table, choices.date_order)
    table = sample.table
    roles = find_roles(
        columns,
        choices.columns,
        lambda later, earlier: _share_after(table, columns[later], columns[earlier]),
        partial(are_resent, table),
    )
    _require(sample, columns, roles, choices.kind)
    derived = None
    if roles.column("id") is None and "id" not in sample.own:
        derived = record_id(free_name("record_id", columns), table, roles, columns)
    draft = QueryText(sample, roles, choices.kind, file, choices.timezone, derived, columns)
    query = parse(file, draft.text())
    samples = sample_sources(query)
    profile = _profile(query, samples)
    if profile is None:
        (report,) = report_of(query, samples)
        raise refuse(sample.place, f"none of its records fits: {report.first_line}", "records with times and ids")
    text = draft.text(profile)
    query = parse(file, text)
    (report,) = report_of(query, sample_sources(query))
    return QueryProposal(draft, text, query, report, profile)


def _headers_among(table: pa.Table) -> int:
    """Return the number of records whose values are the columns' names, as in concatenated files."""
    is_header = np.ones(table.num_rows, bool)
    for name, column in zip(table.column_names, table.columns, strict=True):
        if not is_text(column.type):
            return 0
        is_header &= np.asarray(pc.equal(column.cast(pa.string()), name).combine_chunks().fill_null(False))
    return int(is_header.sum())


def _require(sample: TableSample, columns: Mapping[str, ColumnProfile], roles: Roles, kind: str) -> None:
    """Refuse a sample without event times, with ambiguous dates, or without a column that its kind needs."""
    if kind not in KINDS:
        remedy = f"tailrace new {kind}, which writes a template; or --kind {' or '.join(KINDS)}"
        raise refuse(f"--kind {kind}", "it takes two streams, or a stream and a table: more than a sample", remedy)
    if roles.column("event_time") is None:
        fault = "no column holds the times at which things happened"
        seen = "; ".join(column.line() for column in columns.values()) or "no column"
        remedy = f"ISO 8601 texts, timestamps or counts since 1970; or --event-time COLUMN of: {seen}"
        raise refuse(sample.place, fault, remedy)
    for part in ("event_time", "arrival_time"):
        column = roles.column(part)
        if column is not None and column.time is not None and column.time.is_ambiguous:
            fault = f"nothing shows whether days or months stand first, as in {column.example}"
            where = f"{sample.place}: column {shown(column.name)}"
            raise AmbiguousDates([Problem(where, fault, "--date-order day, or --date-order month")])
    if kind == "topk" and roles.column("value") is None:
        raise refuse("--kind topk", "no column of numbers is there to rank by", "--value COLUMN, or --kind aggregate")


def _profile(query: Query, samples: Mapping[str, SourceSample]) -> DelayProfile | None:
    """Measure the delays of the first records that fit; None if none fits.

    Times before a query's default bounds are outliers, unless many records have them.
    """
    for _, _, content in contents_of(query, samples):
        if content.tuples.num_rows:
            event, arrival = (np.asarray(content.tuples.column(name)) for name in ("event_time", "arrival_time"))
            is_usual = event >= EARLIEST_MS
            if np.mean(is_usual) >= _USUAL:
                event, arrival = event[is_usual], arrival[is_usual]
            return DelayProfile.measure(event, None if query.streams[STREAM].is_stamped else arrival)
    return None


_DERIVED = "time of the column"


def _share_after(table: pa.Table, later: ColumnProfile, earlier: ColumnProfile) -> float:
    """Return the share of records, among those with both times, in which `later` is not before `earlier`."""
    later_ms, is_later_known = _read(table, later)
    earlier_ms, is_earlier_known = _read(table, earlier)
    known = is_later_known & is_earlier_known
    return float(np.mean(later_ms[known] >= earlier_ms[known])) if known.any() else 0.0


def _read(
    table: pa.Table, column: ColumnProfile
) -> tuple[np.ndarray[tuple[int], np.dtype[np.int64]], np.ndarray[tuple[int], np.dtype[np.bool_]]]:
    """Return the times of a column, shape (n,), and which of them could be read."""
    form, raw, name = column.time, table.select([column.name]), column.name
    assert form is not None
    expression = form.expression(name) or (f"cast({quoted(name)} as bigint)" if form.is_count else None)
    verdict = RecordVerdict(raw.num_rows)
    if expression is not None:
        dtype = column_type(raw.schema.field(name).type)
        projection = Projection.parse({_DERIVED: expression}, None, {} if dtype is None else {name: dtype})
        projected = projection.run(raw)
        for failure in projected.failures:
            verdict.reject(failure.mask, failure.reason)
        raw, name = projected.table, _DERIVED
    times = read_times(verdict, raw, name, None, {}).ms
    return times, verdict.code == 0
