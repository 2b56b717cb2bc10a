"""What the parts of a query's page say in numbers, held against the tables read plainly, in each state."""

from __future__ import annotations

import json
import math
from collections import Counter, defaultdict
from itertools import groupby

import pyarrow.parquet as pq
import pytest

from kit.console.states import STATES, StreamInState, plain, rows_by, run_in, source_rows
from tailrace.panels import activity, answer, answers, frontier, kind, late, ledger, promise, quarantine, settings
from tailrace.panels.answer import AnswerRequest
from tailrace.panels.answers import AnswerRow, AnswersRequest, AnswersShown
from tailrace.panels.arrival_range import ArrivalRequest, TimesRequest
from tailrace.panels.kinds.request import KindRequest
from tailrace.panels.promise import PromiseRequest
from tailrace.panels.quarantine import QuarantineRequest
from tailrace.panels.settings import SettingsRequest

_FAR = {"from": 0}
_CLASSES = "buffered + in_process + expired"


@pytest.fixture(scope="module", params=STATES, ids=lambda state: state.__name__)
def stream(request, tmp_path_factory) -> StreamInState:
    return run_in(request.param, tmp_path_factory)


def has(stream: StreamInState, table: str) -> bool:
    return stream.view.tables.has(table)


def test_the_frontier_has_the_sums_and_the_worst_of_all_batches(stream):
    series = frontier.read(stream.view, ArrivalRequest.model_validate(_FAR)).series
    for name in ("rows", "late"):
        total = plain(stream, f"SELECT coalesce(sum({name}), 0)::BIGINT FROM metrics WHERE committed > 0")
        assert sum(getattr(series, name)) == total, name
    if not series.at:
        assert plain(stream, "SELECT count(*) FROM metrics WHERE committed > 0") == 0
        return
    for name, values in (("committed", series.at), ("frontier", series.frontier), ("t_max", series.t_max)):
        assert values[-1] == plain(stream, f"SELECT max({name}) FROM metrics"), name
    ends = plain(
        stream, "SELECT [min(k_ms), max(k_ms), min(coverage), max(latency_ms)] FROM metrics WHERE committed > 0"
    )
    shown = [min(series.least_k_ms), max(series.k_ms)]
    shown += [fold(value for value in values if value is not None) for fold, values in _worst(series)]
    assert shown == pytest.approx(ends)


def _worst(series: frontier.FrontierSeries) -> tuple[tuple[type, list[float | None]], ...]:
    return (min, series.coverage), (max, series.latency_ms)


def test_the_wall_clock_is_that_of_the_newest_answers(stream):
    wall = frontier.read(stream.view, ArrivalRequest.model_validate(_FAR)).wall
    newest = rows_by(stream, "SELECT as_of, max(emitted_at) FROM results GROUP BY as_of ORDER BY as_of")
    assert dict(zip(wall.at, wall.emitted_at, strict=True)).items() <= dict(newest).items() or len(newest) > 600
    if newest:
        assert (wall.at[-1], max(wall.emitted_at)) == (newest[-1][0], max(emitted for _, emitted in newest))


def read_tuples(stream: StreamInState) -> list[tuple[int, int]]:
    """Return event and arrival time of the tuples that the segments name, in their order."""
    segments = rows_by(stream, "SELECT path, first_row, rows FROM segments WHERE accepted > 0 ORDER BY ordinal")
    found = []
    for path, first, count in segments:
        rows = pq.read_table(path, columns=["event_time", "arrival_time"]).slice(first, count)
        found += zip(*(rows[name].cast("int64").to_pylist() for name in rows.column_names), strict=True)
    return found


