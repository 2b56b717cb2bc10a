"""The parts of the embedded Airflow: which there are, and that none is left when one ends or all are to."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

import pytest

from processes import is_dead, until
from tailrace.ground.files import write_atomically
from tailrace.orchestration.airflow_parts import PARTS

# In the place of `airflow`: notes its words, and ends at once with what it is told to, or never.
STAND_IN = """
import os, sys, time
from pathlib import Path
place, words = Path(sys.argv[1]), sys.argv[2:]
(place / f"{words[0]}.new").write_text(" ".join([str(os.getpid()), *words]))
(place / f"{words[0]}.new").rename(place / words[0])
code = place / f"{words[0]}.ends"
if words[0] == "db":
    sys.exit(int(code.read_text()) if code.exists() else 0)
while not code.exists():
    time.sleep(0.02)
sys.exit(int(code.read_text()))
"""
RUN = """
import sys
from tailrace.orchestration import airflow_parts
airflow_parts._AIRFLOW = (sys.executable, "-c", sys.argv[1], sys.argv[2])
sys.exit(airflow_parts.main())
"""


@pytest.fixture
def start(tmp_path):
    started = []

    def begin() -> subprocess.Popen[bytes]:
        started.append(subprocess.Popen([sys.executable, "-c", RUN, STAND_IN, str(tmp_path)]))
        return started[-1]

    yield begin
    for process in started:
        process.kill()
        process.wait()
    for words in PARTS:  # where the test failed
        ends(tmp_path, words[0], 0)


WAIT_S = 300  # a busy machine starts five Pythons in a minute


def pids(place: Path) -> list[int]:
    return [int(file.read_text().split()[0]) for words in PARTS if (file := place / words[0]).exists()]


def ends(place: Path, part: str, code: int) -> None:
    """Have a part end, now or when it starts."""
    write_atomically(place / f"{part}.ends", str(code))


def test_no_part_serves_logs(start, tmp_path):
    """Their servers listen on all addresses."""
    process = start()
    until(lambda: len(pids(tmp_path)) == len(PARTS), WAIT_S)
    started = {(tmp_path / words[0]).read_text().partition(" ")[2] for words in PARTS}
    assert started == {"scheduler --skip-serve-logs", "triggerer --skip-serve-logs", "dag-processor", "api-server"}
    process.send_signal(signal.SIGINT)
    assert process.wait(WAIT_S) == 0
    assert all(map(is_dead, pids(tmp_path)))


@pytest.mark.parametrize(("code", "whole"), [(3, 3), (0, 1)])
def test_where_a_part_ends_none_stays(start, tmp_path, code, whole):
    process = start()
    until(lambda: len(pids(tmp_path)) == len(PARTS), WAIT_S)
    ends(tmp_path, "triggerer", code)
    assert process.wait(WAIT_S) == whole
    assert all(map(is_dead, pids(tmp_path)))


def test_without_its_database_no_part_starts(start, tmp_path):
    ends(tmp_path, "db", 1)
    assert start().wait(WAIT_S) != 0
    assert not pids(tmp_path)
