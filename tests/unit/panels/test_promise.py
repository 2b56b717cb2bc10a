"""The panel `promise`, held against plain Python over the tables' rows."""

from __future__ import annotations

import json
from collections import defaultdict
from typing import Any

import pyarrow as pa
import pytest

from kit.runs.local_driver import correct_here
from kit.runs.panel_stream import PROMISE, SIZE, SLIDE, TICK, PanelStream, query_over, run_stream
from kit.runs.warehouse import even, make_stream, propose, write_files
from tailrace.correction.promise_state import PromiseState
from tailrace.ground.arrow.times import with_times
from tailrace.ground.duration import format_time
from tailrace.panels import promise, right_answers, uncorrected_answers
from tailrace.panels.promise import NOT_MEASURED, PromiseAnswer, PromiseRequest
from tailrace.panels.query_view import QueryView
from tailrace.storage.deployed import DeployedQuery
from tailrace.storage.layout import Layout


@pytest.fixture(scope="module")
def stream(tmp_path_factory) -> PanelStream:
    return run_stream(tmp_path_factory.mktemp("promise"), {"policy": "hybrid"} | PROMISE)


@pytest.fixture(scope="module")
def answer(stream) -> PromiseAnswer:
    return promise.read(stream.view, PromiseRequest())


def _small(directory, disorder: dict[str, Any], corrects: bool = True, **declared: Any) -> PanelStream:
    tuples = make_stream(300, 3)
    write_files(tuples, directory / "in", even(300, 3))
    small = PanelStream(query_over(directory, disorder, **declared), directory / "wh", tuples)
    small.driver.run(100)
    if corrects:
        correct_here(small.query, small.warehouse)
    return small


def test_the_state_is_the_one_that_the_newest_buckets_give(stream, answer):
    state = PromiseState.read(stream.view.tables)
    assert (answer.state, answer.detail) == (state.state, state.detail)
    assert answer.state in ("kept", "broken")


def test_it_shows_what_the_policy_promises(answer):
    assert answer.promised.model_dump() == PROMISE | {"accuracy": None, "of": None}
    assert (answer.answers[0].error, answer.answers[0].risk) == (0.1, 0.1)


def test_the_measured_errors_are_the_rows_of_quality(stream, answer):
    rows = sorted(stream.rows("quality"), key=lambda row: row["bucket_start"])
    (of_value,) = answer.answers
    assert of_value.answer == "value"
    assert len(rows) > 2
    assert of_value.series.start == [row["bucket_start"] for row in rows]
    assert of_value.series.end == [row["bucket_end"] for row in rows]
    for name in ("share", "mean_error", "worst_error", "answers", "corrected", "missing", "mean_k_ms"):
        assert getattr(of_value.series, name) == [row[name] for row in rows], name
    assert max(of_value.series.worst_error) > 0


def test_a_range_has_the_buckets_that_begin_in_it(stream, answer):
    start = answer.answers[0].series.start
    part = promise.read(stream.view, PromiseRequest(from_=start[1], to=start[2]))
    assert part.answers[0].series.start == start[1:3]
    nothing = promise.read(stream.view, PromiseRequest(from_=0, to=1))
    assert (nothing.answers, nothing.right) == ([], None)
    assert nothing.note == "no answers of this range were measured"


def test_by_default_it_shows_as_many_buckets_as_a_chart_has_points(stream, answer, monkeypatch):
    monkeypatch.setattr(promise, "POINTS", 2)
    newest = promise.read(stream.view, PromiseRequest())
    assert newest.answers[0].series.start == answer.answers[0].series.start[-2:]


def _plain_right(stream: PanelStream, low: int, high: int) -> tuple[float, float, int]:
    """The shares of answers that were right as streamed and are right now, and their number, by loops over rows."""
    streamed = {(row["key"], row["window_end"]): row["value"] for row in stream.rows("results")}
    latest: dict[tuple, tuple] = {}
    for row in stream.rows("corrections"):
        identity = row["key"], row["window_end"]
        latest[identity] = max(latest.get(identity, (0,)), (row["as_of"], row["retracted"], row["value"]))
    runs = [(row["arrived_from"] or 0, row["arrived_to"]) for row in stream.rows("correction_runs")]
    lacking = set()
    for row in stream.rows("late"):
        if not any(start < row["arrived"] <= end for start, end in runs):
            ends = range(row["pane_start"] + SLIDE, row["pane_start"] + SIZE + 1, SLIDE)
            lacking |= {(row["key"], end) for end in ends if end <= row["frontier"]}
    answers = [one for one in {*streamed, *latest, *lacking} if low < one[1] <= high]
    right = whole = 0
    for one in answers:
        assert one not in latest or not latest[one][1], "no answer is retracted here"
        whole += one not in lacking
        is_same = one in streamed and (one not in latest or abs(latest[one][2] - streamed[one]) < 1e-6)
        right += one not in lacking and is_same
    return right / len(answers), whole / len(answers), len(answers)


