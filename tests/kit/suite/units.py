"""How each unit of the whole suite ended, in a record that a later run goes on from.

A unit is what one process runs in order: an `xdist_group`, or else a file (`balance.py`). These options choose units:

    --units build/units.json    the record: written as units end, those of earlier runs stay
    --only kafka,tests/dags     the units with a test that needs this part, of this name or below this directory
    --again                     the units that are not green in the record
    --alone kafka               the one unit of this name, which was red beside others

The record is one JSON object. `all` has the number of tests of every unit there is, `latest` the names of those that
the latest run was to run, and `units` what has run.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import httpx
import psutil
import pytest

from kit.suite.balance import unit_of
from kit.suite.parts import needs_of
from kit.suite.waiting import WaitedInVain

WAITED = (WaitedInVain, TimeoutError, subprocess.TimeoutExpired, psutil.TimeoutExpired, httpx.TimeoutException)
"""What a test raises that waited for a process, a page or a server for too long."""


@dataclass
class Unit:
    """What is known of a unit that has begun.

    Attributes
    ----------
    tests : int
        How many tests it has.
    ended : int
        How many of them have ended.
    skipped : int
        How many of these were skipped.
    seconds : float
    reasons : list of str
        Why tests failed: the test, and the last line of what it said.
    is_waiting : bool
        Whether each failure is of a test that waited for too long.
    was_red : bool
        Whether it failed beside other units, before it ran alone.
    """

    tests: int
    ended: int = 0
    skipped: int = 0
    seconds: float = 0.0
    reasons: list[str] = field(default_factory=list)
    is_waiting: bool = True
    was_red: bool = False

    @property
    def verdict(self) -> str:
        if self.reasons:
            return "red"
        if self.ended < self.tests:
            return f"ended after {self.ended} of {self.tests}" if self.ended else "not run"
        return "red under load, green alone" if self.was_red else "green"

    @property
    def is_green(self) -> bool:
        return not self.reasons and self.ended >= self.tests


@dataclass
class Record:
    """The units of a tree: those that there are, those of the latest run, and those that have run."""

    all: dict[str, int] = field(default_factory=dict)
    latest: list[str] = field(default_factory=list)
    units: dict[str, Unit] = field(default_factory=dict)

    @classmethod
    def read(cls, file: Path) -> Record:
        """Return the record in a file; an empty one where there is no file."""
        if not file.exists():
            return cls()
        text = json.loads(file.read_text())
        return cls(text["all"], text["latest"], {name: Unit(**unit) for name, unit in text["units"].items()})

    def write(self, file: Path) -> None:
        file.parent.mkdir(parents=True, exist_ok=True)
        new = file.with_suffix(".new")
        new.write_text(json.dumps(asdict(self), indent=1))
        os.replace(new, file)


class UnitChoice:
    """A plugin of the processes that run tests: it chooses the units, and says which failures are of waiting."""

    def __init__(self, config: pytest.Config) -> None:
        self._config = config
        self._only = [name for name in (config.getoption("--only") or "").split(",") if name]
        self._alone = config.getoption("--alone")
        file = config.getoption("--units")
        is_again = file and config.getoption("--again")
        known = Record.read(Path(file)).units if is_again else {}
        self._green = {name for name, unit in known.items() if unit.is_green}

    def choose(self, items: list[pytest.Item], units: Sequence[str]) -> None:
        """Keep the tests of the chosen units; `units` has the unit of each test."""
        if hasattr(self._config, "workeroutput"):
            self._config.workeroutput["all"] = dict(Counter(units))
        named = {name for item, name in zip(items, units, strict=True) if self._names(item, name)}
        chosen = [item for item, name in zip(items, units, strict=True) if name in named and name not in self._green]
        self._config.hook.pytest_deselected(items=sorted({*items} - {*chosen}, key=lambda item: item.nodeid))
        items[:] = chosen

    def _names(self, item: pytest.Item, unit: str) -> bool:
        if self._alone:
            return unit == self._alone
        path = item.path.relative_to(self._config.rootpath)
        return (
            not self._only
            or unit in self._only
            or any(name in needs_of(item) or path.is_relative_to(name) for name in self._only)
        )

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(self, item: pytest.Item, call: pytest.CallInfo[Any]) -> Any:
        report = yield
        if call.excinfo and has_waited(call.excinfo.value):
            report.user_properties.append(("waited", True))
        return report


def has_waited(error: BaseException) -> bool:
    """Return whether a test waited for too long: for a process, a page or a server, or by pytest's limit of a test."""
    if any("Failing test case" in note for note in getattr(error, "__notes__", ())):
        return False  # Hypothesis has found it again: it is no matter of the load
    if isinstance(error, WAITED):
        return True
    if isinstance(error, pytest.fail.Exception):
        return "from pytest-timeout" in str(error)
    if type(error).__module__.startswith("playwright"):
        return type(error).__name__ == "TimeoutError"
    return isinstance(error, AssertionError) and " with timeout " in str(error)  # Playwright's `expect`


class UnitRecorder:
    """A plugin of the process that hands tests out: it records how each unit ends."""

    def __init__(self, file: Path, is_alone: bool) -> None:
        self._file, self._is_alone = file, is_alone
        self._record = Record.read(file)
        self._begun: dict[str, Unit] = {}

    def pytest_xdist_node_collection_finished(self, ids: Sequence[str]) -> None:
        """Take the numbers of tests that are going to run; all processes have the same."""
        if not self._begun:
            self._begun = {name: Unit(tests) for name, tests in Counter(unit_of(test) for test in ids).items()}
            for unit in self._begun.values():
                unit.was_red = self._is_alone
            self._record.units |= self._begun
            if not self._is_alone:
                self._record.latest = list(self._begun)
            self._record.write(self._file)

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any) -> None:
        self._record.all |= getattr(node, "workeroutput", {}).get("all", {})

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        unit = self._begun[unit_of(report.nodeid)]
        unit.seconds += report.duration
        unit.ended += report.when == "teardown"
        unit.skipped += report.skipped
        if report.failed:
            crash = getattr(report.longrepr, "reprcrash", None)
            said = (crash.message if crash else report.longreprtext).strip().splitlines() or ["it ended without a word"]
            unit.reasons.append(f"{report.nodeid}: {said[0 if crash else -1][:200]}")
            unit.is_waiting &= ("waited", True) in map(tuple, report.user_properties)
        if unit.ended == unit.tests:
            self._record.write(self._file)

    def pytest_sessionfinish(self) -> None:
        self._record.write(self._file)
