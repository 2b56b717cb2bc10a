"""The table `current` equals what `tailrace results` gives, whatever was written and corrected before each refresh."""

from __future__ import annotations

import random
import shutil

import duckdb
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pytest
from deltalake import DeltaTable, write_deltalake

from kit.runs.current_tables import Desk, Dying, rows_of, with_corrections
from kit.runs.kind_streams import KINDS
from tailrace.correction import correct as correct_module
from tailrace.delivery import current, groups
from tailrace.delivery.answer_changes import AnswerChanges
from tailrace.delivery.current import refresh
from tailrace.ground.errors import Busy, Damaged
from tailrace.kinds import build
from tailrace.query.answers_section import CURRENT
from tailrace.storage.backup import back_up
from tailrace.storage.restore import restore
from tailrace.storage.results import AnswerTables


@pytest.mark.needs("long")
@pytest.mark.parametrize("name", KINDS)
def test_equals_what_readers_get(tmp_path, monkeypatch, name):
    desk = Desk(name, tmp_path, seed=1)
    dies = Dying(monkeypatch, desk.draw)
    for step in range(6):
        desk.driver.run(1000, flush=False)
        if step % 2:
            desk.correct()
        if desk.draw.random() < 0.3:
            with dies.at_a_commit():
                desk.refresh()
        if desk.draw.random() < 0.7:
            desk.refresh()
            desk.assert_equal()
        desk.write()
    desk.driver.run(1000, flush=True)
    desk.correct()
    desk.refresh()
    desk.assert_equal()
    assert desk.refresh() == 0
    assert desk.current().num_rows > 20


@pytest.mark.parametrize("name", ["aggregate", "spatial interval"])
def test_a_correction_comes_in_one_commit_with_what_it_adds(tmp_path, monkeypatch, name):
    monkeypatch.setattr(correct_module, "deliver_all", lambda *arguments: 0)
    desk = with_corrections(name, tmp_path)
    before, version = rows_of(desk.current()), desk.version()
    desk.refresh()
    desk.assert_equal()
    assert rows_of(desk.current()) != before
    assert desk.version() == version + 1


def test_a_refresh_that_died_between_its_commits_is_repeated(tmp_path, monkeypatch):
    desk = Desk("aggregate", tmp_path, seed=1)
    desk.driver.run(1000)
    desk.refresh()
    desk.write()
    desk.write()
    desk.driver.run(1000)  # late tuples of answers that are there, and new answers
    dies, version = Dying(monkeypatch, random.Random(0)), desk.version()
    with dies.at_commit(1):
        desk.refresh()
    assert desk.version() == version + 1
    desk.refresh()
    desk.assert_equal()


def test_what_is_read_again_is_written_in_parts_that_make_all(tmp_path, monkeypatch):
    monkeypatch.setattr(current, "PART_ROWS", 7)
    desk = with_corrections("topk", tmp_path)
    shutil.rmtree(desk.table)
    desk.refresh()
    desk.assert_equal()


@pytest.mark.parametrize("most", ["MOST_GROUPS", "MOST_ROWS"])
@pytest.mark.parametrize("name", ["aggregate", "emd_join"])
def test_many_groups_are_written_as_a_whole(tmp_path, monkeypatch, name, most):
    monkeypatch.setattr(correct_module, "deliver_all", lambda *arguments: 0)
    monkeypatch.setattr(groups, most, 1)
    desk = with_corrections(name, tmp_path)
    desk.refresh()
    desk.assert_equal()


