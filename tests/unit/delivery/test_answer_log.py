"""The log of another query's answers: what a chain refuses, and that each version is read once."""

from __future__ import annotations

import os
import re
import shutil
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pyarrow as pa
import pytest

from kit.runs.chained_queries import HOUR, MINUTE, START, chain, declarations, write
from kit.runs.local_driver import Driver, correct_here
from tailrace.correction.correction_range import CorrectionRange
from tailrace.correction.deduplication import counted
from tailrace.delivery import answer_log
from tailrace.delivery.answer_changes import AnswerChanges
from tailrace.delivery.answer_log import AnswerLog
from tailrace.engine.compiled_query import CompiledQuery
from tailrace.ground.arrow.times import ARRIVAL_US
from tailrace.ground.errors import Refused, Unfit
from tailrace.kinds import build
from tailrace.query.declared import declared_query
from tailrace.storage.backup import back_up
from tailrace.storage.layout import Layout
from tailrace.storage.restore import restore
from tailrace.storage.results import AnswerTables
from tailrace.storage.table_files import resolve_file
from tailrace.storage.tables import Tables
from tailrace.stream.source_opening import open_feeds
from tailrace.stream.upstream_answers import require_no_cycle
from tailrace.tables.stream import UPSTREAM

EVENTS = [(START + 60_000 * n, START + 60_000 * n + 10, n, "a", n) for n in range(8)]


@pytest.fixture
def begun(tmp_path):
    """The three queries, of which the first has answers."""
    queries = chain(tmp_path / "in")
    write(EVENTS, tmp_path / "in" / "0.parquet")
    Driver(queries[0], tmp_path / "wh").run()
    return queries


def log_of(tmp_path) -> AnswerLog:
    return AnswerLog(Layout(tmp_path / "wh" / "revenue"), Layout(tmp_path / "wh" / "hourly"), "upstream")


def test_each_version_is_read_once(tmp_path, begun):
    log = log_of(tmp_path)
    first = log.refresh()
    assert first > 0
    assert log.refresh() == 0
    Driver(begun[0], tmp_path / "wh").run(flush=True)
    assert log.refresh() > 0
    ids = Tables(log.reader).read("upstream")["answer"].to_pylist()
    assert len(ids) == len(set(ids)) == len(EVENTS)


def test_its_columns_are_those_of_the_reference(tmp_path, begun):
    log = log_of(tmp_path)
    log.refresh()
    answers = build(begun[0]).answer.names
    assert Tables(log.reader).schema("upstream").names == [*answers, *UPSTREAM.columns]


def minutes(low: int, high: int, value: int = 1) -> list[tuple]:
    """Return a tuple for each of some minutes."""
    return [(START + n * MINUTE, START + n * MINUTE + 10, n, "a", value) for n in range(low, high)]


def latest(query, warehouse) -> list[dict]:
    return AnswerTables(Driver(query, warehouse).tables, build(query).answers).latest().to_pylist()


def end_equals(queries, warehouse) -> None:
    """Correct two queries of a chain, and check that the second counts each minute of the first, once."""
    Driver(queries[0], warehouse).run(flush=True)
    correct_here(queries[0], warehouse)
    Driver(queries[1], warehouse).run(flush=True)
    correct_here(queries[1], warehouse)
    truth, (row,) = latest(queries[0], warehouse), latest(queries[1], warehouse)
    assert (row["revenue"], row["minutes"]) == (sum(each["revenue"] for each in truth), len(truth))


@pytest.mark.needs("long")
def test_an_answer_that_upstream_gives_no_more_is_taken_back(tmp_path):
    first, second, third = queries = chain(tmp_path / "in")
    warehouse = tmp_path / "wh"
    write(minutes(0, 30), tmp_path / "in" / "0.parquet")
    Driver(first, warehouse).run()
    Driver(second, warehouse).run(flush=True)
    repeat = (START + 40 * MINUTE, START + 40 * MINUTE + 10, 5, "b", 1_000)  # a correction of the first finds it
    write([*minutes(31, 40), repeat, *minutes(41, 50)], tmp_path / "in" / "1.parquet")
    Driver(first, warehouse).run(flush=True)
    Driver(second, warehouse).run(flush=True)
    correct_here(second, warehouse)
    Driver(third, warehouse).run(flush=True)
    assert {row["k"] for row in latest(third, warehouse)} == {"a", "b"}
    for query in queries:
        Driver(query, warehouse).run(flush=True)
        correct_here(query, warehouse)
    assert [(row["k"], row["score"], row["minutes"]) for row in latest(third, warehouse)] == [("a", 48, 48)]


