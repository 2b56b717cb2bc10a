"""As a program: a bounded run of the kill tests' stream, under the master of the environment.

Given the directory of its cluster too, it kills an executor there when batch 3 is begun: its offsets are logged, and
the executor has the state of a task.
"""

from __future__ import annotations

import sys
from pathlib import Path

import psutil
import pytest

from kill_points import BATCH_ROWS, SETTINGS, arm
from processes import command
from tailrace.drivers.embedded_cluster import EmbeddedCluster
from tailrace.spark.app import run
from tailrace.stream.run_options import RunOptions
from warehouse import make_query

EXECUTOR = "org.apache.spark.executor.CoarseGrainedExecutorBackend"
VICTIM = "killed executor"


def executors(directory: Path) -> list[psutil.Process]:
    """The executors that the workers of a cluster in a directory have started."""
    return [process for process in EmbeddedCluster(directory).processes() if EXECUTOR in command(process)]


def kill_executor(directory: Path) -> None:
    victim = executors(directory)[0]
    victim.kill()
    print(VICTIM, victim.pid)


if __name__ == "__main__":
    home = Path(sys.argv[1])
    if len(sys.argv) > 2:
        arm(pytest.MonkeyPatch(), "K1", 3, lambda: kill_executor(Path(sys.argv[2])))
    run(make_query(home / "in", SETTINGS), home / "wh", RunOptions(BATCH_ROWS))
