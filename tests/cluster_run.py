"""As a program: a bounded run of the kill tests' stream, under the master of the environment."""

from __future__ import annotations

import sys
from pathlib import Path

from kill_points import BATCH_ROWS, SETTINGS
from tailrace.spark.app import run
from tailrace.stream.run_options import RunOptions
from warehouse import make_query

if __name__ == "__main__":
    home = Path(sys.argv[1])
    run(make_query(home / "in", SETTINGS), home / "wh", RunOptions(3 * BATCH_ROWS))
