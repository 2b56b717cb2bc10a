"""The parts of the embedded Airflow: their command lines, their restarts, and what ends them all."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from kit.parts.processes import is_dead
from kit.suite.waiting import PATIENCE_S, until
from tailrace.embedded.airflow_parts import API_SERVER, EVENTS, KEPT_HOST, PARTS
from tailrace.embedded.embedded_airflow import EmbeddedAirflow
from tailrace.embedded.embedded_processes import AIRFLOW_MARK, EmbeddedHost
from tailrace.ground.files.atomic_files import write_atomically

pytestmark = pytest.mark.needs("process")

# Stand-in for `airflow`: writes down its arguments and Arrow's memory pool, and exits once a file `<part>.ends` has its
# exit code; with a file `<part>.ends_once`, which it takes away, too.
STAND_IN = """
import os, sys, time
from pathlib import Path
place, words = Path(sys.argv[1]), sys.argv[2:]
(place / f"{words[0]}.pool").write_text(os.environ.get("ARROW_DEFAULT_MEMORY_POOL", "as Arrow likes"))
(place / f"{words[0]}.new").write_text(" ".join([str(os.getpid()), *words]))
(place / f"{words[0]}.new").rename(place / words[0])
code = place / f"{words[0]}.ends"
if words[0] == "db":
    sys.exit(int(code.read_text()) if code.exists() else 0)
once = place / f"{words[0]}.ends_once"
while not code.exists():
    time.sleep(0.02)
    if once.exists():
        once.unlink()
        sys.exit(1)
sys.exit(int(code.read_text()))
"""
RUN_PARTS = """
import sys
from tailrace.embedded import airflow_parts
airflow_parts.AIRFLOW = (sys.executable, "-c", sys.argv[1], sys.argv[2])
sys.exit(airflow_parts.main())
"""


@pytest.fixture
def start(tmp_path):
    processes = []

    def start_parts() -> subprocess.Popen[bytes]:
        processes.append(subprocess.Popen([sys.executable, "-c", RUN_PARTS, STAND_IN, str(tmp_path)], cwd=tmp_path))
        return processes[-1]

    yield start_parts
    for process in processes:
        process.kill()
        process.wait()
    for words in PARTS:  # for parts that a failed test has left
        let_end(tmp_path, words[0], 0)
    until(lambda: all(map(is_dead, pids(tmp_path))))  # its directory goes with the test, and the files that end them


def pids(place: Path) -> list[int]:
    return [int(file.read_text().split()[0]) for words in PARTS if (file := place / words[0]).exists()]


def let_end(place: Path, part: str, code: int) -> None:
    """Make a part exit with a code, now or as soon as it starts."""
    write_atomically(place / f"{part}.ends", str(code))


def test_all_parts_start_and_none_serves_logs(start, tmp_path):
    """The servers of logs would listen on all addresses."""
    process = start()
    until(lambda: len(pids(tmp_path)) == len(PARTS))
    command_lines = {(tmp_path / words[0]).read_text().partition(" ")[2] for words in PARTS}
    assert command_lines == {
        "scheduler --skip-serve-logs",
        "triggerer --skip-serve-logs",
        "dag-processor",
        "api-server",
    }
    process.send_signal(signal.SIGINT)
    assert process.wait(PATIENCE_S) == 0
    assert all(map(is_dead, pids(tmp_path)))


def test_the_api_server_alone_uses_the_memory_pool_that_returns_memory(start, tmp_path, monkeypatch):
    monkeypatch.delenv("ARROW_DEFAULT_MEMORY_POOL", raising=False)
    start()
    until(lambda: len(pids(tmp_path)) == len(PARTS))
    pools = {words[0]: (tmp_path / f"{words[0]}.pool").read_text() for words in PARTS}
    assert pools.pop("api-server") == API_SERVER["ARROW_DEFAULT_MEMORY_POOL"] == "system"
    assert set(pools.values()) == {"as Arrow likes"}


@pytest.mark.parametrize(("code", "whole"), [(3, 3), (0, 1)])
def test_a_part_that_ends_again_and_again_ends_all_parts(start, tmp_path, code, whole):
    process = start()
    until(lambda: len(pids(tmp_path)) == len(PARTS))
    let_end(tmp_path, "triggerer", code)
    assert process.wait(PATIENCE_S) == whole
    assert all(map(is_dead, pids(tmp_path)))


def test_a_part_that_ends_is_started_again_and_the_others_go_on(start, tmp_path):
    process = start()
    until(lambda: len(pids(tmp_path)) == len(PARTS))
    before = {words[0]: (tmp_path / words[0]).read_text() for words in PARTS}
    (tmp_path / "scheduler.ends_once").touch()
    until(lambda: (tmp_path / "scheduler").read_text() != before["scheduler"])
    assert is_dead(int(before.pop("scheduler").split()[0]))
    assert {name: (tmp_path / name).read_text() for name in before} == before
    assert process.poll() is None
    assert (tmp_path / EVENTS).read_text() == "Airflow's scheduler ended with exit code 1: it is started again\n"
    process.send_signal(signal.SIGINT)
    assert process.wait(PATIENCE_S) == 0
    assert all(map(is_dead, pids(tmp_path)))


def test_no_part_starts_where_the_database_migration_fails(start, tmp_path):
    let_end(tmp_path, "db", 1)
    assert start().wait(PATIENCE_S) != 0
    assert not pids(tmp_path)


def test_a_driver_host_that_was_killed_is_started_again_and_one_that_was_stopped_is_not(start, tmp_path, monkeypatch):
    with EmbeddedHost(tmp_path / "host") as embedded:
        monkeypatch.setenv(KEPT_HOST, str(embedded.directory))
        process = start()
        until(lambda: len(pids(tmp_path)) == len(PARTS))
        pid_file = embedded.directory / "supervisord.pid"
        first = int(pid_file.read_text())
        os.kill(first, signal.SIGKILL)
        until(lambda: pid_file.exists() and int(pid_file.read_text() or first) != first)
        until(lambda: embedded.start().rpc.call("getState")["statename"] == "RUNNING")
        embedded.stop()
        assert not embedded.keep()
        assert not embedded.processes()
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE_S) == 0


def test_the_end_of_airflow_leaves_the_driver_host_that_it_has_started_again(tmp_path, monkeypatch):
    monkeypatch.setenv(AIRFLOW_MARK, str(tmp_path / "airflow"))
    with EmbeddedHost(tmp_path / "host") as embedded:
        os.kill(embedded.host.rpc.call("getPID"), signal.SIGKILL)
        until(embedded.keep)
        EmbeddedAirflow(tmp_path / "airflow", tmp_path, {}).kill()
        assert embedded.host.rpc.call("getState")["statename"] == "RUNNING"
