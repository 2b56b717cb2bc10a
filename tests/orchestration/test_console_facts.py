"""What tables say of a query: read in the background, kept until they change, never waited for longer than asked."""

from __future__ import annotations

import threading
import time
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import replace
from types import SimpleNamespace

import pytest

from kit.runs.late_tables import SCHEMA, LateTables
from kit.suite.waiting import PATIENCE_S, until
from tailrace.console import facts_cache, table_facts
from tailrace.console.facts_cache import FactsCache
from tailrace.console.stream_rows import StreamRow, StreamStateRow, with_tables
from tailrace.console.table_facts import TableFacts
from tailrace.correction.promise_state import PromiseState
from tailrace.storage.layout import Layout
from tailrace.storage.status import SILENT_MS, Status, wall_ms


@pytest.fixture
def reads(monkeypatch):
    """The readings so far; each gives their number, once it may."""
    reads, may = [], threading.Event()
    may.set()

    def read(layout):
        may.wait(PATIENCE_S)
        reads.append(layout.home.name)
        return TableFacts(late_hour=len(reads))

    monkeypatch.setattr(TableFacts, "read", staticmethod(read))
    pools = []
    monkeypatch.setattr(
        facts_cache, "ThreadPoolExecutor", lambda *each: pools.append(ThreadPoolExecutor(*each)) or pools[-1]
    )
    yield {"reads": reads, "may": may}
    may.set()
    for pool in pools:
        pool.shutdown()  # what one test has begun to read, the next one would count


def late(kept, layout, wait_s=PATIENCE_S):
    facts = kept.get(layout, wait_s)
    return None if facts is None else facts.late_hour


def test_facts_are_kept(reads, layout):
    kept = FactsCache(PATIENCE_S, 0.0)
    assert [late(kept, layout) for _ in range(3)] == [1, 1, 1]
    assert len(reads["reads"]) == 1


def look_back(kept, layout, age_s):
    """Let a query's tables have been read, and looked at, so long ago."""
    of_query, then = kept._kept[layout.home], time.monotonic() - age_s
    of_query.newest, of_query.looked_s = replace(of_query.newest, seen_s=then, read_s=then), then


def test_old_facts_are_given_with_their_age_and_read_again_beside(reads, layout):
    kept = FactsCache(0.0, 0.0)
    assert late(kept, layout) == 1
    look_back(kept, layout, 40)
    reads["may"].clear()
    first, second = kept.get(layout, 0.0), kept.get(layout, 0.0)
    assert [first.late_hour, second.late_hour] == [1, 1], "who does not wait for the new ones"
    assert first.facts_age_ms >= 40_000
    reads["may"].set()
    kept._kept[layout.home].look.result(PATIENCE_S)
    assert len(reads["reads"]) == 2, "one reading at a time"
    facts = kept.get(layout, PATIENCE_S)
    assert facts.late_hour == 3, "at each call, if they are to be fresh"
    assert facts.facts_age_ms < 40_000


def test_facts_hold_until_their_tables_change(layout):
    tables, now, kept = LateTables(layout), wall_ms(), FactsCache(PATIENCE_S, 0.0)
    tables.commit(now)
    tables.late((now - 1_000, 5))
    before = kept.get(layout, PATIENCE_S)
    assert (before.uncorrected, before.last_correction) == (1, None)
    newest = kept._kept[layout.home].newest.facts
    kept.get(layout, PATIENCE_S)
    assert kept._kept[layout.home].newest.facts is newest, "nothing was read again"
    look_back(kept, layout, 40)
    same = kept.get(layout, PATIENCE_S)
    assert kept._kept[layout.home].newest.facts is newest
    assert same.facts_age_ms < 40_000, "the tables were seen unchanged"
    tables.late((now - 500, 9))
    tables.run(0, 5)
    after = kept.get(layout, PATIENCE_S)
    assert after.uncorrected == 2, "a minute is not waited for"
    assert after.last_correction is not None


def test_damage_that_is_met_during_a_look_is_looked_for_at_the_next_call(layout, monkeypatch):
    kept, reads = FactsCache(PATIENCE_S, 0.0), []

    def read(layout):
        if not reads:
            kept.forget(layout)  # as a part does that meets damage meanwhile
        reads.append(layout)
        return TableFacts(late_hour=len(reads))

    monkeypatch.setattr(TableFacts, "read", staticmethod(read))
    assert late(kept, layout) == 1
    assert late(kept, layout) == 2, "at once, and not after a minute"
    assert late(kept, layout) == 2