def test_a_retraction_of_a_version_that_went_to_quarantine_counts_nothing(tmp_path):
    fields, warehouse = declarations(tmp_path / "in"), tmp_path / "wh"
    fields[1]["streams"]["minutes"] |= {"event_time": "window_end", "bounds": {"ahead": "1 s"}}
    first, second = map(declared_query, fields[:2])
    repeat = (START + 8 * MINUTE, START + 8 * MINUTE + 10, 5, "b", 1_000)  # a correction of the first finds it
    write([*minutes(0, 7), repeat], tmp_path / "in" / "0.parquet")
    Driver(first, warehouse).run(flush=True)  # so the answer comes before the end of its window, and is rejected
    Driver(second, warehouse).run()
    assert Tables(Layout(warehouse / "hourly")).read("quarantine")["record"].to_pylist()
    write(minutes(9, 11), tmp_path / "in" / "1.parquet")
    Driver(first, warehouse).run()
    correct_here(first, warehouse)
    Driver(second, warehouse).run(flush=True)
    tables = Tables(Layout(warehouse / "hourly"))
    assert sorted(row["retracted"] for row in tables.read("upstream").to_pylist() if row["k"] == "b") == [False, True]
    streamed = {row["k"]: row["minutes"] for row in tables.read("results").to_pylist()}
    assert streamed == {"a": 7}
    correct_here(second, warehouse, CorrectionRange(START, START + 12 * HOUR, arrival=True))
    assert [(row["k"], row["minutes"]) for row in latest(second, warehouse)] == [("a", 7)]


def test_a_correction_that_changes_nothing_sends_nothing(tmp_path, begun):
    first, second, _ = begun
    Driver(first, tmp_path / "wh").run(flush=True)
    Driver(second, tmp_path / "wh").run(flush=True)
    before = Tables(log_of(tmp_path).reader).read("upstream").num_rows
    for _ in range(2):
        correct_here(first, tmp_path / "wh")
        Driver(second, tmp_path / "wh").run(flush=True)
    assert Tables(log_of(tmp_path).reader).read("upstream").num_rows == before == len(EVENTS)
    answers = AnswerTables(Driver(second, tmp_path / "wh").tables, build(second).answers)
    assert answers.with_coverage(answers.latest())["coverage"].to_pylist() == [1.0]


def test_other_tables_of_the_upstream_query_change_the_answers_below_it(tmp_path, begun):
    Driver(begun[1], tmp_path / "wh").run()
    shutil.rmtree(tmp_path / "wh" / "revenue")
    write(EVENTS[3:], tmp_path / "in" / "0.parquet")
    end_equals(begun, tmp_path / "wh")


def test_a_rebuilt_upstream_query_changes_the_answers_below_it(tmp_path, begun):
    Driver(begun[1], tmp_path / "wh").run(flush=True)
    fields = declarations(tmp_path / "in")[0]
    fields["aggregate"]["revenue"]["function"] = "max"
    fields["window"] = "2 min"
    rebuilt = declared_query(fields)
    Driver(begun[0], tmp_path / "wh").rebuild(rebuilt)
    end_equals([rebuilt, begun[1]], tmp_path / "wh")


def test_an_upstream_query_with_other_columns_is_refused(tmp_path, begun):
    Driver(begun[1], tmp_path / "wh").run(flush=True)
    fields = declarations(tmp_path / "in")[0]
    fields["aggregate"] = {"highest": {"function": "max", "column": "v"}}
    Driver(begun[0], tmp_path / "wh").rebuild(declared_query(fields))
    with pytest.raises(Refused, match=r"(?s)its answers have no column revenue.*another name for the query hourly"):
        Driver(begun[1], tmp_path / "wh").run()


