"""`spatial_join` with a table that changes: killed at any point, rebuilt, or lost; the answers are the oracle's."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from kit.runs.kill_points import arm, leave
from kit.runs.local_driver import correct_here
from kit.runs.table_runs import (
    BATCH_ROWS,
    CHANGED_AFTER,
    COUNT,
    assert_answered,
    make_query,
    start,
    write_stream,
    write_table,
)
from tailrace.ground.errors import Damaged, Refused
from tailrace.storage.layout import Layout
from tailrace.storage.tables import Tables
from tailrace.stream.local_stream import rebuild, run
from tailrace.stream.run_options import RunOptions

POINTS = [("before states", 0), ("K4", 0), ("K2", 3), ("before note", 3)]


@pytest.fixture(scope="module")
def left(tmp_path_factory) -> Path:
    """What a kill leaves at each point, by its name; and the whole run as `end`."""
    home = tmp_path_factory.mktemp("where")
    write_stream(home / "in")
    write_table(home / "zones.geojson", 0)
    with pytest.MonkeyPatch.context() as patch:
        for point, batch in POINTS:
            arm(patch, point, batch, lambda to=f"{point}-{batch}": leave(home / "wh", home / to))
        start(home, home / "wh", run)
    (home / "wh").rename(home / "end")
    return home


@pytest.fixture
def killed(left, tmp_path):
    def make(name: str) -> Path:
        shutil.copytree(left / name, tmp_path / "wh")
        return tmp_path / "wh"

    return make


@pytest.mark.needs("long")
@pytest.mark.parametrize(("point", "batch"), POINTS)
def test_the_next_run_goes_on_with_the_versions_of_the_journal(left, killed, tmp_path, point, batch):
    """While nobody watched, the table has changed: what was planned before sees what it saw."""
    warehouse = killed(f"{point}-{batch}")
    write_table(tmp_path / "zones.geojson", 2)
    run(make_query(left, tmp_path / "zones.geojson"), warehouse, RunOptions(BATCH_ROWS))
    assert_answered(warehouse, [0, 2] if batch <= CHANGED_AFTER else [0, 1, 2])


def test_a_lost_version_is_a_damage(left, killed):
    warehouse = killed("K2-3")
    shutil.rmtree(Layout.for_query(warehouse, "where").table_versions)
    with pytest.raises(Damaged, match="this version of the dimension table is lost"):
        run(make_query(left), warehouse, RunOptions(BATCH_ROWS))


def test_native_gives_the_same_answers(left, tmp_path):
    write_table(tmp_path / "zones.geojson", 1)
    run(make_query(left, tmp_path / "zones.geojson", method="native"), tmp_path / "wh")
    assert_answered(tmp_path / "wh", [1])


def test_there_is_nothing_to_correct(left):
    with pytest.raises(Refused, match="none is late"):
        correct_here(make_query(left), left / "end")


def test_it_is_rebuilt_for_other_tasks_and_for_another_relation(tmp_path, left):
    warehouse = tmp_path / "wh"
    shutil.copytree(left / "end", warehouse)
    before = Tables(Layout.for_query(warehouse, "where")).read("results")
    done = rebuild(make_query(left).model_copy(update={"parallelism": 1}), warehouse, Path("where.yaml"))
    assert (done.rows, done.batches) == (COUNT, 2), "all under one version of the table are merged"
    assert Tables(Layout.for_query(warehouse, "where")).read("results").equals(before)
    rebuild(make_query(left, relation="within"), warehouse, Path("where.yaml"))
    assert_answered(warehouse, [0, 1], "within")


def test_it_is_rebuilt_from_versions_of_another_format_than_the_query_has_today(tmp_path, left):
    warehouse = tmp_path / "wh"
    shutil.copytree(left / "end", warehouse)
    rebuild(make_query(left, tmp_path / "zones.csv", relation="within"), warehouse, Path("where.yaml"))
    assert_answered(warehouse, [0, 1], "within")