def test_tables_that_take_long_rest_so_that_a_stream_that_commits_each_second_does_not_keep_readers_busy(
    reads, layout, monkeypatch
):
    kept = FactsCache(fresh_s=0.0)
    assert late(kept, layout) == 1
    of_query = kept._kept[layout.home]
    of_query.newest = replace(of_query.newest, took_s=0.6)
    look_back(kept, layout, 9)
    resting = kept.get(layout, PATIENCE_S)
    assert resting.late_hour == 1
    assert resting.facts_age_ms >= 9_000, "as it may have changed since"
    look_back(kept, layout, 11)
    assert late(kept, layout) == 2, "after twenty times of what was more than a tenth of a second"
    of_query.newest = replace(of_query.newest, took_s=0.6)
    kept.forget(layout)
    assert late(kept, layout) == 3, "who met damage does not wait"
    of_query.newest = replace(of_query.newest, took_s=90.0)
    look_back(kept, layout, 119)
    assert late(kept, layout) == 3
    look_back(kept, layout, 121)
    assert late(kept, layout) == 4, "no rest is longer than two minutes, as facts live for five"


def test_the_files_of_tables_that_rest_are_looked_at(layout):
    LateTables(layout).commit(5)
    kept = FactsCache(fresh_s=0.0)
    kept.get(layout, PATIENCE_S)
    of_query = kept._kept[layout.home]
    of_query.newest = replace(of_query.newest, took_s=90.0, versions=None)
    before = of_query.newest.facts
    cut(layout, "metrics")
    facts = kept.get(layout, PATIENCE_S)
    assert of_query.newest.facts is before
    assert len(facts.damaged) == 1


def test_what_could_not_be_read_does_not_rest(layout, monkeypatch):
    LateTables(layout).commit(5)
    faults = [OSError("the store is away for a moment")]

    def read(*_):
        if faults:
            raise faults.pop()
        return PromiseState("broken", "by much")

    monkeypatch.setattr(table_facts.PromiseState, "read", read)
    kept = FactsCache(PATIENCE_S, 1e6)
    facts = kept.get(layout, PATIENCE_S)
    assert (facts.promise.state, facts.is_unreadable, facts.note) == ("unknown", True, "the store is away for a moment")
    facts = kept.get(layout, PATIENCE_S)
    assert (facts.promise.state, facts.is_unreadable, facts.note) == ("broken", False, None)


def test_what_has_nothing_of_the_last_hour_does_not_change_by_itself(layout):
    LateTables(layout).commit(5)
    kept = FactsCache(0.0, 0.0)
    kept.get(layout, PATIENCE_S)
    before = kept._kept[layout.home].newest
    kept.get(layout, PATIENCE_S)
    after = kept._kept[layout.home].newest
    assert after.facts is before.facts
    assert after.checked_s > before.checked_s, "its files are looked at all the same"


def test_tables_speak_for_a_driver_that_says_no_more(layout):
    layout.stream.mkdir(parents=True, exist_ok=True)
    LateTables(layout).commit(5)
    Status("streaming", 1, 0, wall_ms(), 1).write(layout)
    kept = FactsCache(PATIENCE_S, 0.0)
    facts = kept.get(layout, PATIENCE_S)
    assert facts.numbers == {}, "it speaks for itself"
    Status("streaming", 1, 0, wall_ms() - SILENT_MS, 1).write(layout)
    facts = kept.get(layout, PATIENCE_S)
    assert facts.numbers["batches"] == 1


def test_nobody_waits_longer_than_asked(reads, layout):
    reads["may"].clear()
    kept = FactsCache()
    assert late(kept, layout, wait_s=0.0) is None
    reads["may"].set()
    assert late(kept, layout) == 1


def test_the_number_of_queries_is_bounded(reads, layout, place, monkeypatch):
    monkeypatch.setattr(facts_cache, "MOST_QUERIES", 3)
    kept = FactsCache()
    for number in range(9):
        late(kept, Layout.for_query(place / "warehouse", f"q{number}"))
        assert len(kept._kept) <= 4


def test_many_queries_are_read_one_at_a_time_so_one_that_is_asked_for_is_not_behind_them(reads, layout, place):
    kept, many = FactsCache(), [Layout.for_query(place / "warehouse", f"q{number}") for number in range(9)]
    reads["may"].clear()
    kept.read_behind([], many)
    kept.read_behind([], many)
    until(lambda: kept._kept)
    time.sleep(0.2)  # a queue that did not wait would be through by then
    assert list(kept._kept) == [many[0].home], "the others are no work of the readers yet"
    assert kept.get(layout, 0.0) is None
    reads["may"].set()
    until(lambda: all(kept.known(each) is not None for each in (layout, *many)))
    assert sorted(reads["reads"]) == sorted([layout.home.name, *(each.home.name for each in many)]), "each once"
    kept.read_behind([], many)
    assert len(reads["reads"]) == 10, "for a minute"


