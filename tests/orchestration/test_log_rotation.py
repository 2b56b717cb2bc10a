"""The logs of the embedded Airflow and of its driver host rotate by size."""

from __future__ import annotations

import configparser
import os
import subprocess
import sys
import time
from contextlib import suppress

import pytest

from tailrace.embedded import airflow_parts, log_rotation
from tailrace.embedded.embedded_processes import CONFIGURATION
from tailrace.embedded.log_rotation import KEPT_DAYS, LogRotation, rotate

WRITER = """
import sys
for line in sys.stdin:
    print(line, end="", flush=True)
    print("done", file=sys.stderr, flush=True)
"""
ENDS_AT_ONCE = "import sys; sys.exit(3 * (sys.argv[1] != 'db'))"


@pytest.fixture(autouse=True)
def small(monkeypatch):
    monkeypatch.setattr(log_rotation, "MAX_BYTES", 1000)


@pytest.mark.needs("process")
def test_a_log_that_a_process_appends_to_is_rotated_and_goes_on(tmp_path):
    file = tmp_path / "standalone.log"
    with open(file, "ab") as output:
        writer = subprocess.Popen(
            [sys.executable, "-c", WRITER], stdin=subprocess.PIPE, stdout=output, stderr=subprocess.PIPE, text=True
        )
    with writer:
        for text in ("a" * 2000, "b" * 10):
            writer.stdin.write(f"{text}\n")
            writer.stdin.flush()
            assert writer.stderr.readline() == "done\n"
            LogRotation(tmp_path).run_if_due()
        writer.stdin.close()
    assert file.read_text() == "b" * 10 + "\n"
    assert (tmp_path / "standalone.log.1").read_text() == "a" * 2000 + "\n"


def test_three_older_parts_are_kept(tmp_path):
    file = tmp_path / "standalone.log"
    for number in range(6):
        file.write_text(str(number))
        rotate(file)
    assert {each.name: each.read_text() for each in tmp_path.iterdir()} == {
        "standalone.log": "",
        "standalone.log.1": "5",
        "standalone.log.2": "4",
        "standalone.log.3": "3",
    }


def test_logs_of_dag_files_rotate_and_old_logs_go_with_their_directories(tmp_path):
    names = ("dag_processor/2026-01-01", "dag_id=a/run_id=b", "dag_id=a/run_id=c")
    grown, old, of_task = files = [tmp_path / "logs" / name / "x.log" for name in names]
    for file in files:
        file.parent.mkdir(parents=True)
        file.write_text("x" * 2000)
    long_ago = time.time() - (KEPT_DAYS + 1) * 86_400
    os.utime(old, (long_ago, long_ago))
    (tmp_path / "airflow.db").write_text("x" * 5000)
    LogRotation(tmp_path).run_if_due()
    assert (grown.stat().st_size, grown.with_name("x.log.1").stat().st_size) == (0, 2000)
    assert not old.exists()
    assert old.parent.exists(), "a file may be about to be made in a young directory"
    assert of_task.stat().st_size == (tmp_path / "airflow.db").stat().st_size - 3000 == 2000
    os.utime(old.parent, (long_ago, long_ago))
    LogRotation(tmp_path).run_if_due()
    assert not old.parent.exists()
    assert of_task.exists()


def test_it_looks_once_a_minute_and_survives_what_it_can_not_rotate(tmp_path):
    rotation = LogRotation(tmp_path)
    rotation.run_if_due()  # there are no logs yet
    file = tmp_path / "standalone.log"
    file.write_text("x" * 2000)
    rotation.run_if_due()
    assert file.stat().st_size == 2000
    (tmp_path / "standalone.log.1").mkdir()
    LogRotation(tmp_path).run_if_due()
    with suppress(OSError):
        rotate(file)


@pytest.mark.needs("process")
def test_the_parts_of_airflow_rotate_their_logs_while_they_run(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "standalone.log").write_text("x" * 2000)
    monkeypatch.setattr(airflow_parts, "AIRFLOW", (sys.executable, "-c", ENDS_AT_ONCE))
    monkeypatch.setattr(airflow_parts, "RESTARTS", 0)
    monkeypatch.setattr(airflow_parts.signal, "signal", lambda *_: None)
    assert airflow_parts.main() == 3
    assert (tmp_path / "standalone.log.1").stat().st_size == 2000


def test_the_log_of_the_embedded_driver_host_is_bounded():
    parser = configparser.RawConfigParser()
    parser.read_string(CONFIGURATION)
    assert (parser["supervisord"]["logfile_maxbytes"], parser["supervisord"]["logfile_backups"]) == ("20MB", "3")