def test_a_restored_upstream_query_that_has_run_on_loses_no_answer(tmp_path):
    queries, warehouse = chain(tmp_path / "in"), tmp_path / "wh"
    write(minutes(0, 5), tmp_path / "in" / "0.parquet")
    Driver(queries[0], warehouse).run()
    back_up(Driver(queries[0], warehouse).layout, tmp_path / "backup")
    write(minutes(5, 8), tmp_path / "in" / "1.parquet")
    Driver(queries[0], warehouse).run()
    Driver(queries[1], warehouse).run()
    shutil.rmtree(warehouse / "revenue")
    restore(tmp_path / "backup", warehouse)
    write(minutes(8, 30), tmp_path / "in" / "2.parquet")
    Driver(queries[0], warehouse).run()
    write(minutes(30, 40), tmp_path / "in" / "3.parquet")
    end_equals(queries, warehouse)


def test_an_upstream_log_that_was_cleaned_up_loses_no_answer(tmp_path):
    queries, warehouse = chain(tmp_path / "in"), tmp_path / "wh"
    for number in range(3):
        write(minutes(5 * number, 5 * number + 5), tmp_path / "in" / f"{number}.parquet")
        Driver(queries[0], warehouse).run()
        if not number:
            Driver(queries[1], warehouse).run()
    table = Tables(Driver(queries[0], warehouse).layout).open("results")
    table.create_checkpoint()
    for version in range(table.version()):
        (warehouse / "revenue" / "results" / "_delta_log" / f"{version:020d}.json").unlink()
    end_equals(queries, warehouse)


def test_old_commits_go_once_the_reader_has_read_all_before(tmp_path):
    first, second, _ = chain(tmp_path / "in")
    warehouse, reader = tmp_path / "wh", Layout(tmp_path / "wh" / "hourly")

    def refresh(number: int) -> list[str]:
        """Append to the log; returns its commits. They are all two days old."""
        write(minutes(5 * number, 5 * number + 5), tmp_path / "in" / f"{number}.parquet")
        Driver(first, warehouse).run()
        for commit in (reader.table("upstream") / "_delta_log").glob("*"):
            os.utime(commit, (1_000_000_000, 1_000_000_000))
        assert log_of(tmp_path).refresh() > 0
        return sorted(path.name for path in (reader.table("upstream") / "_delta_log").glob("*.json"))

    refresh(0)
    Driver(second, warehouse).run()
    short = {"delta.logRetentionDuration": "interval 1 hours", "delta.checkpointInterval": "1"}
    Tables(reader).open("upstream").alter.set_table_properties(short)
    assert len(refresh(1)) == 3
    Driver(second, warehouse).run()
    assert len(refresh(2)) < 4
    assert Driver(second, warehouse).run() == 1


def test_a_look_reads_no_file_of_other_windows(tmp_path, begun, monkeypatch):
    log = log_of(tmp_path)
    log.refresh()
    read = []
    monkeypatch.setattr(answer_log, "resolve_file", lambda *file: read.append(file) or resolve_file(*file))
    write(minutes(20, 25), tmp_path / "in" / "1.parquet")
    Driver(begun[0], tmp_path / "wh").run()  # its answers are of windows that the log does not have
    assert log.refresh() > 0
    assert read == []


def test_a_look_that_finds_no_answer_is_not_repeated(tmp_path, begun, monkeypatch):
    log = log_of(tmp_path)
    log.refresh()
    properties = {"delta.logRetentionDuration": "interval 96 hours"}
    Tables(log.upstream).open("results").alter.set_table_properties(properties)
    assert log.refresh() == 0
    monkeypatch.setattr(AnswerChanges, "affected", property(lambda _: pytest.fail("it is read again")))
    assert log.refresh() == 0


