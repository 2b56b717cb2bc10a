"""The panel of one answer: why it is as it is, against the source's tuples and the tables' rows."""

from __future__ import annotations

import json

import pyarrow.parquet as pq
import pytest

from kit.draws.answer_samples import MAKERS, SETTINGS
from kit.runs.local_driver import Driver, no_spark
from kit.runs.query_views import Row, all_versions, lacks, view_of
from tailrace.correction.correct import correct
from tailrace.correction.correction_range import CorrectionRange
from tailrace.ground.errors import Refused
from tailrace.panels import answer as module
from tailrace.panels import late_reading
from tailrace.panels.answer import OneAnswer
from tailrace.panels.answer_ids import AnswerId
from tailrace.panels.query_view import QueryView


@pytest.fixture(scope="module", params=MAKERS)
def view(request, tmp_path_factory) -> QueryView:
    """A query after the correction of half of the late tuples."""
    home = tmp_path_factory.mktemp("answer")
    query = MAKERS[request.param](home)
    driver = Driver(query, home / "wh")
    driver.run(60, flush=True)
    if query.table is None:
        arrived = sorted(row["arrived"] for row in driver.tables.read("late").to_pylist())
        correct(query, home / "wh", CorrectionRange(arrived[0] - 100, arrived[len(arrived) // 2], True), no_spark)
    return view_of(query, home / "wh")


@pytest.fixture
def windows(tmp_path) -> QueryView:
    """A query of windows, of which nothing is corrected."""
    query = MAKERS["windows"](tmp_path)
    Driver(query, tmp_path / "wh").run(60, flush=True)
    return view_of(query, tmp_path / "wh")


def ask(view: QueryView, row: Row) -> OneAnswer:
    id_ = AnswerId.from_identity({name: row[name] for name in view.kind.answers.identity.columns})
    shown = module.read(view, module.AnswerRequest(id=str(id_)))
    return OneAnswer.model_validate_json(shown.model_dump_json())


def a_row(versions: list) -> Row:
    return next(row for _, _, rows in versions for row in rows)


def some(view: QueryView) -> list[tuple[tuple, list]]:
    """Some answers with corrections, and some without."""
    by_number = sorted(all_versions(view.tables).items(), key=lambda item: (-len(item[1]), item[1][0][1], str(item[0])))
    middle = len(by_number) // 2
    return [*by_number[:6], *by_number[middle : middle + 3], *by_number[-3:]]


def source_tuples(view: QueryView) -> dict[tuple[str, int], Row]:
    """The source's tuples by file and place in it."""
    found = {}
    for stream in view.query.streams.values():
        for file in stream.source.path.iterdir():
            if file.suffix == ".parquet":
                rows = pq.read_table(file).to_pylist()
                times = ("event_time", "arrival_time")
                rows = [row | {name: round(row[name].timestamp() * 1000) for name in times} for row in rows]
            else:
                rows = [json.loads(line) for line in file.read_text().splitlines()]
            found |= {(str(file), number): row for number, row in enumerate(rows)}
    return found


@pytest.mark.needs("long")
def test_an_answer_has_its_versions_in_order(view):
    for answer, versions in some(view):
        shown = ask(view, a_row(versions))
        assert {part.name for part in shown.identity} == {*view.kind.answers.identity.columns}
        assert str(answer[0]) in {part.value for part in shown.identity}
        found = [(each.as_of, each.source == "correction", each.is_retracted) for each in shown.versions]
        assert found == [(as_of, is_one, not rows) for as_of, is_one, rows in versions for _ in rows or [None]]
        rows = [row for _, _, rows in versions for row in rows]
        names = [column.name for column in shown.columns]
        given = [each for each in shown.versions if not each.is_retracted]
        for name in {"value", "score", "distance", "rank", "left_time"} & {*names}:
            assert [each.values[names.index(name)] for each in given] == [row[name] for row in rows]
        assert [each.tuples for each in given] == [row["tuples"] for row in rows]
        for name, value in zip(names, shown.versions[-1].values, strict=True):
            assert (
                not shown.versions[-1].is_retracted or value is None or name in {part.name for part in shown.identity}
            )


@pytest.mark.needs("long")
def test_the_summary_says_what_each_correction_made_of_it(view):
    texts = set()
    for _, versions in some(view):
        text = ask(view, a_row(versions)).summary
        assert text.startswith("The stream gave " if not versions[0][1] else "The stream did not give it")
        assert text.count("The correction of arrival [") == sum(is_one for _, is_one, _ in versions)
        assert ("took it back" in text) == any(not rows for _, _, rows in versions)
        texts.add(text)
    if view.query.table is not None:
        assert all("none is late" in text for text in texts)
    else:
        assert any("The correction of arrival [" in text for text in texts)


@pytest.mark.needs("long")
def test_the_late_tuples_of_a_window_are_those_of_its_key_and_time_that_came_after_it_closed(view):
    if "key" not in view.kind.answers.identity.columns:
        return  # the next test is of pairs
    source, late_rows, seen = source_tuples(view), view.tables.read("late").to_pylist(), 0
    for (key, end), versions in some(view):
        shown = ask(view, a_row(versions))
        rows = [
            row
            for row in late_rows
            if row["key"] == key and end - SETTINGS.size <= row["pane_start"] < end <= row["frontier"]
        ]
        assert shown.late_total == len(shown.late) == sum(row["tuples"] for row in rows)
        for late in shown.late:
            mine = source[late.file, late.position]
            times = ("event_time", "arrival_time")
            assert (late.id, late.event_time, late.arrival_time) == (mine["id"], *(mine[name] for name in times))
            assert (mine["key"], late.values) == (key, {"value": mine["value"]})
            assert late.delay_ms == mine["arrival_time"] - mine["event_time"]
            has_it = [as_of for as_of, is_one, _ in versions if is_one and as_of > mine["arrival_time"]]
            assert late.corrected_by == min(has_it, default=None)
            seen += 1
        assert ("it may change" in shown.summary) == any(late.corrected_by is None for late in shown.late)
        coverage = [each.coverage for each in shown.versions if each.source == "stream"]
        lacking = len(shown.late)
        assert (
            coverage[:1] == [row["tuples"] / (row["tuples"] + lacking) for row in versions[0][2]][: len(coverage[:1])]
        )
    assert seen > 3


@pytest.mark.needs("long")
def test_a_pair_that_the_stream_missed_names_its_late_tuple(view):
    if "left_id" not in view.kind.answers.identity.columns or view.query.table is not None:
        return  # no tuple of a pair is late
    source, seen, every = source_tuples(view), 0, all_versions(view.tables)
    missed = [versions for versions in every.values() if all(is_one for _, is_one, _ in versions)]
    for versions in missed[:6]:
        row = a_row(versions)
        shown = ask(view, row)
        for late in shown.late:
            mine = source[late.file, late.position]
            assert mine["id"] == late.id in (row["left_id"], row["right_id"])
            assert mine["event_time"] == late.event_time in (row["left_time"], row["right_time"])
            assert late.corrected_by == versions[0][0]
            seen += 1
        assert shown.late_total == len(shown.late)
        assert shown.summary.startswith("The stream did not give it: ")
    assert seen > 0
    assert ask(view, a_row(next(versions for versions in every.values() if not versions[0][1]))).late == []


def test_an_id_of_no_answer_is_refused(view):
    names = view.kind.answers.identity.columns
    row = view.tables.read("results").to_pylist()[0]
    other = {name: "nobody" if isinstance(row[name], str) else row[name] for name in names}
    assert ask(view, row).summary
    for text in (
        "",
        "x",
        "W10",
        "%%%",
        "é",
        str(AnswerId.from_identity(other)),
        str(AnswerId.from_identity(dict.fromkeys(names))),
    ):
        with pytest.raises(Refused, match="it is the id of no answer"):
            module.read(view, module.AnswerRequest(id=text))


def one_with_late(view: QueryView) -> Row:
    late = view.tables.read("late").to_pylist()
    every = all_versions(view.tables).items()
    return next(v[0][2][0] for answer, v in every if lacks(late, answer, v[0], SETTINGS.size))


def test_a_source_file_that_is_gone_leaves_the_versions(windows):
    answer = one_with_late(windows)
    for file in windows.query.streams["readings"].source.path.iterdir():
        file.unlink()
    shown = ask(windows, answer)
    assert (shown.late, shown.late_total > 0, len(shown.versions)) == ([], True, 1)
    assert "it was removed" in shown.note


def test_history_that_would_take_long_is_not_read(windows, monkeypatch):
    answer = one_with_late(windows)
    monkeypatch.setattr(late_reading, "MOST_ROWS", 1)
    shown = ask(windows, answer)
    assert (shown.late, shown.late_total > 0) == ([], True)
    assert "too many tuples" in shown.note


def test_no_segment_is_read_in_whose_ticks_no_late_tuple_came(windows, monkeypatch):
    answer, read = one_with_late(windows), set()
    real = late_reading.Log.reader

    def noting(log):
        read.update(log.segments["ordinal"].to_pylist())
        return real(log)

    monkeypatch.setattr(late_reading.Log, "reader", noting)
    files = {late.file for late in ask(windows, answer).late}
    segments = windows.tables.read("segments").to_pylist()
    near = [
        each
        for each in segments
        if each["accepted"] and each["min_event"] < answer["window_end"] and each["max_event"] >= answer["window_start"]
    ]
    assert files <= {each["path"] for each in segments if each["ordinal"] in read}
    assert 0 < len(read) < len(near)
