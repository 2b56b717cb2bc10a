"""Servers that the tests of a group share: they end with the group, and take nothing from the tests behind it."""

from __future__ import annotations

import pytest


class GroupFixtures:
    """A plugin that ends a directory's fixtures of scope `session` once the group that uses them is through.

    Pytest ends them with the process, which runs other groups for half an hour more. A later test that needs one of
    them gets a new one.
    """

    def __init__(self) -> None:
        self._begun: list[tuple[pytest.FixtureDef, pytest.FixtureRequest]] = []

    @pytest.hookimpl(tryfirst=True)  # a fixture that is needed for another is asked for first, and ends last
    def pytest_fixture_setup(self, fixturedef: pytest.FixtureDef, request: pytest.FixtureRequest) -> None:
        if fixturedef.scope == "session" and fixturedef.baseid:
            self._begun.append((fixturedef, request))

    @pytest.hookimpl(trylast=True)
    def pytest_runtest_teardown(self, item: pytest.Item, nextitem: pytest.Item | None) -> None:
        if nextitem is None or _groups(item) != _groups(nextitem):
            while self._begun:
                fixturedef, request = self._begun.pop()
                fixturedef.finish(request)


def _groups(item: pytest.Item) -> list[str]:
    return sorted(mark.args[0] for mark in item.iter_markers("xdist_group"))
