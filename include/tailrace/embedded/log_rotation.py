"""Keeps the logs of an embedded Airflow small: the output of its components, and the logs of DAG files and tasks."""

from __future__ import annotations

import shutil
import time
from contextlib import suppress
from pathlib import Path

MAX_BYTES, BACKUPS = 20_000_000, 3  # as for a driver's log
KEPT_DAYS = 30  # the age of a file without additions that is removed
EVERY_S = 60.0


class LogRotation:
    """Rotates the logs of an AIRFLOW_HOME once a minute.

    A log that components hold open is copied and truncated, since they append to it; output written between the two is
    lost. The small logs of tasks are kept whole until they are old.
    """

    def __init__(self, home: Path) -> None:
        self._home, self._due_s = home, 0.0

    def run_if_due(self) -> None:
        """Rotate large logs and remove old ones, once a minute; never raise."""
        now_s = time.monotonic()
        if now_s < self._due_s:
            return
        self._due_s = now_s + EVERY_S
        logs = self._home / "logs"
        for file in (self._home / "standalone.log", *(logs / "dag_processor").rglob("*.log")):
            with suppress(OSError):  # removed meanwhile, or the disk is full
                if file.stat().st_size > MAX_BYTES:
                    rotate(file)
        for path in sorted(logs.rglob("*"), reverse=True):  # the content of a directory before the directory
            with suppress(OSError):  # it is not empty
                if not path.is_dir() and _age_days(path) > KEPT_DAYS:
                    path.unlink()
                elif path.is_dir() and _age_days(path) > 1:  # a new directory is about to get a file
                    path.rmdir()


def _age_days(path: Path) -> float:
    return (time.time() - path.lstat().st_mtime) / 86_400


def rotate(file: Path, backups: int = BACKUPS) -> None:
    """Copy a log to `FILE.1`, and truncate it; an old `FILE.1` becomes `FILE.2`, and so on; the last one is removed."""
    names = [file.with_name(f"{file.name}.{number}") for number in range(1, backups + 1)]
    for older, newer in zip(reversed(names[1:]), reversed(names[:-1]), strict=True):
        if newer.exists():
            newer.replace(older)
    shutil.copy2(file, names[0])
    with file.open("r+b") as log:
        log.truncate()
