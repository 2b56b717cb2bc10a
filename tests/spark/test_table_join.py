"""`spatial_join` with a table on Spark: killed and gone on, the answers are the oracle's by the table's versions.

`unit/spatial_join/test_table_runs.py` has the other kill points, and what needs no Spark.
"""

from __future__ import annotations

import json
import os
import shutil
from pathlib import Path

import pytest

from kit.runs.kill_points import arm, leave
from kit.runs.live_stream import live
from kit.runs.table_runs import (
    BATCH_ROWS,
    COUNT,
    assert_answered,
    make_query,
    start,
    write_part,
    write_stream,
    write_table,
)
from tailrace.spark.app import run
from tailrace.storage.layout import Layout
from tailrace.storage.results import read_answers
from tailrace.storage.tables import Tables
from tailrace.stream.run_options import RunOptions


@pytest.fixture(scope="module")
def left(tmp_path_factory, _spark) -> Path:
    """What a kill leaves amid the appends of batch 3, as `killed`; and the whole run as `end`."""
    home = tmp_path_factory.mktemp("where")
    write_stream(home / "in")
    write_table(home / "zones.geojson", 0)
    with pytest.MonkeyPatch.context() as patch:
        arm(patch, "K2", 3, lambda: leave(home / "wh", home / "killed"))
        start(home, home / "wh", run, spark=_spark)
    (home / "wh").rename(home / "end")
    return home


@pytest.fixture
def killed(left, tmp_path):
    shutil.copytree(left / "killed", tmp_path / "wh")
    return tmp_path / "wh"


def test_the_answers_of_a_run_are_those_of_the_oracle(left):
    tables = assert_answered(left / "end", [0, 1])
    assert {row["task"] for row in tables.read("metrics").to_pylist()} == {0}
    answers, columns = read_answers(make_query(left), left / "end", streamed=False)
    assert answers.num_rows == tables.read("results").num_rows
    assert columns[:4] == ["left_id", "right_id", "left_time", "right_time"]


def test_files_of_readers_whose_batch_was_not_committed_are_no_answers(left, killed, spark):
    """The readers have written their answers and died. The next start removes the files."""
    tables = Tables(Layout.for_query(killed, "where"))
    results = tables.layout.table("results")
    named = {Path(file).name for file in _files_of(tables)}
    lost = {file.name for file in results.glob("*.parquet")} - named
    assert len(lost) > 1
    run(make_query(left), killed, RunOptions(BATCH_ROWS))
    assert_answered(killed, [0, 1])
    assert not lost & {file.name for file in results.glob("*.parquet")}
    for name in lost:
        (results / name).touch()
        os.utime(results / name, (0, 0))
    tables.compact(["results"])  # removes such files, too, once they are old
    assert not lost & {file.name for file in results.glob("*.parquet")}
    assert_answered(killed, [0, 1])


def _files_of(tables: Tables) -> list[str]:
    log = tables.layout.table("results") / "_delta_log"
    actions = (json.loads(line) for file in log.glob("*.json") for line in file.read_text().splitlines())
    return [action["add"]["path"] for action in actions if "add" in action]


def test_a_live_stream_sees_the_table_change_and_goes_on_while_it_is_broken(spark, tmp_path):
    table = tmp_path / "zones.geojson"
    write_table(table, 0)
    write_part(tmp_path / "in", 0, 3)

    def act(beside):
        beside.until(lambda status, entry: entry.position.rows == COUNT // 3 and status.rows == entry.position.rows - 1)
        table.write_text(table.read_text()[:100])
        write_part(tmp_path / "in", 1, 3)
        beside.until(lambda status, entry: status.rows == 2 * COUNT // 3 - 1 and "zones.geojson" in status.problem)
        write_table(table, 1)
        write_part(tmp_path / "in", 2, 3)
        beside.until(lambda status, entry: status.rows == COUNT - 1 and status.problem is None)

    live(make_query(tmp_path), tmp_path / "wh", act, RunOptions(BATCH_ROWS, pace_ms=100, live=True))
    assert_answered(tmp_path / "wh", [0, 1])
