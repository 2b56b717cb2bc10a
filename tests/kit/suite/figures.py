"""Figures: how long what tests promise within a time took, printed beside its limit; judged on a quiet machine alone.

A test measures from the event on, waits as long as `waiting.py` says, and tells its fixture `figure` the outcome.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import pytest

TIMED = "TAILRACE_TIMED"
"""The environment variable that says that the machine has nothing else to do: a figure over its limit is red."""
_PROPERTY = "figure"


class Figures:
    """A plugin with the fixture `figure`, which may choose the tests that use it, and prints what they measured."""

    def __init__(self, are_alone: bool) -> None:
        self._are_alone = are_alone
        self._measured: list[tuple[str, float, float]] = []

    @pytest.fixture
    def figure(self, record_property: Callable[[str, object], None]) -> Callable[[str, float, float], None]:
        """Take a figure: what it is of, and the seconds that it took and may take."""

        def take(name: str, took_s: float, limit_s: float) -> None:
            record_property(_PROPERTY, [name, took_s, limit_s])  # so it comes to the process that prints
            if took_s > limit_s and os.environ.get(TIMED):
                pytest.fail(_line(name, took_s, limit_s), pytrace=False)

        return take

    @pytest.hookimpl(tryfirst=True)  # before the tests are handed out
    def pytest_collection_modifyitems(self, config: pytest.Config, items: list[pytest.Item]) -> None:
        if self._are_alone:
            chosen = [item for item in items if "figure" in getattr(item, "fixturenames", ())]
            config.hook.pytest_deselected(items=[item for item in items if item not in chosen])
            items[:] = chosen

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        if report.when == "teardown":  # whose report has what was recorded in all phases
            self._measured += [value for name, value in report.user_properties if name == _PROPERTY]

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        if self._measured:
            terminalreporter.section("figures")
        for figure in self._measured:
            terminalreporter.line(_line(*figure))


def _line(name: str, took_s: float, limit_s: float) -> str:
    return f"{name}: {took_s:.1f} s of {limit_s:g} s{', over' if took_s > limit_s else ''}"
