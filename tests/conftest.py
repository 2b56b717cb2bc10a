"""What holds in all tests: a command ends by `SystemExit`, its interruption ends with the test, no example is timed.

Several processes are given the longest tests first (`kit/suite/balance.py`).
"""

from __future__ import annotations

import gc
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path

import pytest
import typer.main

from kit.suite.balance import hand_out, read_durations
from kit.suite.examples import load_profile
from kit.suite.figures import Figures
from kit.suite.group_fixtures import GroupFixtures
from kit.suite.parts import Parts
from kit.suite.units import UnitChoice, UnitRecorder
from tailrace.cli import leaving
from tailrace.ground.interruptions import forget_interruptions

typer.main.get_command = cache(typer.main.get_command)  # else each call of a command builds all of them


@pytest.fixture(autouse=True)
def command_ends_by_system_exit(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(leaving, "leave", lambda code, waits=True: sys.exit(code))


@pytest.fixture(autouse=True)
def interruption_ends_with_its_test() -> Iterator[None]:
    """Forget a signal that a test sent to a command in this process: else a later test that retries would end by it."""
    yield
    forget_interruptions()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--gate", action="store_true", help="run what needs Python alone, with a tenth of the examples")
    parser.addoption("--figures", action="store_true", help="run the tests that promise something within a time")
    parser.addoption("--units", metavar="FILE", help="record how each unit of the tests ends (kit/suite/units.py)")
    parser.addoption("--only", metavar="NAMES", help="run the units of these names, parts or directories")
    parser.addoption("--again", action="store_true", help="run the units that are not green in the record")
    parser.addoption("--alone", metavar="UNIT", help="run one unit, which was red beside others")


def pytest_configure(config: pytest.Config) -> None:
    is_gate = config.getoption("--gate")
    load_profile(0.1 if is_gate else 1.0, config.getoption("--hypothesis-seed", None))
    config.pluginmanager.register(Parts(Path(__file__).parent, is_gate))
    config.pluginmanager.register(Figures(config.getoption("--figures")))
    units = config.getoption("--units")
    if hasattr(config, "workerinput"):
        config.pluginmanager.register(GroupFixtures())
        config.pluginmanager.register(UnitChoice(config), "units")
    elif units:
        config.pluginmanager.register(UnitRecorder(Path(units), bool(config.getoption("--alone"))))


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Search for no garbage among modules and tests, which stay to the end: neither now nor beside each test."""
    gc.disable()
    try:
        return (yield)
    finally:
        gc.freeze()
        gc.enable()


@pytest.hookimpl(tryfirst=True)  # before xdist reads the groups, and after the hooks of directories, which are later
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if hasattr(config, "workerinput"):  # in one process, tests run in the order of their files, as some need it
        units = hand_out(items, config.rootpath, read_durations())
        config.pluginmanager.get_plugin("units").choose(items, units)