def test_queries_that_are_shown_are_read_first(reads, layout, place):
    kept, many = FactsCache(), [Layout.for_query(place / "warehouse", f"q{number}") for number in range(4)]
    kept.read_behind([many[2]], many)
    until(lambda: len(reads["reads"]) == 4)
    assert reads["reads"] == ["q2", "q0", "q1", "q3"]


def test_no_query_is_passed_over_for_those_that_are_shown(reads, layout, place):
    kept = FactsCache(fresh_s=0.0, rests=0.0, look_again_s=0.0)
    many = [Layout.for_query(place / "warehouse", f"q{number}") for number in range(6)]
    kept._is_reading = True  # this test takes the place of the thread
    for _ in many:
        kept.read_behind(many[:3], many)  # as a page does that asks again before all were read
        assert kept._read_next()
    assert reads["reads"] == ["q0", "q1", "q2", "q3", "q4", "q5"]


def test_a_look_that_hangs_does_not_keep_the_others_waiting(reads, layout, place, monkeypatch):
    monkeypatch.setattr(facts_cache, "HANGS_S", 0.05)
    kept, hung = FactsCache(), Layout.for_query(place / "warehouse", "q0")
    of_hung = kept._kept.setdefault(hung.home, facts_cache._Kept(hung))
    of_hung.look = Future()
    kept.read_behind([hung], [layout])
    until(lambda: kept.known(layout) is not None)


def test_reading_behind_begins_again_after_a_failure(reads, layout, place, monkeypatch):
    kept, other = FactsCache(), Layout.for_query(place / "warehouse", "q0")
    with monkeypatch.context() as patch:
        patch.setattr(facts_cache, "time", SimpleNamespace(monotonic=time.monotonic, sleep=lambda _: 1 / 0))
        kept.read_behind([layout], [])
        until(lambda: not kept._is_reading)
    kept.read_behind([other], [])
    until(lambda: kept.known(other) is not None)


def test_between_two_looks_there_is_as_long_a_pause_but_not_before_the_first_facts(reads, layout, monkeypatch):
    pauses = []
    monkeypatch.setattr(facts_cache, "time", SimpleNamespace(monotonic=time.monotonic, sleep=pauses.append))
    kept = FactsCache(0.0, 0.0, 0.0)
    for _ in range(2):
        kept.read_behind([layout], [])
        until(lambda: not kept._is_reading)
    assert pauses[0] == 0.0
    assert pauses[1] > 0.0


def test_what_is_shown_is_looked_at_sooner(reads, layout):
    kept = FactsCache(fresh_s=60.0, rests=0.0, look_again_s=10.0)
    assert late(kept, layout) == 1
    look_back(kept, layout, 20)
    kept.read_behind([], [layout])
    until(lambda: not kept._is_reading)
    assert kept._kept[layout.home].newest.seen_s < time.monotonic() - 15
    kept.read_behind([layout], [layout])
    until(lambda: kept._kept[layout.home].newest.seen_s > time.monotonic() - 15)


def test_nothing_is_read_behind_a_request_that_is_answered(reads, layout, monkeypatch):
    monkeypatch.setattr(facts_cache, "GIVES_WAY_S", PATIENCE_S)  # else for a moment alone
    kept = FactsCache()
    with kept.answering():
        with kept.answering():
            kept.read_behind([], [layout])
        time.sleep(0.2)  # one that does not wait would be through by then
        assert reads["reads"] == []
        assert late(kept, layout) == 1, "what the request itself waits for is read"
    until(lambda: not kept._is_reading)


def test_the_last_hour_is_that_of_the_reading_and_not_of_arrival(layout):
    """A backlog arrived long ago; a rejected record may have no arrival time at all."""
    now = wall_ms()
    tables = LateTables(layout)
    tables.late((now - 9_000_000, 5))
    tables.read_at((now - 7_200_000, 1, 2), (now - 3_000_000, 4, 8), (now - 1_000, 16, 32))
    tables.commit(5)  # a batch without rows
    tables.run(0, 5)
    facts = TableFacts.read(layout)
    assert (facts.late_hour, facts.quarantined_hour, facts.promise.state) == (4 + 16, 8 + 32, "unknown")
    assert facts.last_correction is not None


def test_a_stream_that_has_read_nothing_for_an_hour_has_none_of_it(layout):
    LateTables(layout).read_at((wall_ms() - 7_200_000, 1, 2))
    facts = TableFacts.read(layout)
    assert (facts.late_hour, facts.quarantined_hour) == (0, 0)


