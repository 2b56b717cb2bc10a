"""The files that a query's tables name are there, and whole; a table is opened again only if its log has changed."""

from __future__ import annotations

import shutil

import pytest

from kit.runs.late_tables import SCHEMA, LateTables
from tailrace.storage import file_check
from tailrace.storage.file_check import FileCheck
from tailrace.storage.layout import Layout
from tailrace.storage.tables import Tables

NAMES = ("late", "metrics", "correction_runs")


@pytest.fixture
def tables(tmp_path) -> LateTables:
    tables = LateTables(Layout.for_query(tmp_path, "readings"))
    tables.late((1, 1))
    tables.run(0, 5)
    tables.commit(5)
    return tables


@pytest.mark.parametrize("name", NAMES)
def test_each_table_with_a_cut_or_lost_file_is_named_with_its_repair(tables, name):
    check = FileCheck(tables.layout)
    assert check.problems() == []
    (file,) = tables.layout.table(name).glob("*.parquet")
    file.write_bytes(file.read_bytes()[:-1])
    (problem,) = check.problems()
    assert problem.where == str(file)
    assert "it is damaged: it has" in problem.fault
    assert "mv " in problem.remedy
    file.unlink()
    (problem,) = check.problems()
    assert problem.fault == "it is lost, though the table names it"


@pytest.mark.parametrize("name", NAMES)
def test_a_cut_or_lost_log_is_named(tables, name):
    check = FileCheck(tables.layout)
    assert check.problems() == []
    log = tables.layout.table(name) / "_delta_log"
    (*_, last) = sorted(log.glob("*.json"))
    last.write_text(last.read_text()[:40])
    (problem,) = check.problems()
    assert problem.where == str(log)
    assert "a part of its log is lost or damaged" in problem.fault
    shutil.rmtree(log)
    (problem,) = check.problems()
    assert problem.fault == "the table's log is lost"


def test_a_table_is_opened_again_only_if_its_log_has_changed(tables, monkeypatch):
    opened, open_table = [], Tables.open

    def counting(self, name):
        opened.append(name)
        return open_table(self, name)

    monkeypatch.setattr(Tables, "open", counting)
    check = FileCheck(tables.layout)
    check.problems()
    assert sorted(opened) == sorted(NAMES)
    check.problems()
    assert len(opened) == len(NAMES)
    tables.tables.add("late", tables.tables.read("late").cast(SCHEMA["late"]))
    opened.clear()
    assert check.problems() == []
    assert opened == ["late"]


def test_a_file_that_a_compaction_has_just_removed_is_no_damage(tables, monkeypatch):
    check, layout = FileCheck(tables.layout), tables.layout
    check.problems()
    tables.late((2, 2))
    check.problems()
    log, lost_file = layout.table("late") / "_delta_log", file_check.lost_file

    def compacting(layout, name, named):
        if name == "late" and not list(log.glob("*.checkpoint.parquet")):
            old = list(layout.table("late").glob("*.parquet"))
            tables.tables.compact(["late"])
            for file in old:
                file.unlink(missing_ok=True)
        return lost_file(layout, name, named)

    monkeypatch.setattr(file_check, "lost_file", compacting)
    assert check.problems() == []


def test_what_was_moved_away_and_other_directories_are_no_tables(tables):
    late = tables.layout.table("late")
    for file in late.glob("*.parquet"):
        file.unlink()
    late.rename(late.with_name("late.damaged"))
    (tables.layout.home / "_stream").mkdir()
    assert FileCheck(tables.layout).problems() == []
    assert FileCheck(Layout.for_query(tables.layout.home, "nobody")).problems() == []