def test_right_are_the_answers_that_equal_their_latest_version_and_lack_no_late_tuple(stream, answer):
    right = answer.right
    ends = answer.answers[0].series
    assert (right.start, right.end) == (ends.start[0], ends.end[-1])
    streamed, corrected, answers = _plain_right(stream, right.start, right.end)
    assert right.answers == answers > 1_000
    assert (right.streamed, right.corrected) == pytest.approx((streamed, corrected))
    assert 0.5 < right.streamed < right.corrected < 1


def test_of_many_answers_those_of_the_newest_buckets_are_compared(stream, answer, monkeypatch):
    ends = answer.answers[0].series
    monkeypatch.setattr(right_answers, "MOST_ANSWERS", sum(ends.answers[-2:]) + sum(ends.missing[-2:]))
    right = promise.read(stream.view, PromiseRequest()).right
    assert (right.start, right.end) == (ends.start[-2], ends.end[-1])
    streamed, corrected, answers = _plain_right(stream, right.start, right.end)
    assert (right.streamed, right.corrected, right.answers) == (
        pytest.approx(streamed),
        pytest.approx(corrected),
        answers,
    )
    monkeypatch.setattr(right_answers, "MOST_ANSWERS", 1)
    assert promise.read(stream.view, PromiseRequest()).right.start == ends.start[-1]


def test_with_too_many_late_tuples_it_says_that_the_share_is_not_known(stream, monkeypatch):
    monkeypatch.setattr(uncorrected_answers, "MOST_ROWS", 1)
    unknown = promise.read(stream.view, PromiseRequest())
    assert (unknown.right.streamed, unknown.right.corrected) == (None, None)
    assert "rows of late tuples are not corrected" in unknown.note


def test_once_all_is_corrected_every_answer_is_right(tmp_path):
    small = _small(tmp_path, {"policy": "k_slack", "k": "300 ms"})
    right = promise.read(small.view, PromiseRequest()).right
    streamed, corrected, answers = _plain_right(small, right.start, right.end)
    assert (right.streamed, right.corrected, right.answers) == (pytest.approx(streamed), 1.0, answers)
    assert right.streamed < corrected == 1.0


def test_coverage_stands_beside_the_threshold_of_each_batch(stream, answer):
    by_batch: dict[int, dict[str, Any]] = defaultdict(dict)
    for row in stream.rows("metrics"):
        by_batch[row["committed"]] = row
    rows = [by_batch[at] for at in sorted(by_batch)]
    assert answer.coverage.at == sorted(by_batch)
    assert answer.coverage.coverage == [row["coverage"] for row in rows]
    assert answer.coverage.threshold == [row["threshold"] for row in rows]
    assert answer.coverage.threshold_now == rows[-1]["threshold"] is not None


def test_the_threshold_now_is_the_newest_whatever_range_is_shown(tmp_path):
    small = _small(tmp_path, {"policy": "hybrid"} | PROMISE, corrects=False)
    tables = small.view.tables
    (newest,) = tables.read("metrics").sort_by([("batch", "descending"), ("task", "ascending")]).slice(0, 1).to_pylist()
    schema, later = tables.schema("metrics"), newest["committed"] + 1
    for batch, threshold in ((1, 0.5), (2, 0.25), (3, None)):
        row = newest | {"batch": newest["batch"] + batch, "committed": later, "threshold": threshold}
        tables.add("metrics", with_times(pa.Table.from_pylist([row]), schema))
    for request in (PromiseRequest(), PromiseRequest(to=newest["committed"])):
        assert promise.read(small.view, request).coverage.threshold_now == 0.25


def test_the_threshold_of_a_count_is_that_of_its_promise(tmp_path):
    of_count = _small(tmp_path, {"policy": "hybrid", "error": 0.5, "risk": 0.1}, aggregate={"function": "count"})
    coverage = promise.read(of_count.view, PromiseRequest()).coverage
    assert coverage.threshold_now == pytest.approx(0.5)


def test_a_policy_without_a_threshold_has_none(tmp_path):
    of_quantile = _small(tmp_path, {"policy": "quantile"} | PROMISE)
    coverage = promise.read(of_quantile.view, PromiseRequest()).coverage
    assert set(coverage.threshold) == {None}
    assert coverage.threshold_now is None
    assert any(coverage.coverage)