@pytest.mark.parametrize("knows_commits", [True, False])
@pytest.mark.parametrize("table", ["results", "corrections", "late"])
def test_a_table_in_the_place_of_another_is_read_from_its_start(tmp_path, monkeypatch, table, knows_commits):
    desk = with_corrections("aggregate", tmp_path)
    if not knows_commits:  # as where its log was cleaned up: the table's id alone says that it is another
        monkeypatch.setattr(AnswerChanges, "_digest", lambda *_: 0)
    rows = desk.driver.tables.open(table).to_pyarrow_table()
    shutil.rmtree(desk.driver.layout.table(table))
    for part in (rows.slice(0, rows.num_rows // 2), *[rows.slice(0, 0)] * 5):  # it has more versions than the old one
        write_deltalake(str(desk.driver.layout.table(table)), part, mode="append")
    desk.refresh()
    answers = AnswerTables(desk.driver.tables, desk.driver.pipeline.kind.answers)
    expected = answers.with_coverage(answers.latest())
    assert rows_of(desk.current()) == rows_of(expected.select(desk.current().column_names))


def test_a_restored_query_that_has_run_past_what_was_read_loses_nothing(tmp_path):
    desk = Desk("aggregate", tmp_path, seed=1)
    layout = desk.driver.layout
    desk.driver.run(1000)
    back_up(layout, tmp_path / "backup")
    desk.write()
    desk.driver.run(1000)
    desk.refresh()
    shutil.move(layout.table(CURRENT), tmp_path / "kept")  # a backup leaves it out
    shutil.rmtree(layout.home)
    restore(tmp_path / "backup", desk.driver.warehouse)
    shutil.move(tmp_path / "kept", layout.table(CURRENT))
    for _ in range(2):  # other commits have the numbers of the lost ones, and the first has more answers
        desk.write()
        desk.driver.run(1000)
    desk.driver.run(1000, flush=True)
    desk.refresh()
    desk.assert_equal()


def test_lost_corrections_are_no_return_to_what_was_streamed(tmp_path):
    desk = with_corrections("aggregate", tmp_path)
    before = rows_of(desk.current())
    shutil.rmtree(desk.driver.layout.table("corrections"))
    with pytest.raises(Damaged, match="corrections: the table is lost"):
        desk.refresh()
    assert rows_of(desk.current()) == before


@pytest.mark.parametrize("lost", ["*.parquet", "_delta_log/*.json"])
def test_a_damaged_one_is_made_again(tmp_path, lost):
    desk = with_corrections("aggregate", tmp_path)
    desk.write()
    desk.driver.run(1000)
    for file in desk.table.glob(lost):
        file.unlink()
    desk.refresh()
    desk.assert_equal()


def test_batches_without_answers_are_not_read_again_for_ever(tmp_path, monkeypatch):
    desk = with_corrections("aggregate", tmp_path)
    desk.refresh()
    tables, before, version = desk.driver.tables, rows_of(desk.current()), desk.version()
    for _ in range(3):
        tables.add("results", tables.open("results").to_pyarrow_table().slice(0, 0))
    assert (desk.refresh(), desk.version()) == (0, version)
    monkeypatch.setattr(current, "MOST_COMMITS", 3)
    assert (desk.refresh(), desk.version()) == (0, version + 1)
    assert (desk.refresh(), desk.version()) == (0, version + 1)
    assert rows_of(desk.current()) == before


def test_it_is_compacted_though_a_refresh_makes_two_commits(tmp_path, monkeypatch):
    compacted = []
    monkeypatch.setattr(current, "COMPACT_EVERY", 3)
    monkeypatch.setattr(current.Tables, "compact", lambda self, names: compacted.extend(names))
    desk = Desk("aggregate", tmp_path, seed=1)
    for _ in range(6):
        desk.driver.run(1000)
        desk.refresh()
        desk.write()
    assert compacted.count(CURRENT) == desk.version() // 3


def test_a_log_that_was_cleaned_up_is_no_gap(tmp_path):
    desk = with_corrections("aggregate", tmp_path)
    for _ in range(4):
        desk.write()
        desk.driver.run(1000)
    desk.driver.tables.open("results").create_checkpoint()
    for commit in sorted((desk.driver.layout.table("results") / "_delta_log").glob("*.json"))[:-1]:
        commit.unlink()
    desk.refresh()
    desk.assert_equal()


def test_a_pair_that_the_stream_gives_again_is_there_once(tmp_path):
    desk = Desk("spatial table", tmp_path, seed=1)
    desk.driver.run(1000)
    desk.refresh()
    desk.written = 0  # the same ids come again
    desk.write()
    desk.driver.run(1000)
    desk.refresh()
    desk.assert_equal()


def test_conditions_on_texts_hold_for_readers_of_arrow(tmp_path):
    """Files that a merge or a deletion of Delta's library writes have strings that Arrow can't compare."""
    desk = with_corrections("aggregate", tmp_path)
    for table in (desk.table, desk.driver.layout.table("corrections")):
        dataset = DeltaTable(str(table)).to_pyarrow_dataset()
        rows = dataset.to_table()
        expected = rows.filter(pc.equal(rows["key"], "a")).num_rows
        assert dataset.to_table(filter=ds.field("key") == "a").num_rows == expected > 0
        relation = duckdb.arrow(dataset)
        assert relation.filter("key = 'a'").count("*").fetchall() == [(expected,)]


def test_a_correction_without_answers_leaves_texts_that_can_be_compared(tmp_path):
    desk = with_corrections("aggregate", tmp_path)
    tables, of_a = desk.driver.tables, ds.field("key") == "a"
    before = tables.read("corrections", where=of_a).num_rows
    nothing = tables.open("corrections").to_pyarrow_table().slice(0, 0)
    tables.replace("corrections", nothing, "interval", "none")
    assert tables.read("corrections", where=of_a).num_rows == before > 0


def test_a_refresh_waits_for_another_one(tmp_path):
    desk = with_corrections("aggregate", tmp_path)
    with desk.driver.layout.lock(CURRENT), pytest.raises(Busy, match="current"):
        refresh(desk.driver.layout, desk.query, desk.driver.pipeline.kind, 0)


def test_a_query_that_never_ran_has_none(tmp_path):
    desk = Desk("aggregate", tmp_path, 1)
    query = desk.driver.query
    assert refresh(desk.driver.layout, query, build(query), 0) == 0
    assert not desk.table.exists()