def test_before_the_stream_has_its_tables_the_last_hour_is_unknown(layout):
    facts = TableFacts.read(layout)
    assert (facts.late_hour, facts.quarantined_hour, facts.note) == (None, None, None)


def files_of(layout, name):
    return sorted(layout.table(name).glob("*.parquet"))


def cut(layout, name):
    (file, *_) = files_of(layout, name)
    file.write_bytes(file.read_bytes()[:10])
    return file


def test_a_damaged_table_costs_the_facts_that_need_it_and_is_named(layout):
    tables = LateTables(layout)
    tables.late((wall_ms() - 1_000, 5))
    tables.commit(wall_ms())
    tables.run(0, 5)
    file = cut(layout, "late")
    facts = TableFacts.read(layout)
    assert (facts.uncorrected, facts.note, facts.is_unreadable) == (None, None, False)
    assert facts.last_correction is not None
    (damaged,) = facts.damaged
    assert (damaged.where, damaged.fields) == (str(file), ["uncorrected"])
    assert "10 bytes" in damaged.fault
    assert damaged.remedy.startswith("Run tailrace drain readings")


def test_a_table_that_no_fact_needs_is_named_once_it_is_damaged_until_it_is_whole(layout):
    tables = LateTables(layout)
    tables.tables.create({"facts": SCHEMA["facts"]})
    tables._add("facts", [{"version": 1}])
    kept = FactsCache(PATIENCE_S, 0.0)
    facts = kept.get(layout, PATIENCE_S)
    assert facts.damaged == ()
    (file,) = files_of(layout, "facts")
    whole = file.read_bytes()
    cut(layout, "facts")
    kept.forget(layout)
    for _ in range(2):
        facts = kept.get(layout, PATIENCE_S)
        (damaged,) = facts.damaged
        assert (damaged.where, damaged.fields) == (str(file), [])
    file.write_bytes(whole)
    facts = kept.get(layout, PATIENCE_S)
    assert facts.damaged == (), "what is damaged is looked at again at each call"


def test_files_are_looked_at_once_a_minute(layout):
    LateTables(layout).commit(5)
    kept = FactsCache(0.0, 0.0)
    kept.get(layout, PATIENCE_S)
    cut(layout, "metrics")
    facts = kept.get(layout, PATIENCE_S)
    assert len(facts.damaged) == 1


def test_a_table_that_is_damaged_twice_is_named_once(layout):
    tables = LateTables(layout)
    tables.commit(wall_ms())
    tables.late((wall_ms() - 1_000, 5))
    file = cut(layout, "late")
    facts = FactsCache().get(layout, PATIENCE_S)
    assert [(each.where, each.fields) for each in facts.damaged] == [(str(file), ["uncorrected"])]


def test_a_driver_that_reports_is_newer_than_what_was_read_of_the_tables(layout):
    """The tables were read before it was deployed again."""
    old = TableFacts(numbers={"batches": 3, "committed": 30, "frontier": 20, "k_ms": 2_000})
    state = StreamStateRow(word="running", tone="good", why=None)
    row = StreamRow(name="q", kind=None, file=None, state=state, batches=4, committed=40, frontier=30, k_ms=3_200)
    assert (with_tables(row, old).k_ms, with_tables(row, old).committed) == (3_200, 40)
    killed = row.model_copy(update={"batches": 2, "report_age_ms": 3_600_000})
    found = with_tables(killed, old.model_copy(update={"facts_age_ms": 2_000}))
    assert (found.k_ms, found.committed, found.report_age_ms) == (2_000, 30, 2_000)


def test_facts_that_fail_in_any_way_become_a_note(layout, monkeypatch):
    def failing(*_):
        raise KeyError("bucket_start")

    monkeypatch.setattr(table_facts, "wall_ms", failing)
    facts = TableFacts.read(layout)
    assert "bucket_start" in facts.note
    assert facts.is_unreadable
    assert facts.promise.state == "unknown"


def test_a_promise_that_can_not_be_read_is_unknown(layout, monkeypatch):
    def failing(*_):
        raise KeyError("bucket_start")

    monkeypatch.setattr(table_facts.PromiseState, "read", failing)
    facts = TableFacts.read(layout)
    assert (facts.promise.state, facts.promise.detail) == ("unknown", "'bucket_start'")
    assert facts.is_unreadable, "so that it is read again"


def test_facts_of_last_night_are_waited_for(reads, layout):
    kept = FactsCache(0.0, 0.0)
    assert late(kept, layout) == 1
    look_back(kept, layout, facts_cache.OLD_S)
    assert kept.known(layout) is None
    assert late(kept, layout) == 2
