"""One driver a checkpoint: a second one is refused before it touches anything, and needs no Spark for that."""

from __future__ import annotations

import os
import signal
import subprocess
import sys

import psutil
import pytest

from kit.oracles.oracle import Settings
from kit.runs.warehouse import make_query, make_stream, write_files
from kit.suite.waiting import until
from tailrace.ground.errors import Busy
from tailrace.storage.layout import Layout
from tailrace.stream import local_stream
from tailrace.stream.run_options import RunOptions


def test_a_second_driver_of_a_checkpoint_is_refused(tmp_path):
    write_files(make_stream(10, seed=1), tmp_path / "in", [0, 10])
    query = make_query(tmp_path / "in", Settings(500, 100, 100, "sum", "none"))
    layout = Layout.for_query(tmp_path / "wh", query.name)
    with layout.lock("stream"), pytest.raises(Busy, match="another process runs this query's driver"):
        local_stream.run(query, tmp_path / "wh", RunOptions())
    assert layout.manifest() is None
    assert local_stream.run(query, tmp_path / "wh", RunOptions()) == 1


# A driver that says that its first batch was run, and goes on when it is asked to.
DRIVER = """
import sys
from pathlib import Path
from kit.oracles.oracle import Settings
from tailrace.stream import local_stream
from tailrace.stream.run_options import RunOptions
from kit.runs.warehouse import make_query

def wait(*arguments):
    print("runs", flush=True)
    sys.stdin.readline()

home = Path(sys.argv[1])
query = make_query(home / "in", Settings(500, 100, 100, "sum", "none"))
print(local_stream.run(query, home / "wh", RunOptions(), wait), flush=True)
"""


@pytest.fixture
def driver(tmp_path):
    write_files(make_stream(10, seed=1), tmp_path / "in", [0, 10])
    with subprocess.Popen(
        [sys.executable, "-c", DRIVER, str(tmp_path)],
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as process:
        assert process.stdout.readline() == "runs\n"
        yield process
        process.kill()


@pytest.mark.needs("process")
def test_a_driver_that_is_stopped_and_goes_on_is_the_only_one_all_the_while(tmp_path, driver):
    query = make_query(tmp_path / "in", Settings(500, 100, 100, "sum", "none"))
    driver.send_signal(signal.SIGSTOP)
    until(lambda: psutil.Process(driver.pid).status() == psutil.STATUS_STOPPED)
    with pytest.raises(Busy, match="another process runs this query's driver"):
        local_stream.run(query, tmp_path / "wh", RunOptions())
    driver.send_signal(signal.SIGCONT)
    with pytest.raises(Busy):
        local_stream.run(query, tmp_path / "wh", RunOptions())
    assert driver.communicate("go on\n") == ("1\n", None)
    assert local_stream.run(query, tmp_path / "wh", RunOptions()) == 0


@pytest.mark.needs("process")
def test_a_driver_that_is_killed_while_it_is_stopped_gives_way(tmp_path, driver):
    driver.send_signal(signal.SIGSTOP)
    driver.kill()
    driver.wait()
    query = make_query(tmp_path / "in", Settings(500, 100, 100, "sum", "none"))
    assert local_stream.run(query, tmp_path / "wh", RunOptions()) == 0