def test_a_restored_query_goes_on_in_its_chain(tmp_path, begun):
    first, second, _ = begun
    Driver(second, tmp_path / "wh").run()
    back_up(Driver(second, tmp_path / "wh").layout, tmp_path / "backup")
    shutil.rmtree(tmp_path / "wh" / "hourly")
    restore(tmp_path / "backup", tmp_path / "wh")
    late = [(START + 30_000, EVENTS[-1][1] + 1, 99, "a", 1_000)]
    write(late, tmp_path / "in" / "1.parquet")
    Driver(first, tmp_path / "wh").run(flush=True)
    correct_here(first, tmp_path / "wh")
    Driver(second, tmp_path / "wh").run(flush=True)
    correct_here(second, tmp_path / "wh")
    rows = AnswerTables(Driver(second, tmp_path / "wh").tables, build(second).answers).latest().to_pylist()
    assert [(row["revenue"], row["minutes"]) for row in rows] == [(sum(range(8)) + 1_000, 8)]


def test_an_upstream_query_that_is_misspelt_is_refused_by_its_name_before_anything_else(tmp_path, begun):
    fields = declarations(tmp_path / "in")[1]
    fields["streams"]["minutes"]["source"]["query"] = "revenu"
    with pytest.raises(Refused, match="query revenu has no answers yet") as refused:
        Driver(declared_query(fields), tmp_path / "wh").run()
    assert refused.value.problems[0].remedy == "tailrace run of revenu, first; or query: revenue"
    assert not (tmp_path / "wh" / "hourly" / "upstream").exists()


def test_an_upstream_query_without_answers_is_refused(tmp_path, begun):
    with pytest.raises(Refused, match="query hourly has no answers yet"):
        Driver(begun[2], tmp_path / "wh").run()


def waiting_feed(fields, tmp_path):
    """Open the stream of a live query that begins."""
    (feed,) = open_feeds(
        CompiledQuery.declare(declared_query(fields)), Layout(tmp_path / "wh" / fields["name"]), None, live=True
    ).values()
    assert feed.fresh() == []
    assert not feed.types
    return feed


def test_a_live_query_waits_until_its_upstream_has_begun(tmp_path):
    queries, fields = chain(tmp_path / "in"), declarations(tmp_path / "in")
    write(EVENTS, tmp_path / "in" / "0.parquet")
    feed = waiting_feed(fields[1], tmp_path)
    assert re.match(r"query revenue has no answers yet.* This run waits.*tailrace run of revenue, first", feed.problem)
    assert not (tmp_path / "wh").exists()
    Driver(queries[0], tmp_path / "wh").begin()
    assert feed.fresh() == []
    assert feed.problem is None
    Driver(queries[0], tmp_path / "wh").run()
    assert (
        sum(segment.rows for segment in feed.fresh())
        == Driver(queries[0], tmp_path / "wh").tables.read("results").num_rows
    )
    assert feed.types


def test_a_live_query_that_waits_ends_once_the_answers_of_its_upstream_are_no_stream(tmp_path):
    queries, fields = chain(tmp_path / "in"), declarations(tmp_path / "in")
    fields[1]["streams"]["minutes"]["key"] = "revenue"
    feed = waiting_feed(fields[1], tmp_path)
    write(EVENTS, tmp_path / "in" / "0.parquet")
    Driver(queries[0], tmp_path / "wh").run()
    with pytest.raises(Unfit, match="a correction of query revenue may change revenue"):
        feed.fresh()


def test_a_live_query_whose_upstream_is_gone_does_not_begin_again(tmp_path, begun):
    Driver(begun[1], tmp_path / "wh").run()
    shutil.rmtree(tmp_path / "wh" / "revenue")
    layout = Layout(tmp_path / "wh" / "hourly")
    with pytest.raises(Refused, match="query revenue has no answers yet"):
        open_feeds(CompiledQuery.declare(begun[1]), layout, layout.manifest(), live=True)


def test_a_cycle_is_refused(tmp_path, begun):
    Driver(begun[1], tmp_path / "wh").run()
    require_no_cycle(Layout(tmp_path / "wh" / "best"), "hourly")
    with pytest.raises(Refused, match="it reads its own answers: revenue → hourly → revenue"):
        require_no_cycle(Layout(tmp_path / "wh" / "revenue"), "hourly")


