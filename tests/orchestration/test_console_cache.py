"""Answers of panels are kept as long as nothing that they were read from has changed, in bounded memory."""

from __future__ import annotations

import shutil
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from kit.runs.late_tables import LateTables
from kit.suite.waiting import PATIENCE_S
from tailrace.console import panel_cache
from tailrace.console.panel_cache import LackingAnswer, PanelCache, versions
from tailrace.ground.errors import Damaged, Problem


def test_an_answer_is_read_again_when_a_version_has_changed():
    cache, read = PanelCache(), []

    def get(version, key="a"):
        return cache.get((key,), lambda: (version,), lambda: read.append((key, version)) or f"{key}{version}".encode())

    assert [get(1), get(1), get(2), get(1, "b"), get(2)] == [b"a1", b"a1", b"a2", b"b1", b"a2"]
    assert read == [("a", 1), ("a", 2), ("b", 1)]


def test_the_oldest_answers_go_where_there_is_no_room():
    cache, read = PanelCache(most_bytes=30), []
    for key in "abcab":
        cache.get((key,), lambda: (1,), lambda key=key: read.append(key) or bytes(14))
    assert read == list("abcab"), "two fit, and the third takes the place of the oldest"
    assert cache.get(("b",), lambda: (1,), lambda: b"again") == bytes(14)
    assert len(cache.get(("large",), lambda: (1,), lambda: bytes(31))) == 31, "it is answered, and not kept"


def test_a_read_that_a_compaction_has_overtaken_is_tried_again():
    now, tries = [1], []

    def read():
        tries.append(now[0])
        if now[0] == 1:
            now[0] = 2
            raise Damaged([Problem("late", "a file is gone", "a backup")])
        return b"whole"

    assert PanelCache().get(("a",), lambda: tuple(now), read) == b"whole"
    assert tries == [1, 2]


def test_an_answer_that_lacks_something_is_not_kept():
    answers = [LackingAnswer(b"late is damaged"), b"whole"]
    cache = PanelCache()
    assert [cache.get(("a",), lambda: (1,), lambda: answers.pop(0)) for _ in range(3)] == [
        b"late is damaged",
        b"whole",
        b"whole",
    ]


def test_an_answer_that_lacks_something_is_read_again_where_a_version_has_changed_meanwhile():
    now, tries = [1], []

    def read():
        tries.append(now[0])
        now[0] = 2
        return LackingAnswer(b"late is damaged") if tries == [1] else b"whole"

    assert PanelCache().get(("a",), lambda: tuple(now), read) == b"whole"
    assert tries == [1, 2]


def test_a_damaged_table_is_refused():
    def read():
        raise Damaged([Problem("late", "a file is gone", "a backup")])

    with pytest.raises(Damaged):
        PanelCache().get(("a",), lambda: (1,), read)


def test_a_version_changes_with_a_table_a_file_and_the_query_file(layout, place):
    file, query = layout.home / "_stream" / "deployed.json", place / "queries" / "readings.yaml"

    def now():
        return versions(layout, ("late", "quality"), ("_stream/deployed.json",), query)

    found, tables = [now()], LateTables(layout)
    found.append(now())
    tables.late((1, 1))
    found.append(now())
    file.parent.mkdir(exist_ok=True)
    file.write_text("{}")
    found.append(now())
    query.write_text("name: other")
    found.append(now())
    assert len(set(found)) == len(found)
    assert now() == now()


def test_a_kept_answer_does_not_wait_for_those_that_read():
    cache, go = PanelCache(wait_s=PATIENCE_S), threading.Event()
    assert cache.get(("kept",), lambda: (1,), lambda: b"kept") == b"kept"
    with ThreadPoolExecutor(panel_cache.AT_ONCE) as pool:
        begun = threading.Barrier(panel_cache.AT_ONCE + 1)

        def read():
            begun.wait(PATIENCE_S)
            go.wait(PATIENCE_S)
            return b"slow"

        slow = [pool.submit(cache.get, (number,), lambda: (1,), read) for number in range(panel_cache.AT_ONCE)]
        begun.wait(PATIENCE_S)
        try:
            assert cache.get(("kept",), lambda: (1,), lambda: b"again") == b"kept"
            short = PanelCache(wait_s=0.0)
            short._readers = cache._readers
            with pytest.raises(TimeoutError, match="take long"):
                short.get(("other",), lambda: (1,), lambda: b"other")
        finally:
            go.set()
        assert [each.result(PATIENCE_S) for each in slow] == [b"slow"] * panel_cache.AT_ONCE


def test_long_keys_count():
    cache = PanelCache(most_bytes=100)
    for number in range(9):
        cache.get((f"{number}" * 60,), lambda: (1,), lambda: b"1")
        assert sum(len(key[0]) for key in cache._answers) <= 100


def test_a_table_that_begins_again_has_another_version(layout):
    LateTables(layout)
    before = versions(layout, ("late",))
    shutil.rmtree(layout.table("late"))
    LateTables(layout)
    after = versions(layout, ("late",))
    assert before[0][0] == after[0][0]
    assert before != after
