"""A driver as a process of its own, and its death by kill -9 at a given point."""

from __future__ import annotations

import dataclasses
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

from oracle import Settings
from warehouse import even, make_stream, write_files

TUPLES = make_stream(600, seed=5)
SETTINGS = Settings(500, 100, 100, "sum", ("k_slack", 300))
TESTS = Path(__file__).parent


def kill(directory: Path, point: str, batch: int, **more: object) -> None:
    """Run a driver that dies at the point, and see to it that it did."""
    write_files(TUPLES, directory / "in", even(len(TUPLES), 12))
    told = {"point": point, "batch": batch, "in": str(directory / "in"), "wh": str(directory / "wh")}
    told |= {"settings": dataclasses.asdict(SETTINGS)} | more
    victim = subprocess.run(
        [sys.executable, str(TESTS / "spark" / "victim.py"), json.dumps(told)],
        env=os.environ | {"PYTHONPATH": f"{TESTS}{os.pathsep}{TESTS.parent / 'include'}"},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert victim.returncode == -signal.SIGKILL, victim.stderr[-3000:]