@pytest.mark.parametrize(
    ("key", "fault"),
    [
        ("revenue", "a correction of query revenue may change revenue"),
        ("country", "the answers of query revenue have no column country"),
    ],
)
def test_a_key_that_does_not_identify_answers_is_refused(tmp_path, begun, key, fault):
    fields = declarations(tmp_path / "in")[1]
    fields["streams"]["minutes"]["key"] = key
    with pytest.raises(Refused, match=fault):
        Driver(declared_query(fields), tmp_path / "wh").run()


@pytest.mark.parametrize(
    ("section", "change", "fault"),
    [
        ("stream", {"event_time": "as_of"}, "no time of the answers' windows"),
        ("stream", {"where": "revenue > 1"}, "could make a tuple"),
        ("stream", {"id": "k"}, "have their own"),
        ("stream", {"source": {"format": "tailrace", "query": "hourly"}}, "it reads its own answers"),
        ("query", {"disorder": {"policy": "none"}}, "count each version"),
        ("query", {"window": {"size": "1 h", "slide": "30 min"}}, "side by side"),
    ],
)
def test_what_would_count_versions_twice_is_refused(tmp_path, section, change, fault):
    fields = declarations(tmp_path)[1]
    (fields["streams"]["minutes"] if section == "stream" else fields).update(change)
    with pytest.raises(ValueError, match=fault):
        declared_query(fields)


def test_of_versions_the_newest_stands_unless_it_is_a_retraction():
    rows = [("x", 1, False), ("y", 2, False), ("x", 3, False), ("z", 4, False), ("y", 5, True)]
    ids, order, retracted = zip(*rows, strict=True)
    came = dict.fromkeys(("tick", "arrival_time", ARRIVAL_US, "position"), order)
    columns = {"id": ids, "retracted": retracted} | came
    tuples = pa.RecordBatch.from_pydict({name: list(column) for name, column in columns.items()})
    none = tuples[:0].select(["id", *came])
    assert counted(tuples, none).tolist() == [False, False, True, True, False]


def test_a_rebuild_keeps_the_log(tmp_path, begun):
    first, second, _ = begun
    warehouse = tmp_path / "wh"
    Driver(second, warehouse).run()
    fields = declarations(tmp_path / "in")[1]
    fields["aggregate"] |= {"best": {"function": "max", "column": "revenue"}}
    fields["aggregate"] |= {"all": {"function": "sum", "column": "tuples"}}  # a column that was not read before
    rebuilt = declared_query(fields)
    Driver(second, warehouse).rebuild(rebuilt)
    end_equals([first, rebuilt], warehouse)
    (row,) = latest(rebuilt, warehouse)
    assert (row["best"], row["all"]) == (7, 8)


def test_a_run_that_is_refused_leaves_nothing_to_the_next_one(tmp_path, begun):
    warehouse, fields = tmp_path / "wh", declarations(tmp_path / "in")
    other = declared_query(fields[0] | {"name": "others"})
    Driver(other, warehouse).run(flush=True)
    fields[1]["streams"]["minutes"] |= {"source": {"format": "tailrace", "query": "others"}, "key": "revenue"}
    with pytest.raises(Refused, match="may change revenue"):
        Driver(declared_query(fields[1]), warehouse).run()
    assert not (warehouse / "hourly" / "upstream").exists()
    AnswerLog(Layout(warehouse / "others"), Layout(warehouse / "hourly"), "upstream").refresh()  # then it was killed
    write(EVENTS[:2], tmp_path / "in" / "0.parquet")
    shutil.rmtree(warehouse / "revenue")
    Driver(begun[0], warehouse).run(flush=True)
    Driver(begun[1], warehouse).run(flush=True)
    assert Tables(Layout(warehouse / "hourly")).read("upstream").num_rows == 2
    end_equals(begun, warehouse)


