"""A driver, a process of its own, is killed while the number of its tasks changes; the next one goes on from there."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from kit.oracles.oracle import stream
from kit.oracles.oracle_assertions import assert_streamed
from kit.runs.burst_stream import BURST, CALM, TUPLES, tasks_of
from kit.runs.kill_points import SETTINGS
from kit.runs.warehouse import query_fields, rows_of, write_files
from kit.suite.waiting import until
from tailrace.engine.task_change import tasks_after
from tailrace.query.declared import declared_query
from tailrace.storage.journal import Journal
from tailrace.storage.layout import Layout
from tailrace.storage.tasks_in_force import request_tasks
from tailrace.stream import local_stream
from tailrace.stream.run_options import RunOptions

pytestmark = pytest.mark.needs("process")

INCLUDE = Path(__file__).parents[3] / "include"


@pytest.mark.slow
def test_a_live_driver_that_is_killed_at_its_change_loses_and_repeats_nothing(tmp_path):
    fields, file, warehouse = query_fields(tmp_path / "in", SETTINGS), tmp_path / "query.json", tmp_path / "wh"
    file.write_text(json.dumps(fields))
    query = declared_query(fields)
    layout = Layout.for_query(warehouse, query.name)
    journal = Journal(layout.journal)
    write_files(TUPLES, tmp_path / "in", CALM)
    command = [*(sys.executable, "-m", "tailrace", "run", file), *("--warehouse", warehouse, "--engine", "local")]
    driver = subprocess.Popen(command, env=os.environ | {"PYTHONPATH": str(INCLUDE)})
    try:
        until(lambda: journal.count)
        request_tasks(layout, query, 4)
        write_files(TUPLES, tmp_path / "in", BURST, first=2)
        until(lambda: tasks_after(journal.last().header.facts, 2, 0) == 4)
    finally:
        driver.send_signal(signal.SIGKILL)
        driver.wait()
    changed = next(at for at in range(journal.count) if tasks_after(journal[at].header.facts, 2, 0) == 4)
    write_files(TUPLES, tmp_path / "in", [BURST[-1], len(TUPLES)], first=4)
    local_stream.run(query, warehouse, RunOptions(40))
    rows = rows_of(warehouse)
    assert_streamed(rows, stream(TUPLES, SETTINGS))
    tasks = tasks_of(rows)
    assert (set(tasks[:changed]), set(tasks[changed:])) == ({2}, {4})
    about = [row["about"] for row in rows_of(warehouse, "facts")["facts"]]
    assert about.count("tasks") == 1, "the request is taken up once"
