"""What tables say of a query: read in the background, kept until they change, never waited for longer than asked."""

from __future__ import annotations

import threading
import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pyarrow as pa
import pytest

from late_tables import SCHEMA, LateTables
from tailrace.console import table_facts
from tailrace.console.table_facts import KeptFacts, TableFacts
from tailrace.ground.times import with_times
from tailrace.storage.layout import Layout
from tailrace.storage.status import wall_ms
from waiting import PATIENCE_S, until


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
        table_facts, "ThreadPoolExecutor", lambda *each: pools.append(ThreadPoolExecutor(*each)) or pools[-1]
    )
    yield {"reads": reads, "may": may}
    may.set()
    for pool in pools:
        pool.shutdown()  # what one test has begun to read, the next one would count


def late(kept, layout, wait_s=PATIENCE_S):
    (facts,) = kept.get([layout], wait_s)
    return None if facts is None else facts.late_hour


def test_facts_are_kept(reads, layout):
    kept = KeptFacts(fresh_s=PATIENCE_S)
    assert [late(kept, layout) for _ in range(3)] == [1, 1, 1]
    assert len(reads["reads"]) == 1


def look_back(kept, layout, age_s):
    """Let a query's tables have been looked at so long ago."""
    of_query = kept._kept[layout.home]
    of_query.newest = replace(of_query.newest, seen_s=time.monotonic() - age_s)


def test_old_facts_are_given_with_their_age_and_read_again_beside(reads, layout):
    kept = KeptFacts(fresh_s=0.0)
    assert late(kept, layout) == 1
    look_back(kept, layout, 40)
    reads["may"].clear()
    (first,), (second,) = kept.get([layout], 0.0), kept.get([layout], 0.0)
    assert [first.late_hour, second.late_hour] == [1, 1], "who does not wait for the new ones"
    assert first.facts_age_ms >= 40_000
    reads["may"].set()
    kept._kept[layout.home].reading.result(PATIENCE_S)
    assert len(reads["reads"]) == 2, "one reading at a time"
    (facts,) = kept.get([layout], PATIENCE_S)
    assert facts.late_hour == 3, "at each call, if they are to be fresh"
    assert facts.facts_age_ms < 40_000


def test_facts_hold_until_their_tables_change(layout):
    tables, now, kept = LateTables(layout), wall_ms(), KeptFacts(fresh_s=PATIENCE_S)
    tables.late((now - 1_000, 5))
    (before,) = kept.get([layout], PATIENCE_S)
    assert (before.late_hour, before.last_correction) == (1, None)
    newest = kept._kept[layout.home].newest.facts
    kept.get([layout], PATIENCE_S)
    assert kept._kept[layout.home].newest.facts is newest, "nothing was read again"
    look_back(kept, layout, 40)
    (same,) = kept.get([layout], PATIENCE_S)
    assert kept._kept[layout.home].newest.facts is newest
    assert same.facts_age_ms < 40_000, "the tables were seen unchanged"
    tables.late((now - 500, 9))
    tables.run(0, 5)
    (after,) = kept.get([layout], PATIENCE_S)
    assert after.late_hour == 2, "a minute is not waited for"
    assert after.last_correction is not None


def test_nobody_waits_longer_than_asked(reads, layout):
    reads["may"].clear()
    kept = KeptFacts()
    assert late(kept, layout, wait_s=0.0) is None
    reads["may"].set()
    assert late(kept, layout) == 1


def test_the_number_of_queries_is_bounded(reads, layout, place, monkeypatch):
    monkeypatch.setattr(table_facts, "_MOST_QUERIES", 3)
    kept = KeptFacts()
    for number in range(9):
        late(kept, Layout.of(place / "warehouse", f"q{number}"))
        assert len(kept._kept) <= 4


def test_many_queries_are_read_one_at_a_time_so_one_that_is_asked_for_is_not_behind_them(reads, layout, place):
    kept, many = KeptFacts(), [Layout.of(place / "warehouse", f"q{number}") for number in range(9)]
    reads["may"].clear()
    kept.read_behind(many)
    kept.read_behind(many)
    until(lambda: kept._kept)
    time.sleep(0.2)  # a queue that did not wait would be through by then
    assert list(kept._kept) == [many[0].home], "the others are no work of the readers yet"
    assert kept.get([layout], 0.0) == [None]
    reads["may"].set()
    until(lambda: all(kept.known(each) is not None for each in (layout, *many)))
    assert sorted(reads["reads"]) == sorted([layout.home.name, *(each.home.name for each in many)]), "each once"
    kept.read_behind(many)
    assert len(reads["reads"]) == 10, "for a minute"


