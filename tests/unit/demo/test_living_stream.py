"""The stream of payments that goes on while people look at the demonstration, and what the pages show of it."""

from __future__ import annotations

import json
import re
import threading
from collections import defaultdict
from pathlib import Path
from types import SimpleNamespace

import pytest

from demo import living_stream
from demo.changed_answer import changed_answer
from demo.generated_data import GAME2, METERS, declare
from demo.living_stream import (
    EVERY_MS,
    INTERVAL_MS,
    LARGEST,
    LIVING,
    PAYMENTS,
    LivingStream,
    first_payment_ms,
    payments,
)
from demo.look_around import look_around, promise_now
from kit.runs.local_driver import NOW, Driver, correct_here
from tailrace.calibration.calibrate import calibrate
from tailrace.correction.promise_state import PromiseState
from tailrace.panels import answer, ledger, promise, quarantine
from tailrace.panels.answer import AnswerRequest, OneAnswer
from tailrace.panels.arrival_range import TimesRequest
from tailrace.panels.promise import PromiseRequest
from tailrace.panels.quarantine import QuarantineRequest
from tailrace.panels.query_view import QueryView
from tailrace.query.loading import load
from tailrace.query.query import Query
from tailrace.storage.layout import Layout
from tailrace.storage.results import read_answers
from tailrace.storage.tables import Tables

MINUTES, SIZE_MS, SLIDE_MS = 6, 10_000, 500
START_MS = NOW - MINUTES * 60_000


def records(directory: Path) -> list[dict]:
    return [json.loads(line) for file in sorted(directory.iterdir()) for line in file.read_text().splitlines()]


@pytest.fixture(scope="module")
def streamed(tmp_path_factory):
    """The query over six minutes of payments, streamed in this process and corrected."""
    home = tmp_path_factory.mktemp("payments")
    return stream_and_correct(home, PAYMENTS), home


def stream_and_correct(home: Path, file: Path) -> QueryView:
    query_file = declare(home, [file])[0]
    query = load(query_file)
    stream = LivingStream(query.stream[1].path, START_MS, hours=1)
    stream.directory.mkdir(parents=True)
    stream.write_until(NOW)
    return QueryView(run_and_correct(query, home / "tables"), query_file)


def run_and_correct(query: Query, tables: Path) -> Layout:
    driver = Driver(query, tables)
    driver.run(batch_rows=1000)
    correct_here(query, tables)
    return driver.layout


def test_a_file_comes_once_its_time_has_passed_and_each_payment_comes_once(tmp_path):
    stream = LivingStream(tmp_path, START_MS, hours=0.01)
    assert stream.write_until(START_MS + EVERY_MS - 1)
    assert not any(tmp_path.iterdir())
    assert stream.write_until(START_MS + EVERY_MS)
    assert len(list(tmp_path.iterdir())) == 1
    for now_ms in range(START_MS, START_MS + 4 * 3_600_000, 7_001):
        if not stream.write_until(now_ms):
            break
    else:
        pytest.fail("the stream has no end")
    found = records(tmp_path)
    assert [record["payment"] for record in found] == payments(START_MS, 0.6)["payment"].to_pylist()
    assert [record["received_at"] for record in found] == sorted(record["received_at"] for record in found)


def test_what_should_have_come_is_there_at_once_and_nothing_comes_after_the_end(tmp_path):
    before = threading.active_count()
    with LivingStream(tmp_path / "payments", START_MS, 0.1, lambda: START_MS + 10 * EVERY_MS) as stream:
        assert len(list(stream.directory.iterdir())) == 10
    assert threading.active_count() == before


