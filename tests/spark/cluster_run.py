"""As a program: a bounded run of the kill tests' stream, under the master of the environment.

Given a directory too, it waits when batch 1 is planned, and executors have run batch 0. It
makes the file `begun` there, and goes on once there is the file `go`.
"""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from kit.runs.kill_points import BATCH_ROWS, SETTINGS, arm
from kit.runs.warehouse import make_query
from kit.suite.waiting import PATIENCE_S, until
from tailrace.spark.app import run
from tailrace.stream.run_options import RunOptions


def wait_at(gate: Path) -> None:
    (gate / "begun").touch()
    until((gate / "go").exists, patience_s=4 * PATIENCE_S)


if __name__ == "__main__":
    home = Path(sys.argv[1])
    if len(sys.argv) > 2:
        arm(pytest.MonkeyPatch(), "before states", 1, lambda: wait_at(Path(sys.argv[2])))
    run(make_query(home / "in", SETTINGS), home / "wh", RunOptions(BATCH_ROWS))