def test_the_last_hour_alone_counts(layout):
    now = wall_ms()
    tables = LateTables(layout)
    tables.late((now - 1_000, 5), (now - 7_200_000, 5), (now - 1_000, 9))
    tables.run(0, 5)
    facts = TableFacts.read(layout)
    assert (facts.late_hour, facts.quarantined_hour, facts.promise.state) == (2, None, "unknown")
    assert facts.last_correction is not None


def test_records_without_an_arrival_time_make_the_count_unknown(layout, monkeypatch):
    tables = LateTables(layout).tables
    tables.create(SCHEMA, ["quarantine"])
    now = wall_ms()
    rows = [dict.fromkeys(SCHEMA["quarantine"].names) | {"arrival_time": at} for at in (now - 1_000, now)]
    tables.add("quarantine", with_times(pa.Table.from_pylist(rows), SCHEMA["quarantine"]))
    assert TableFacts.read(layout).quarantined_hour == 2
    rows[0]["arrival_time"] = None
    tables.add("quarantine", with_times(pa.Table.from_pylist(rows), SCHEMA["quarantine"]))
    facts = TableFacts.read(layout)
    assert facts.quarantined_hour is None
    assert facts.note == "quarantined in the last hour is not known: 1 record without a readable arrival time"
    monkeypatch.setattr(table_facts, "wall_ms", lambda: now + 2 * table_facts.HOUR_MS)
    assert (TableFacts.read(layout).quarantined_hour, TableFacts.read(layout).note) == (0, None)


def files_of(layout, name):
    return sorted(layout.table(name).glob("*.parquet"))


def cut(layout, name):
    (file, *_) = files_of(layout, name)
    file.write_bytes(file.read_bytes()[:10])
    return file


def test_a_damaged_table_costs_the_facts_that_need_it_and_is_named(layout):
    tables = LateTables(layout)
    tables.late((wall_ms() - 1_000, 5))
    tables.run(0, 5)
    file = cut(layout, "late")
    facts = TableFacts.read(layout)
    assert (facts.late_hour, facts.note, facts.is_unreadable) == (None, None, False)
    assert facts.last_correction is not None
    (damaged,) = facts.damaged
    assert (damaged.where, damaged.fields) == (str(file), ["late_hour"])
    assert "10 bytes" in damaged.fault
    assert damaged.remedy.startswith("tailrace drain readings")


def test_a_table_that_no_fact_needs_is_named_once_it_is_damaged_until_it_is_whole(layout):
    LateTables(layout).commit(5)
    kept = KeptFacts(fresh_s=PATIENCE_S)
    (facts,) = kept.get([layout], PATIENCE_S)
    assert facts.damaged == ()
    (file,) = files_of(layout, "metrics")
    whole = file.read_bytes()
    cut(layout, "metrics")
    kept.forget(layout)
    for _ in range(2):
        (facts,) = kept.get([layout], PATIENCE_S)
        (damaged,) = facts.damaged
        assert (damaged.where, damaged.fields) == (str(file), [])
    file.write_bytes(whole)
    (facts,) = kept.get([layout], PATIENCE_S)
    assert facts.damaged == (), "what is damaged is looked at again at each call"


def test_files_are_looked_at_once_a_minute(layout):
    LateTables(layout).commit(5)
    kept = KeptFacts(fresh_s=0.0)
    kept.get([layout], PATIENCE_S)
    cut(layout, "metrics")
    (facts,) = kept.get([layout], PATIENCE_S)
    assert len(facts.damaged) == 1


def test_a_table_that_is_damaged_twice_is_named_once(layout):
    LateTables(layout).late((wall_ms() - 1_000, 5))
    file = cut(layout, "late")
    (facts,) = KeptFacts().get([layout], PATIENCE_S)
    assert [(each.where, each.fields) for each in facts.damaged] == [(str(file), ["late_hour"])]


def test_facts_that_fail_in_any_way_become_a_note(layout, monkeypatch):
    def failing(*_):
        raise KeyError("bucket_start")

    monkeypatch.setattr(table_facts, "_read", failing)
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


def test_facts_of_last_night_are_waited_for(reads, layout):
    kept = KeptFacts(fresh_s=0.0)
    assert late(kept, layout) == 1
    look_back(kept, layout, table_facts._OLD_S)
    assert kept.known(layout) is None
    assert late(kept, layout) == 2