def test_a_live_stream_that_the_silence_between_two_answers_closes_is_refused(tmp_path, begun):
    fields, layout = declarations(tmp_path / "in")[1], Layout(tmp_path / "wh" / "hourly")
    open_feeds(CompiledQuery.declare(declared_query(fields)), layout, None, live=True)
    del fields["disorder"]["idle"]
    open_feeds(CompiledQuery.declare(declared_query(fields)), layout, None, live=False)
    with pytest.raises(Refused, match="1 min of silence close the windows, and query revenue answers each 1 min"):
        open_feeds(CompiledQuery.declare(declared_query(fields)), layout, None, live=True)


@pytest.mark.parametrize(
    ("size", "idle", "longest"),
    [
        ("1 d", "24 h", "25 h"),
        ("1 month", "744 h", "745 h"),
        ("1 quarter", "2208 h", "2209 h"),
        ("1 year", "8784 h", "8785 h"),
    ],
)
def test_the_silence_between_two_answers_of_a_calendar_is_that_of_its_longest_window(tmp_path, size, idle, longest):
    fields, warehouse = declarations(tmp_path / "in"), tmp_path / "wh"
    fields[0]["window"] = {"size": size, "timezone": "Europe/Berlin"}
    write(EVENTS, tmp_path / "in" / "0.parquet")
    Driver(declared_query(fields[0]), warehouse).begin()
    fields[1]["disorder"]["idle"] = idle
    with pytest.raises(Refused, match=rf"(?s)answers each \w+, of up to {longest}\n.*more than {longest}"):
        open_feeds(CompiledQuery.declare(declared_query(fields[1])), Layout(warehouse / "hourly"), None, live=True)
    fields[1]["disorder"]["idle"] = f"{int(longest.split()[0]) + 1} h"
    open_feeds(CompiledQuery.declare(declared_query(fields[1])), Layout(warehouse / "hourly"), None, live=True)


def test_days_and_months_of_a_calendar_make_a_chain(tmp_path):
    fields, warehouse, zone = declarations(tmp_path / "in"), tmp_path / "wh", ZoneInfo("Europe/Berlin")
    for each, size in zip(fields, ("1 d", "1 month"), strict=False):
        each["window"] = {"size": size, "timezone": zone.key}
        each["disorder"]["k"] = "0 ms"
    queries = [declared_query(each) for each in fields[:2]]
    start = round(datetime(2026, 2, 25, tzinfo=UTC).timestamp() * 1000)
    times = [start + n * 6 * HOUR for n in range(4 * 70)]  # a day of 23 hours among them
    events = [(time, time + 10, n, "a", n) for n, time in enumerate(times)]
    late = (times[40], times[-1] + 20, len(times), "a", 10_000)
    write([*events, late], tmp_path / "in" / "0.parquet")
    for query in queries:
        Driver(query, warehouse).run(flush=True)
        correct_here(query, warehouse)
    truth: dict[tuple[int, int], list] = {}
    for time, *_, value in [*events, late]:
        local = datetime.fromtimestamp(time / 1000, zone)
        month = truth.setdefault((local.year, local.month), [0, set()])
        month[0] += value
        month[1].add(local.day)
    found = {}
    for row in latest(queries[1], warehouse):
        local = datetime.fromtimestamp(row["window_start"] / 1000, zone)
        assert (local.day, local.hour) == (1, 0)
        found[local.year, local.month] = (row["revenue"], row["minutes"])
    assert found == {month: (revenue, len(days)) for month, (revenue, days) in truth.items()}


def keyed_versions(*keys: str | None) -> pa.Table:
    rows = [{"key": key, "window_end": 1_000, "window_start": 0} for key in keys]
    return pa.Table.from_pylist(rows, pa.schema([("key", pa.string()), *_TIMES]))


_TIMES = (("window_end", pa.int64()), ("window_start", pa.int64()))


def test_answers_of_a_null_key_and_an_empty_one_are_two() -> None:
    assert answer_log._with_ids(keyed_versions("", None, "a"))["answer"].to_pylist() == ["1000/", "1000", "1000/a"]
