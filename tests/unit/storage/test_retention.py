"""Removed files of a table stay for a week, or less where they are very many; what somebody has set stays as it is."""

from __future__ import annotations

import os
import time

import pyarrow as pa
import pytest
from deltalake import DeltaTable

from tailrace.storage import retention
from tailrace.storage.layout import Layout
from tailrace.storage.tables import Tables

ROWS = pa.table({"x": [1]})
HOUR_S = 3600


@pytest.fixture
def tables(tmp_path) -> Tables:
    tables = Tables(Layout(tmp_path / "query"))
    tables.create({"late": ROWS.schema})
    return tables


def hours_of(tables: Tables) -> set[str]:
    return {*DeltaTable(tables.layout.table("late")).metadata().configuration.values()}


def files(tables: Tables) -> int:
    return len([*tables.layout.table("late").glob("*.parquet")])


def test_removed_files_stay_for_seven_days(tables):
    for _ in range(4):
        tables.add("late", ROWS)
    tables.compact(["late"])
    assert hours_of(tables) == {"interval 168 hours"}
    assert files(tables) == 5
    assert tables.read("late").num_rows == 4


def test_of_very_many_removed_files_the_oldest_go_earlier_but_none_within_an_hour(tables, monkeypatch):
    monkeypatch.setattr(retention, "MOST_FILES", 3)
    for _ in range(4):
        tables.add("late", ROWS)
    tables.compact(["late"])
    assert hours_of(tables) == {"interval 1 hours"}
    assert files(tables) == 5
    monkeypatch.setattr(retention, "MOST_FILES", 5)
    tables.compact(["late"])
    assert hours_of(tables) == {"interval 168 hours"}


def test_old_files_that_no_commit_names_go_after_the_retention(tables):
    tables.add("late", ROWS)
    for name, days in (("old", 8), ("young", 6)):
        file = tables.layout.table("late") / f"part-{name}.parquet"
        file.touch()
        os.utime(file, (time.time() - days * 24 * HOUR_S,) * 2)
    tables.compact(["late"])
    assert sorted(file.name for file in tables.layout.table("late").glob("part-[oy]*")) == ["part-young.parquet"]


def test_a_retention_that_somebody_has_set_stays(tables, monkeypatch):
    monkeypatch.setattr(retention, "MOST_FILES", 0)
    DeltaTable(tables.layout.table("late")).alter.set_table_properties(
        {"delta.deletedFileRetentionDuration": "interval 30 days"}
    )
    for _ in range(2):
        tables.add("late", ROWS)
    tables.compact(["late"])
    assert hours_of(tables) == {"interval 168 hours", "interval 30 days"}