def test_columns_of_answers_come_in_the_order_of_the_query(tmp_path):
    aggregate = {"total": {"function": "sum", "column": "value"}, "number": {"function": "count"}}
    disorder = {"policy": "quantile", "of": ["number"]} | PROMISE
    named = promise.read(_small(tmp_path, disorder, aggregate=aggregate).view, PromiseRequest())
    assert [each.answer for each in named.answers] == ["total", "number"]
    assert [each.risk for each in named.answers] == [None, 0.1]
    assert named.promised.of == ["number"]


def test_before_a_correction_nothing_is_measured(tmp_path):
    before = promise.read(_small(tmp_path, {"policy": "hybrid"} | PROMISE, corrects=False).view, PromiseRequest())
    assert (before.state, before.note, before.answers, before.right) == ("unknown", NOT_MEASURED, [], None)
    assert len(before.coverage.at) == 3


def test_a_query_that_has_not_run_shows_its_promise(tmp_path):
    write_files(make_stream(5, 1), tmp_path / "in", [0, 5])
    idle = PanelStream(query_over(tmp_path, {"policy": "hybrid"} | PROMISE), tmp_path / "wh", [])
    nothing = promise.read(idle.view, PromiseRequest())
    assert (nothing.promised.error, nothing.state, nothing.coverage.at) == (0.1, "unknown", [])


def test_the_promise_is_that_of_the_deployed_copy_and_a_file_with_another_one_is_told(tmp_path):
    write_files(make_stream(5, 1), tmp_path / "in", [0, 5])
    file, layout = tmp_path / "readings.yaml", Layout.for_query(tmp_path / "wh", "readings")
    texts = [_text(error=0.1, risk=0.05), _text(error=0.1, risk=0.01)]
    file.write_text(texts[0])
    layout.stream.mkdir(parents=True)
    DeployedQuery(file, texts[0], {}).write(layout)
    assert promise.read(QueryView(layout, file), PromiseRequest()).note == NOT_MEASURED
    told = "the file on disk promises {}, from the next deployment on; " + NOT_MEASURED
    for text, declared in (
        (texts[1], "that at most 1.00% of the answers are off by 0.1 or more"),
        (
            _text(error=0.1, risk=0.05, of=["total"]),
            "that at most 5.00% of the answers of total are off by 0.1 or more",
        ),
        (_text(policy="k_slack", k="1 s"), "nothing"),
        (_text(policy="cache_duration", accuracy=0.99, initial="1 s"), "an accuracy of at least 0.99"),
    ):
        file.write_text(text)
        shown = promise.read(QueryView(layout, file), PromiseRequest())
        assert (shown.promised.risk, shown.note) == (0.05, told.format(declared))
    file.write_text("name: readings\n")
    assert promise.read(QueryView(layout, file), PromiseRequest()).note == NOT_MEASURED, "Settings says what is wrong"
    DeployedQuery(file, texts[1], {}).write(layout)
    file.write_text(texts[1])
    shown = promise.read(QueryView(layout, file), PromiseRequest())
    assert (shown.promised.risk, shown.note) == (0.01, NOT_MEASURED)


def _text(**disorder: Any) -> str:
    return f"""\
name: readings
kind: aggregate
streams:
  readings:
    source: {{format: parquet, path: in}}
    event_time: event_time
    arrival_time: arrival_time
    id: id
    key: key
window: {{size: 500 ms}}
disorder: {json.dumps({"policy": "quantile", "tick": "100 ms"} | disorder)}
aggregate: {{total: {{function: sum, column: value}}, number: {{function: count}}}}
"""


def test_answers_that_were_judged_before_k_moved_are_told_as_such(tmp_path):
    """Until a correction covers later arrivals; a K that holds from a tick to come on is no other K yet."""
    tuples, disorder = make_stream(900, 3), {"policy": "cache_duration", "accuracy": 0.9, "initial": "0 s"}
    stream = PanelStream(query_over(tmp_path, disorder), tmp_path / "wh", tuples)
    bounds, notes = even(900, 3), []

    def note() -> None:
        notes.append(promise.read(stream.view, PromiseRequest()).note)

    for part in range(2):
        write_files(tuples, tmp_path / "in", bounds[part : part + 2], first=part)
        stream.driver.run(100)
        if not part:
            correct_here(stream.query, stream.warehouse)
            note()
            propose(stream.query, stream.warehouse, 700)
            note()
    note()
    correct_here(stream.query, stream.warehouse)
    note()
    (fact,) = (row for row in stream.rows("facts") if row["about"] == "settings" and row["from_tick"] > 0)
    since = format_time(fact["from_tick"] * TICK)
    assert notes == [None, None, f"the judged answers are from before {since}, since when K 0 ms → 700 ms holds", None]
