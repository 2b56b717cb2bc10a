"""Runs `airflow …` on an embedded Airflow, and retries while its SQLite database is locked.

    python -m tailrace.embedded.airflow_command backfill create …

SQLite refuses a transaction with an old snapshot at once, whatever its lock timeout.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from tailrace.ground.retries import pause_s

_LOCK_MESSAGE = "database is locked"
_BACKFILL_MESSAGE = "Another backfill is running"  # or ours, stopped by a lock: it ends in 2 min
TRIES_S = 600.0


def run_airflow(
    words: tuple[str, ...],
    environment: Mapping[str, str],
    directory: Path,
    echo: Callable[[str], Any],
    pause: Callable[[float], Any] = time.sleep,
) -> subprocess.CompletedProcess[str]:
    """Run `airflow …` to its end; retry with growing pauses if SQLite was locked.

    Parameters
    ----------
    echo : callable
        Called before each pause with a line that gives the reason.
    """
    deadline_s, was_locked, tries = time.monotonic() + TRIES_S, False, 0
    while True:
        process = subprocess.run(
            [sys.executable, "-m", "airflow", *words],
            env=environment,
            cwd=directory,
            capture_output=True,
            text=True,
            check=False,
        )
        is_locked = _LOCK_MESSAGE in process.stderr
        was_locked = was_locked or is_locked
        is_transient = is_locked or (was_locked and _BACKFILL_MESSAGE in process.stderr)
        if not process.returncode or not is_transient or time.monotonic() > deadline_s:
            return process
        tries += 1
        why = (
            "Airflow's SQLite database is locked" if is_locked else "a backfill that a lock stopped half-way still runs"
        )
        echo(f"airflow {words[0]}: {why}; trying again in {pause_s(tries):g} s")
        pause(pause_s(tries))


def main() -> int:
    """Run the given command, as a shell would, and return its exit code."""
    told = run_airflow(
        tuple(sys.argv[1:]), os.environ, Path.cwd(), lambda line: print(line, file=sys.stderr, flush=True)
    )
    sys.stdout.write(told.stdout)
    sys.stderr.write(told.stderr)
    return told.returncode


if __name__ == "__main__":
    sys.exit(main())
