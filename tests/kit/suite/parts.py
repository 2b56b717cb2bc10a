"""The parts that tests need beside Python in their own process; `make test`, the gate, leaves these tests out.

A test names its part by `pytest.mark.needs("kafka")`, or by its directory. The gate has every test that needs nothing,
and those few marked `gate`. A test that starts a process and does not say so fails.
"""

from __future__ import annotations

import os
import subprocess
from collections.abc import Callable
from functools import wraps
from pathlib import Path
from typing import Any

import pytest

PARTS = {
    "airflow": "an Airflow, or the processes of a driver host",
    "clusters": "several servers: Spark's own cluster, YARN, the services of docker-compose.yaml",
    "kafka": "a broker",
    "long": "more seconds than the gate has: a death before every write, an experiment of a paper, many seeds",
    "objects": "an S3-compatible server",
    "pages": "Debian's Chromium, before an Airflow with the console",
    "postgres": "a PostgreSQL server",
    "process": "a second process, which the test waits for",
    "quiet": "a machine with nothing else to do: seconds, calls or memory are judged, or a limit is made tiny",
    "spark": "a JVM with Spark",
}

DIRECTORIES = {
    "answers_postgres": "postgres",
    "dags": "airflow",
    "e2e": "airflow",
    "kafka": "kafka",
    "objects": "objects",
    "pages": "pages",
    "spark": "spark",
    "yarn": "clusters",
}
"""The part that all tests of a directory below tests/ need."""

_STARTS = {
    "subprocess.Popen": (subprocess.Popen, "__init__", 1),
    **{f"os.{name}": (os, name, 0) for name in ("fork", "forkpty", "posix_spawn", "posix_spawnp", "system")},
}
"""What starts a process in Python: its owner, its name there, and the place of the command among its arguments."""

_OF_IMPORTS = ("file", "fc-list")
"""Programs that imports start, in whichever test comes first: croniter asks for the architecture, matplotlib fonts."""


class Parts:
    """A plugin that marks tests by their directories, chooses the gate, and fails a process that a test hides."""

    def __init__(self, tests: Path, is_gate: bool) -> None:
        self._tests, self._is_gate = tests, is_gate
        self._running: pytest.Item | None = None
        self._started: list[str] = []
        for what, (owner, name, place) in _STARTS.items():
            setattr(owner, name, self._observed(getattr(owner, name), what, place))

    def pytest_ignore_collect(self, collection_path: Path) -> bool | None:
        """Spare the gate the import of directories that it leaves out."""
        return True if self._is_gate and self._part_of(collection_path) else None

    @pytest.hookimpl(tryfirst=True)  # before others look at the marks
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        for item in items:
            part = self._part_of(item.path)
            if part:
                item.add_marker(pytest.mark.needs(part))
            unknown = needs_of(item) - PARTS.keys()
            if unknown:
                raise pytest.UsageError(f"{item.nodeid} needs {sorted(unknown)}; right would be one of {sorted(PARTS)}")
        if self._is_gate:
            chosen = [item for item in items if not needs_of(item) or item.get_closest_marker("gate")]
            config.hook.pytest_deselected(items=sorted({*items} - {*chosen}, key=lambda item: item.nodeid))
            items[:] = chosen

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_protocol(self, item: pytest.Item) -> Any:
        self._running, self._started = item, []
        try:
            return (yield)
        finally:
            self._running = None

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_call(self, item: pytest.Item) -> Any:
        result = yield
        if self._started:
            pytest.fail(f'it starts {self._started[0]}: mark it pytest.mark.needs("process")', pytrace=False)
        return result

    def _part_of(self, path: Path) -> str | None:
        """Return what the tests below a path need by their directory."""
        is_below = path.is_relative_to(self._tests) and path != self._tests
        return DIRECTORIES.get(path.relative_to(self._tests).parts[0]) if is_below else None

    def _observed(self, start: Callable[..., Any], what: str, place: int) -> Callable[..., Any]:
        """Return a function that does as `start`, and notes the process unless the running test says that it needs one.

        `what`: its name in messages; `place`: that of the command among its arguments.
        """

        @wraps(start)
        def noting(*arguments: Any, **named: Any) -> Any:
            if self._running is not None and not needs_of(self._running):
                command = [*arguments, *named.values()][place : place + 1]
                if not (command and isinstance(command[0], list) and command[0] and command[0][0] in _OF_IMPORTS):
                    self._started.append(f"a process ({what} {str(command)[:200]})")
            return start(*arguments, **named)

        return noting


def needs_of(item: pytest.Item) -> set[str]:
    """Return the names of all that a test needs."""
    return {mark.args[0] for mark in item.iter_markers("needs")}
