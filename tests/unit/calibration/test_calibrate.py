"""Calibration from end to end in process: a stream, its proposals, the facts they become, and the answers."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from kit.oracles.oracle import Settings, batch, stream
from kit.oracles.oracle_assertions import assert_streamed
from kit.runs.local_driver import Driver
from kit.runs.warehouse import even, make_query, make_stream, rows_of, write_files
from tailrace.calibration.calibrate import calibrate
from tailrace.calibration.recent_windows import Measurement, NotReady, RecentWindows
from tailrace.calibration.report import Basis, CalibrationReport, MeasuredDuration
from tailrace.calibration.search import Bracket, SlackSearch
from tailrace.disorder.cache_duration import CacheDuration
from tailrace.engine.next_facts import DECLARED
from tailrace.ground.errors import Busy, Problem, Refused
from tailrace.query.disorder_section import Disorder
from tailrace.query.query import Query
from tailrace.storage.layout import Layout
from tailrace.storage.tables import Tables

pytestmark = pytest.mark.slow

SETTINGS = Settings(700, 300, 100, "count")
TUPLES = make_stream(6000, seed=8)


def declare(tmp_path: Path, source: str = "parquet", **policy: object) -> Query:
    query = make_query(tmp_path / "in", SETTINGS, source=source)
    disorder = Disorder.model_validate({"policy": "cache_duration", "tick": "100 ms"} | policy)
    return query.model_copy(update={"disorder": disorder})


@pytest.fixture(scope="module")
def calibrated_stream(tmp_path_factory):
    """A stream in six parts with a calibration after each: the query, the warehouse and the reports."""
    directory = tmp_path_factory.mktemp("calibrated")
    query = declare(directory, initial="3 s")
    bounds, reports = even(6000, 6), []
    write_files(TUPLES, directory / "in", bounds[:2])
    runner = Driver(query, directory / "wh")
    for part in range(6):
        if part:
            write_files(TUPLES, directory / "in", bounds[part : part + 2], first=part)
        runner.run()
        reports.append(calibrate(query, directory / "wh"))
    runner.run(flush=True)
    return query, directory / "wh", reports


@pytest.mark.needs("long")
def test_each_calibration_starts_from_the_interval_of_the_previous_one(calibrated_stream):
    _, _, reports = calibrated_stream
    assert reports[0].interval == Bracket(0, 6000, 3000)
    assert [one.interval for one in reports[1:]] == [one.next_interval for one in reports[:-1]]
    assert all(len(one.measurements) == 10 and one.windows == 30 and one.proposed for one in reports)
    assert [one.k_ms for one in reports[1:]] == [one.next_interval.k_ms for one in reports[:-1]], (
        "the stream took each up"
    )
    assert len({one.next_interval.k_ms for one in reports}) > 1


def test_the_proposals_hold_the_evidence(calibrated_stream):
    query, warehouse, reports = calibrated_stream
    rows = Tables(Layout.for_query(warehouse, query.name)).read("proposals").sort_by("made_at").to_pylist()
    assert len(rows) == len(reports)
    for row, report in zip(rows, reports, strict=True):
        assert row["declared"] == query.policy.model_dump_json()
        assert CacheDuration.model_validate_json(row["settings"]) == query.policy.waiting(report.next_interval.k_ms)
        assert Bracket(row["lower_ms"], row["upper_ms"], row["k_ms"]) == report.next_interval
        assert json.loads(row["durations"]) == [[one.duration_ms, one.accuracy] for one in report.measurements]
        assert (row["windows"], row["accuracy"], row["evidence"]) == (30, report.accuracy, report.evidence)
    until = [row["until"] for row in rows]
    assert until == sorted(until)
    assert until[-1] == max(item.arrival_time for item in TUPLES) // 100 * 100


def test_a_proposal_becomes_a_fact_with_its_evidence_and_the_answers_are_those_of_the_facts(calibrated_stream):
    query, warehouse, reports = calibrated_stream
    facts = Tables(Layout.for_query(warehouse, query.name)).read("facts").sort_by("version").to_pylist()
    k = [CacheDuration.model_validate_json(fact["value"]).k_ms for fact in facts]
    assert k[0] == 3000
    assert set(k) <= {3000} | {one.next_interval.k_ms for one in reports}
    assert {fact["evidence"] for fact in facts} <= {DECLARED} | {one.evidence for one in reports}
    assert len(facts) > 1
    first, *changes = [(fact["from_tick"], ("k_slack", k_ms)) for fact, k_ms in zip(facts, k, strict=True)]
    settings = Settings(700, 300, 100, "count", first[1], tuple(changes))
    assert_streamed(rows_of(warehouse), stream(TUPLES, settings))


def test_the_last_k_keeps_the_accuracy(calibrated_stream):
    """Measured by the oracle over the same stream with that K throughout."""
    _, _, reports = calibrated_stream
    final_k_ms = reports[-1].next_interval.k_ms
    truth = batch(TUPLES, SETTINGS)
    t_max = max(item.event_time for item in TUPLES)

    def accuracy_with(k_ms: int) -> float:
        streamed = stream(TUPLES, Settings(700, 300, 100, "count", ("k_slack", k_ms))).answers
        windows = [window for window in truth if window[2] <= t_max - 6000]
        return float(np.mean([streamed[w].value / truth[w].value if w in streamed else 0.0 for w in windows]))

    assert accuracy_with(final_k_ms) > 0.93
    assert accuracy_with(max(final_k_ms // 3, 1)) < 0.95


def test_a_dry_run_reports_the_same_and_writes_nothing(calibrated_stream):
    query, warehouse, reports = calibrated_stream
    before = Tables(Layout.for_query(warehouse, query.name)).read("proposals")
    report = calibrate(query, warehouse, dry_run=True)
    assert report.interval == reports[-1].next_interval
    assert report.proposed is False
    assert Tables(Layout.for_query(warehouse, query.name)).read("proposals") == before


def test_the_search_receives_the_standard_errors_and_the_longest_delay(calibrated_stream, monkeypatch):
    query, warehouse, _ = calibrated_stream
    calls, search, measure = [], SlackSearch.next, RecentWindows.measure
    monkeypatch.setattr(SlackSearch, "next", lambda *arguments: calls.append(arguments) or search(*arguments))
    measurements = []
    monkeypatch.setattr(
        RecentWindows, "measure", lambda *arguments: measurements.append(measure(*arguments)) or measurements[-1]
    )
    calibrate(query, warehouse, dry_run=True)
    [(used_search, interval, accuracy, error, longest)], [measurement] = calls, measurements
    assert used_search == SlackSearch(10, 0.95, 100)
    assert used_search.durations(interval).tolist() == measurement.measured.durations.tolist()
    assert accuracy.tolist() == measurement.measured.accuracy.tolist()
    assert error.tolist() == measurement.measured.error.tolist()
    assert error.max() > 0
    assert longest == measurement.longest_ms > 1000


@pytest.fixture(scope="module")
def constant_stream(tmp_path_factory):
    """A stream with a constant K of 200 ms, whose policy takes no proposals."""
    directory = tmp_path_factory.mktemp("constant")
    write_files(TUPLES[:3000], directory / "in", even(3000, 3))
    query = make_query(directory / "in", Settings(700, 300, 100, "count", ("k_slack", 200)))
    Driver(query, directory / "wh").run()
    return query, directory / "wh"


def test_another_policy_takes_no_proposal(constant_stream):
    query, warehouse = constant_stream
    with pytest.raises(Refused, match=r"k_slack takes no proposal\n.*--dry-run.*cache_duration"):
        calibrate(query, warehouse)
    assert not (warehouse / "readings" / "proposals").exists()


def test_a_dry_run_surveys_durations_from_0_to_the_shortest_sufficient_one(constant_stream):
    query, warehouse = constant_stream
    report = calibrate(query, warehouse, dry_run=True)
    tried = {one.duration_ms: one.accuracy for one in report.measurements}
    assert list(tried) == sorted(tried)
    assert min(tried) == 0
    assert report.k_ms == 200
    assert 200 in tried
    assert report.proposed is None
    assert report.accuracy >= 0.95
    below = [duration for duration in tried if duration < report.next_interval.k_ms]
    assert all(tried[duration] < 0.95 for duration in below)
    assert report.next_interval.k_ms - below[-1] <= 100
    assert f"gives {report.accuracy:.4f} ≥ 0.95" in report.evidence
    assert not (warehouse / "readings" / "proposals").exists()


def test_a_calibration_without_enough_closed_windows_is_refused(tmp_path):
    query = declare(tmp_path)
    write_files(TUPLES[:40], tmp_path / "in", [0, 40])
    with pytest.raises(NotReady, match="never run"):
        calibrate(query, tmp_path / "wh")
    assert not (tmp_path / "wh").exists()
    runner = Driver(query, tmp_path / "wh")
    runner.begin()
    with pytest.raises(NotReady, match="committed nothing"):
        calibrate(query, tmp_path / "wh")
    runner.run()
    with pytest.raises(NotReady, match=r"takes 30 windows .* there are \d+"):
        calibrate(query, tmp_path / "wh")
    assert not (tmp_path / "wh" / "readings" / "proposals").exists()


def test_a_query_that_does_not_fit_its_checkpoint_is_refused(constant_stream):
    query, warehouse = constant_stream
    other = query.model_copy(update={"window": query.window.model_copy(update={"size": query.window.size * 2})})
    with pytest.raises(Refused, match="was begun with"):
        calibrate(other, warehouse, dry_run=True)


def test_there_is_one_calibration_at_a_time(calibrated_stream):
    query, warehouse, _ = calibrated_stream
    with (
        Layout.for_query(warehouse, query.name).lock("calibration"),
        pytest.raises(Busy, match="calibrates this query"),
    ):
        calibrate(query, warehouse)


@pytest.mark.needs("long")
def test_history_that_the_stream_writes_is_read_though_the_source_is_gone(tmp_path):
    """The source has no arrival times: history alone records them, compacted or not."""
    query = make_query(tmp_path / "in", SETTINGS, source="json", arrival_time=None)
    (tmp_path / "in").mkdir()
    tuples, runner = [], None
    for number in range(30):
        part = TUPLES[number * 60 : number * 60 + 60]
        now = part[-1].arrival_time
        tuples += [item._replace(arrival_time=now) for item in part]
        lines = [json.dumps(item._asdict()) for item in part]
        (tmp_path / "in" / f"{number:03}.jsonl").write_text("\n".join(lines))
        runner = runner or Driver(query, tmp_path / "wh")
        runner.now = now
        runner.run()
    for file in (tmp_path / "in").iterdir():
        file.unlink()
    expected = calibrate(query, tmp_path / "wh", dry_run=True)
    Tables(Layout.for_query(tmp_path / "wh", query.name)).compact(["history"])
    assert calibrate(query, tmp_path / "wh", dry_run=True) == expected
    durable = make_query(tmp_path / "same", SETTINGS)
    write_files(tuples, tmp_path / "same", even(1800, 30))
    Driver(durable, tmp_path / "other").run()
    found = calibrate(durable, tmp_path / "other", dry_run=True)
    other = replace(found.basis, checkpoint=expected.basis.checkpoint)  # of the stream in the other warehouse
    assert replace(found, basis=other) == expected


def test_a_survey_ends_where_history_is_too_short(constant_stream, monkeypatch):
    """None of the first durations is sufficient, and for longer ones there are too few windows."""
    query, warehouse = constant_stream
    measure, longest = RecentWindows.measure, [900]

    def measure_up_to_longest(recent: RecentWindows, durations: np.ndarray) -> Measurement:
        if durations[-1] > longest[0]:
            raise NotReady([Problem("calibration", "there are too few", "to wait")])
        measurement = measure(recent, durations)
        return replace(measurement, measured=replace(measurement.measured, quality=measurement.measured.quality * 0.9))

    monkeypatch.setattr(RecentWindows, "measure", measure_up_to_longest)
    report = calibrate(query, warehouse, dry_run=True)
    assert max(one.duration_ms for one in report.measurements) == 900
    assert report.accuracy is None
    assert report.evidence.endswith(" < 0.95, and the past is too short for more")
    longest[0] = 0
    with pytest.raises(NotReady, match="too few"):
        calibrate(query, warehouse, dry_run=True)


def report(accuracies: dict[int, float], k_ms: int, longest_ms: int = 10_000) -> CalibrationReport:
    tried = tuple(MeasuredDuration(duration, accuracy, 0.01) for duration, accuracy in accuracies.items())
    intervals = Bracket(0, 4000, 2000), Bracket(0, 9000, k_ms)
    return CalibrationReport(tried, 0.95, 30, 0, 2000, *intervals, longest_ms, True, Basis("q", "id", "{}", None, 0))


PREFIX = "calibrated over 30 windows up to 1970-01-01T00:00:00.000Z: "


@pytest.mark.parametrize(
    ("accuracies", "k_ms", "longest_ms", "message"),
    [
        ({1000: 0.9, 1200: 0.96}, 1200, 9000, "1200 ms gives 0.9600 ≥ 0.95"),
        ({1000: 0.9, 1200: 0.945}, 1200, 9000, "1200 ms gives 0.9450, which is 0.95 within its error"),
        ({1000: 0.9, 1200: 0.945}, 3600, 9000, "1200 ms gives 0.9450 < 0.95, so 3600 ms is tried"),
        ({1000: 0.9, 1200: 0.945}, 1200, 1100, "1200 ms gives 0.9450 < 0.95, and no tuple was delayed for longer"),
    ],
)
def test_the_evidence_in_words(accuracies, k_ms, longest_ms, message):
    assert report(accuracies, k_ms, longest_ms).evidence == PREFIX + message


@pytest.mark.parametrize(
    ("k_ms", "longest_ms", "message"),
    [
        (1200, 9000, "1200 ms gives 0.9600 ≥ 0.95 for revenue"),
        (1000, 9000, "1 s gives 0.9000 for users, which is 0.95 within its error"),
        (1000, 900, "1 s gives 0.9000 < 0.95 for users, and no tuple was delayed for longer"),
        (3600, 9000, "1200 ms gives 0.9600 < 0.95 for revenue, so 3600 ms is tried"),
    ],
)
def test_the_evidence_names_the_least_accurate_column(k_ms, longest_ms, message):
    tried = MeasuredDuration(1000, 0.9, 0.01, "users"), MeasuredDuration(1200, 0.96, 0.01, "revenue")
    assert replace(report({}, k_ms, longest_ms), measurements=tried).evidence == PREFIX + message