def test_the_delays_are_those_of_the_tuples_of_the_source(stream):
    shown = frontier.read(stream.view, ArrivalRequest()).delays
    tick, until, t_max, delays = stream.query.tick_ms, plain(stream, "SELECT max(committed) FROM metrics"), 0, []
    for number, group in groupby(sorted(read_tuples(stream), key=lambda each: each[1]), lambda each: each[1] // tick):
        events = [event for event, _ in group]
        t_max = max(t_max, *events)
        if (number + 1) * tick <= until:
            delays += [max(t_max - event, 0) for event in events]
    if not delays:
        assert shown is None
        return
    delays.sort()
    assert shown.tuples == len(delays)
    for each in shown.quantiles:
        assert each.delay_ms == delays[max(math.ceil(each.q * len(delays)) - 1, 0)], each.q


def test_late_counts_the_rows_that_wait_and_those_that_were_read(stream):
    shown = late.read(stream.view, ArrivalRequest.model_validate(_FAR))
    if shown.to is None:
        return
    waiting = f"SELECT (SELECT sum(accepted) FROM segments) - sum({_CLASSES}) FROM metrics WHERE task = 0"
    assert shown.waiting_rows == shown.series.waiting[-1] == plain(stream, waiting)
    of_files = dict(rows_by(stream, "SELECT path, sum(rows)::BIGINT FROM segments WHERE accepted > 0 GROUP BY path"))
    assert {file.path: file.rows for file in shown.files} == of_files
    assert sum(one.rows for one in shown.partitions) == plain(stream, "SELECT sum(rows)::BIGINT FROM segments")
    assert all(file.rows <= source_rows(stream)[file.path] for file in shown.files)
    runs = "(SELECT max(as_of) FROM correction_runs)" if has(stream, "correction_runs") else "0"
    uncorrected = f"SELECT coalesce(sum(tuples), 0)::BIGINT FROM late WHERE arrived > {runs}"
    assert shown.uncorrected_rows == plain(stream, uncorrected)


def test_the_ledger_lists_each_correction_and_each_calibration(stream):
    shown = ledger.read(stream.view, TimesRequest())
    runs = [(each.kind, each.started_at, each.as_of, each.late, each.answers, each.k_ms) for each in shown.runs]
    expected, fields = [], "started_at, as_of, late, answers, NULL"
    if has(stream, "correction_runs"):
        expected += rows_by(stream, f"SELECT 'correction', {fields} FROM correction_runs")
    if has(stream, "proposals"):
        expected += rows_by(stream, "SELECT 'calibration', made_at, until, NULL, NULL, k_ms FROM proposals")
    assert sorted(runs, key=str) == sorted(expected, key=str)
    assert shown.runs_total == len(expected)
    corrections = [each for each in expected if each[0] == "correction"]
    totals = shown.totals
    assert (totals.corrections, totals.late) == (len(corrections), sum(each[3] for each in corrections))
    assert totals.answers == sum(each[4] for each in corrections)
    assert shown.committed == plain(stream, "SELECT max(committed) FROM metrics WHERE committed > 0")
    gaps = [(gap.from_, gap.to) for gap in shown.gaps]
    assert gaps == ([] if corrections or shown.committed is None else [(None, shown.committed)])
    assert len(gaps) == shown.gaps_total


def test_the_measured_errors_are_those_of_the_table(stream):
    shown = promise.read(stream.view, PromiseRequest.model_validate(_FAR))
    assert bool(shown.answers) == has(stream, "quality")
    for each in shown.answers:
        columns = {
            "share": "off / nullif(answers + missing, 0)",
            "mean_error": "mean_error",
            "worst_error": "worst_error",
        }
        for name, column in columns.items():
            values = [value for value in getattr(each.series, name) if value is not None]
            known = f"SELECT max({column}) FROM quality WHERE isfinite({column}::DOUBLE)"
            assert max(values) == pytest.approx(plain(stream, known)), name
        for name in ("answers", "corrected", "missing"):
            assert sum(getattr(each.series, name)) == plain(stream, f"SELECT sum({name})::BIGINT FROM quality"), name
    coverage = [value for value in shown.coverage.coverage if value is not None]
    if coverage:
        assert min(coverage) == plain(stream, "SELECT min(coverage) FROM metrics WHERE committed > 0")
    newest = "SELECT arg_max(threshold, batch) FROM metrics WHERE threshold IS NOT NULL"
    assert shown.coverage.threshold_now == pytest.approx(plain(stream, newest))


def all_answers(stream: StreamInState) -> tuple[AnswersShown, list[AnswerRow]]:
    """Return the first page of the list of answers, and the rows of all its pages."""
    first = page = answers.read(stream.view, AnswersRequest(limit=1_000))
    rows = list(page.rows)
    while page.next is not None:
        page = answers.read(stream.view, AnswersRequest(limit=1_000, before=page.next))
        rows += page.rows
    return first, rows


def given(stream: StreamInState) -> dict[tuple[str, int], list[dict]]:
    """Return the versions of each answer in the order in which they were given; none of these is retracted."""
    found = defaultdict(list)
    for name in ("results", "corrections"):
        for row in stream.rows(name) if has(stream, name) else ():
            found[row["key"], row["window_end"]].append(row | {"is_streamed": name == "results"})
    return {which: sorted(each, key=lambda row: row["emitted_at"]) for which, each in found.items()}


def missed(stream: StreamInState) -> Counter[tuple[str, int]]:
    """Return the number of uncorrected late tuples that each answer lacks."""
    runs = "(SELECT max(as_of) FROM correction_runs)" if has(stream, "correction_runs") else "0"
    size = plain(stream, "SELECT any_value(window_end - window_start) FROM results")
    lacking = Counter[tuple[str, int]]()
    if size is None:
        return lacking
    ends = {end for (end,) in rows_by(stream, "SELECT DISTINCT window_end FROM results")}
    uncorrected = f"SELECT key, pane_start, frontier, tuples FROM late WHERE arrived > {runs}"
    for key, start, closed, tuples in rows_by(stream, uncorrected):
        for end in range(start + 1, start + size + 1):
            if end in ends and end <= closed:
                lacking[key, end] += tuples
    return lacking


def test_each_answer_is_listed_once_with_its_first_and_its_newest_values(stream):
    first, listed = all_answers(stream)
    names, held, lacking = [column.name for column in first.columns], given(stream), missed(stream)
    shown = {}
    for row in listed:
        sides = [side and dict(zip(names, side, strict=True)) for side in (row.streamed, row.latest)]
        some = sides[0] or sides[1]
        shown[some["key"], some["window_end"]] = (row, *sides)
    assert shown.keys() == held.keys()
    assert len(listed) == len(held)
    for which, versions in held.items():
        row, streamed, latest = shown[which]
        assert (streamed and streamed["value"]) == (versions[0]["value"] if versions[0]["is_streamed"] else None)
        assert (latest["value"], row.tuples, row.as_of) == tuple(
            versions[-1][name] for name in ("value", "tuples", "as_of")
        )
        assert row.is_changed == (streamed is None or not math.isclose(streamed["value"], latest["value"]))
        assert row.coverage == row.tuples / (row.tuples + lacking[which])
    assert first.keys == sorted({key for key, _ in held})
    if first.right.share and len(held) <= 10_000:
        whole = sum(not lacking[which] for which in held)
        assert first.right.share[-1] == pytest.approx(whole / len(held))


def test_an_answer_has_its_versions_and_the_late_tuples_that_it_missed(stream):
    (_, listed), held = all_answers(stream), given(stream)
    for row in listed[:: max(len(listed) // 2, 1)][:2]:
        shown = answer.read(stream.view, AnswerRequest(id=row.id))
        identity = {part.name: part.value for part in shown.identity}
        versions = held[identity["key"], identity["window_end"]]
        assert sorted((each.as_of, each.tuples, each.source == "stream") for each in shown.versions) == sorted(
            (each["as_of"], each["tuples"], each["is_streamed"]) for each in versions
        )
        panes = f"pane_start >= {identity['window_start']} AND pane_start < {identity['window_end']}"
        closed = f"frontier >= {identity['window_end']} AND key = '{identity['key']}'"
        total = f"SELECT coalesce(sum(tuples), 0)::BIGINT FROM late WHERE {panes} AND {closed}"
        assert shown.late_total == len(shown.late) == plain(stream, total)


def test_quarantine_lists_the_newest_records_and_counts_those_without_a_time(stream):
    shown = quarantine.read(stream.view, QuarantineRequest())
    assert len(shown.records) == min(plain(stream, "SELECT count(*) FROM quarantine"), 20)
    assert shown.without_arrival == plain(stream, "SELECT count(*) FROM quarantine WHERE arrival_time IS NULL")
    assert sum(shown.series.records) == shown.total - shown.without_arrival
    newest = "SELECT max(arrival_time) FROM quarantine"
    recent = f"SELECT count(*) FROM quarantine WHERE arrival_time >= ({newest}) - 3600000"
    assert shown.last_hour == plain(stream, recent)
    assert max((each.last for each in shown.reasons), default=None) == plain(stream, newest)


def test_the_evidence_of_a_calibration_is_that_of_the_table(stream):
    shown = kind.read(stream.view, KindRequest()).calibration
    if not has(stream, "proposals"):
        assert shown is None
        return
    fields = "k_ms", "accuracy", "windows", "until", "made_at", "evidence"
    ((durations, *values),) = rows_by(stream, f"SELECT durations, {', '.join(fields)} FROM proposals")
    assert [getattr(shown, name) for name in fields] == values
    assert [[each.ms, each.accuracy] for each in shown.durations] == sorted(json.loads(durations))


def test_the_settings_have_each_fact_and_the_activity_each_observation(stream):
    shown = settings.read(stream.view, SettingsRequest())
    facts = plain(stream, "SELECT count(*) FROM facts") if has(stream, "facts") else 0
    assert shown.facts_total == len(shown.facts) == facts
    acted = activity.read(stream.view, TimesRequest()).series
    if has(stream, "activity"):
        seen = rows_by(stream, "SELECT made_at, rows_left, made_at - committed FROM activity ORDER BY made_at")
        assert list(zip(acted.at, acted.rows_left, acted.behind_ms, strict=True)) == seen
    else:
        assert acted.at == []