def test_where_a_file_cannot_be_written_it_comes_later_and_that_is_said_once(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(living_stream, "EVERY_MS", 10)
    stream = LivingStream(tmp_path, START_MS, hours=0.1)
    faults = [OSError("no space left"), OSError("no space left"), True, False]

    def write_until(now_ms: int) -> bool:
        fault = faults.pop(0)
        if isinstance(fault, OSError):
            raise fault
        return fault

    monkeypatch.setattr(stream, "write_until", write_until)
    stream._run()
    assert faults == []
    assert capsys.readouterr().err == "payments wait: no space left\n"


def test_the_stream_begins_with_the_newest_interval_of_corrections_that_is_over():
    assert {load(file).correction.schedule for file in LIVING} == {"*/5 * * * *"}
    assert first_payment_ms(10 * INTERVAL_MS + 1) == 9 * INTERVAL_MS


@pytest.mark.needs("long")
def test_the_pages_have_a_measured_promise_late_payments_and_no_gap(streamed):
    view, _ = streamed
    assert PromiseState.read(view.tables).state in ("kept", "broken")
    shown = promise.read(view, PromiseRequest())
    assert [each.answer for each in shown.answers] == ["revenue", "payments"]
    assert all(len(each.series.start) >= MINUTES - 1 for each in shown.answers)
    assert shown.right.streamed < shown.right.corrected == 1
    assert len(set(view.tables.read("results", ["k_ms"])["k_ms"].to_pylist())) > 10
    assert ledger.read(view, TimesRequest()).gaps == []


@pytest.mark.needs("long")
def test_the_promise_of_the_largest_payments_is_broken_until_the_wait_is_what_a_calibration_finds(tmp_path):
    view = stream_and_correct(tmp_path, LARGEST)
    assert promise.read(view, PromiseRequest()).word == "broken"
    report = calibrate(view.query, tmp_path / "tables", dry_run=True)
    assert report.next_interval.k_ms > 5 * report.determination.promise_ms, "a wait that keeps it with a margin"
    waiting = view.query.policy.waiting(report.next_interval.k_ms)
    mended = view.query.model_copy(update={"disorder": view.query.disorder.model_copy(update={"policy": waiting})})
    assert PromiseState.read(Tables(run_and_correct(mended, tmp_path / "mended"))).state == "kept"


def test_a_comma_for_a_point_is_in_quarantine_with_the_line_that_would_take_it(streamed):
    view, _ = streamed
    shown = quarantine.read(view, QuarantineRequest())
    [reason] = shown.reasons
    assert shown.total == reason.records > 10
    assert "paid: cast(amount as double)" in reason.line.text
    assert "try_cast" in reason.line.advice


def test_every_corrected_answer_is_right(streamed):
    view, home = streamed
    true = defaultdict(list)
    for record in records(home / "data" / "card_payments" / "payments"):
        if "," not in record["amount"]:
            paid_at = record["payment"] * 1000 // 40 + START_MS
            for start in range(paid_at // SLIDE_MS * SLIDE_MS, paid_at - SIZE_MS, -SLIDE_MS):
                true[record["country"], start].append(float(record["amount"]))
    rows = read_answers(view.query, home / "tables", streamed=False)[0].to_pylist()
    assert len(rows) > 3_000
    for row in rows:
        amounts = true[row["country"] if "country" in row else row["key"], row["window_start"]]
        assert row["payments"] == len(amounts)
        assert row["revenue"] == pytest.approx(sum(amounts), rel=1e-9)


def test_the_answer_to_look_at_is_one_that_late_payments_changed(streamed):
    view, _ = streamed
    found = changed_answer(view)
    shown = answer.read(view, AnswerRequest(id=found.id))
    names = [head.name for head in shown.columns]
    before, after = (
        dict(zip(names, version.values, strict=True)) for version in (shown.versions[0], shown.versions[-1])
    )
    late = after["payments"] - before["payments"]
    assert late > 0
    assert shown.late_total == late
    assert found.text.startswith(str(after["key"] if "key" in after else after["country"]))
    assert f"revenue was {before['revenue']:,.4g} and is {after['revenue']:,.4g}, for the " in found.text
    assert (f"{late} tuples" if late > 1 else "the tuple that came late") in found.text


def test_an_answer_that_no_late_tuple_changed_is_not_shown_as_one(streamed, monkeypatch):
    view, _ = streamed
    monkeypatch.setattr(answer, "read", lambda *_: OneAnswer(late_total=0))
    assert changed_answer(view) is None


def test_the_last_lines_have_the_pages_the_password_and_the_answer_that_changed(streamed, monkeypatch, capsys):
    view, home = streamed
    airflow = SimpleNamespace(url="http://127.0.0.1:1", password="secret")
    demo_query = SimpleNamespace(airflow=airflow, home=home, layout=view.layout, name="card_payments")
    interrupted = SimpleNamespace(sleep=lambda _: (_ for _ in ()).throw(KeyboardInterrupt))
    monkeypatch.setattr("demo.look_around.time", interrupted)  # other threads go on sleeping
    with pytest.raises(KeyboardInterrupt):
        look_around(
            demo_query,
            [demo_query, SimpleNamespace(name="largest_payments", layout=Layout(home / "none"))],
            [SimpleNamespace(query=load(file), name=file.stem) for file in (METERS, GAME2)],
        )
    lines = capsys.readouterr().out.splitlines()
    found, pages = changed_answer(view), "http://127.0.0.1:1/tailrace"
    assert "user admin with password secret" in lines[1]
    queries = ("card_payments?part=promise", "largest_payments?part=promise", "card_payments?part=quarantine")
    assert lines[2] == f"  {pages}/", "the first page is the one with all streams"
    for query in queries:
        assert f"  {pages}/queries/{query}" in lines
    place = lines.index(f"  {pages}/queries/card_payments?part=answer&id={found.id}")
    assert lines[place + 1] == f"    {found.text}"
    topics = [line for line in lines if " topic " in line]
    assert topics == ["  topic meter_answers of the broker at 127.0.0.1:9092"], "one query answers to a topic"


@pytest.mark.parametrize(
    ("state", "detail", "said", "advises"),
    [
        ("broken", "8 % are off", "this promise is broken: 8 % are off", True),
        ("kept", "1 % are off", "this promise is kept: 1 % are off", False),
        ("unknown", "nothing is measured yet", "of this promise nothing is measured yet", True),
    ],
)
def test_the_last_lines_say_of_the_promise_what_is_measured_by_then(monkeypatch, state, detail, said, advises):
    monkeypatch.setattr(PromiseState, "read", lambda layout: PromiseState(state, detail))
    first, *advice = promise_now(SimpleNamespace(layout=None)).splitlines()
    assert re.fullmatch(rf"at \d\d:\d\d UTC {said}", first)
    assert any("press Calibrate" in line for line in advice) == advises


def test_without_a_correction_no_answer_has_changed(tmp_path):
    query_file = declare(tmp_path, [PAYMENTS])[0]
    query = load(query_file)
    stream = LivingStream(query.stream[1].path, NOW - 60_000, hours=0.1)
    stream.directory.mkdir(parents=True)
    stream.write_until(NOW)
    driver = Driver(query, tmp_path / "tables")
    assert changed_answer(QueryView(driver.layout, query_file)) is None
    driver.run()
    assert changed_answer(QueryView(driver.layout, query_file)) is None
