"""The live driver of a query on an embedded driver host, and what can be seen of it from outside."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from pathlib import Path

import psutil
from workloads import NAME, TASKS

from tailrace.drivers.supervisor import SupervisorHost
from tailrace.engine.task_change import tasks_after
from tailrace.storage.journal import Journal

ROOT = Path(__file__).resolve().parents[2]
POLL_S = 0.01
MOST_S = 120.0
"""How long a recovery may take."""

END_S = 900.0
"""How long the correction of everything may take in the end, when nothing waits for it."""


class TooLong(Exception):
    """Raised when something has not come about in time."""


class LiveDriver:
    """A driver that its host starts again whenever it dies.

    Parameters
    ----------
    environment : dict, optional
        Further environment variables of the driver, and of commands beside it.
    engine : str
        What runs the batches.

    Attributes
    ----------
    home : Path
        The query's directory in the warehouse.
    """

    def __init__(
        self,
        host: SupervisorHost,
        file: Path,
        warehouse: Path,
        environment: Mapping[str, str] | None = None,
        engine: str = "spark",
    ) -> None:
        self.file, self.warehouse, self.home = file, warehouse, warehouse / NAME
        self.host, self.engine = host, engine
        self._environment = {"PYTHONPATH": str(ROOT / "include"), **(environment or {})}

    def command(self, verb: str, *words: str, about: Path | None = None) -> list[str]:
        """A command of tailrace's about the query, or about a path."""
        return [
            *(sys.executable, "-m", "tailrace", verb, str(about or self.file)),
            *("--warehouse", str(self.warehouse), *words),
        ]

    def begin(self, verb: str, *words: str, about: Path | None = None) -> subprocess.Popen[str]:
        """Begin such a command beside the driver, as a user would: it is no part of the driver."""
        return subprocess.Popen(
            self.command(verb, *words, about=about),
            env=os.environ | self._environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )

    def deploy(self, batch_rows: int = 1_000_000) -> None:
        """Let the host start the driver, with a budget of restarts that outlasts any row of kills."""
        (self.home / "_stream" / "drain").unlink(missing_ok=True)  # else it drains at once, as after the last drain
        launch = [sys.executable, "-m", "tailrace.drivers.launch", "--home", str(self.home)]
        run = self.command("run", "--engine", self.engine, "--batch-rows", str(batch_rows))
        budget = ["--restarts", "100000", "--within", "10", "--"]
        self.host.deploy(NAME, [*launch, *budget, *run], self._environment)

    def drain(self) -> None:
        """Ask the driver to end after its batch, and wait until it has."""
        (self.home / "_stream" / "drain").touch()
        await_(lambda: not self.host.inspect(NAME).alive, MOST_S)

    @property
    def pid(self) -> int | None:
        return self.host.inspect(NAME).pid

    @property
    def reporting_pid(self) -> int | None:
        """The pid in the last status: after a death it is the old one until the next driver has taken over."""
        with suppress(OSError, ValueError, KeyError):
            return int(json.loads((self.home / "_stream" / "status.json").read_text())["pid"])
        return None

    @property
    def commits(self) -> int:
        """The number of batches that the note of written batches commits."""
        with suppress(OSError, ValueError):
            note = json.loads((self.home / "_stream" / "checkpoint" / "tables.json").read_text())
            return max(note.values(), default=-1) + 1
        return 0

    @property
    def begun(self) -> int:
        """The number of batches that were begun: those that the journal has."""
        return Journal(self.home / "_stream" / "journal").count

    @property
    def tasks(self) -> int:
        """The number of tasks of the newest batch that was begun."""
        newest = Journal(self.home / "_stream" / "journal").last()
        return TASKS if newest is None else tasks_after(newest.header.facts, TASKS, 0)

    def processes(self) -> list[psutil.Process]:
        """The driver, its JVM and their Python workers."""
        pid = self.pid
        with suppress(psutil.NoSuchProcess):
            if pid is not None:
                return [(driver := psutil.Process(pid)), *driver.children(recursive=True)]
        return []

    def workers(self) -> list[psutil.Process]:
        """The Python workers that PySpark's daemon has forked."""
        found = []
        for process in self.processes():
            with suppress(psutil.NoSuchProcess):
                parent = process.parent()
                if parent is not None and is_daemon(process) and is_daemon(parent):
                    found.append(process)
        return found

    def await_commits(self, count: int) -> None:
        """Wait until there are so many commits.

        Raises
        ------
        TooLong
            When there are not after two minutes; the message has the driver's last lines.
        """
        try:
            await_(lambda: self.commits >= count, MOST_S)
        except TooLong:
            lines = "\n".join(self.host.last_lines(NAME, 20))
            raise TooLong(
                f"{self.commits} commits, and not {count}, after {MOST_S:g} s; the driver:\n{lines}"
            ) from None


def await_(condition: Callable[[], object], seconds: float) -> None:
    """Look again and again until a condition holds.

    Raises
    ------
    TooLong
        When it does not in time.
    """
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise TooLong(f"it has not come about in {seconds:g} s")
        time.sleep(POLL_S)


def is_daemon(process: psutil.Process) -> bool:
    """True for PySpark's daemon, and for the Python workers that it has forked."""
    return "pyspark.daemon" in process.cmdline()


def finish(driver: LiveDriver) -> None:
    """Read what is left, and end the stream.

    Raises
    ------
    TooLong
        When that fails.
    """
    bounded = driver.begin("run", "--engine", driver.engine, "--bounded")
    said, _ = bounded.communicate()
    if bounded.returncode:
        raise TooLong(f"the stream could not be ended: {said[-2000:]}")
