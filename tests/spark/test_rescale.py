"""Another number of tasks on Spark: live under a burst, by hand and by the load; killed at each point of a change."""

from __future__ import annotations

import shutil

import pytest

from kit.oracles.oracle import stream
from kit.oracles.oracle_assertions import assert_streamed
from kit.runs.burst_stream import (
    BOUNDS,
    TUPLES,
    assert_a_busy_stream_gets_more_tasks,
    assert_two_four_and_two_tasks,
    tasks_of,
)
from kit.runs.kill_points import OF_A_BATCH, SETTINGS, arm, leave
from kit.runs.warehouse import make_query, rows_of, write_files
from tailrace.spark.app import run
from tailrace.storage.journal import Journal
from tailrace.storage.layout import Layout
from tailrace.storage.tasks_in_force import request_tasks
from tailrace.stream import local_stream
from tailrace.stream.run_options import RunOptions


def test_two_four_and_two_tasks_under_a_ten_fold_burst(tmp_path, spark):
    assert_two_four_and_two_tasks(tmp_path, run)


def test_a_busy_stream_raises_its_number_and_the_answers_are_the_oracles(tmp_path, monkeypatch, spark):
    assert_a_busy_stream_gets_more_tasks(tmp_path, monkeypatch, run)


def test_killed_at_any_point_of_a_batch_that_moves_the_state_the_next_driver_goes_on(tmp_path, spark):
    source, options = tmp_path / "in", RunOptions(40, flush=False)
    query = make_query(source, SETTINGS)
    write_files(TUPLES, source, BOUNDS[:4])
    run(query, tmp_path / "wh", options, spark=spark)
    moves = Journal(Layout.for_query(tmp_path / "wh", "readings").journal).count
    write_files(TUPLES, source, BOUNDS[3:], first=3)
    for tasks in (4, 1):
        request_tasks(Layout.for_query(tmp_path / "wh", "readings"), query, tasks)
        left, points = tmp_path / f"to {tasks}", [each for each in OF_A_BATCH if tasks > 1 or each != "between states"]
        shutil.copytree(tmp_path / "wh", left / "end")
        with pytest.MonkeyPatch.context() as patch:
            for point in points:
                arm(patch, point, moves, lambda name=point, at=left: leave(at / "end", at / name))
            run(query, left / "end", RunOptions(40), spark=spark)
        assert {path.name for path in left.iterdir()} == {"end", *points}
        for name in ("end", *points):
            local_stream.run(query, left / name, RunOptions(40))
            rows = rows_of(left / name)
            assert_streamed(rows, stream(TUPLES, SETTINGS))
            assert set(tasks_of(rows)[:moves]) == {2}
            assert set(tasks_of(rows)[moves:]) == {tasks}
