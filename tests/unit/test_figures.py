"""Figures are printed beside their limits; one that is over its limit is red on a quiet machine alone."""

from __future__ import annotations

import pytest

from kit.suite.figures import TIMED

pytest_plugins = ["pytester"]

CONFTEST = """
from kit.suite.figures import Figures

def pytest_addoption(parser):
    parser.addoption("--figures", action="store_true")

def pytest_configure(config):
    config.pluginmanager.register(Figures(config.getoption("--figures")))
"""
TESTS = """
def test_quick(figure):
    figure("a quick thing", 1.25, 60)

def test_slow(figure):
    figure("a slow thing", 61.5, 60)

def test_of_no_figure():
    pass
"""
PRINTED = ["*= figures =*", "a quick thing: 1.2 s of 60 s", "a slow thing: 61.5 s of 60 s, over"]


@pytest.fixture
def tree(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> pytest.Pytester:
    """A small tree of tests, on a machine that is not said to be quiet."""
    monkeypatch.delenv(TIMED, raising=False)
    pytester.makeconftest(CONFTEST)
    pytester.makepyfile(TESTS)
    return pytester


def test_figures_are_printed_beside_their_limits(tree):
    result = tree.runpytest_inprocess()
    result.assert_outcomes(passed=3)
    result.stdout.fnmatch_lines(PRINTED)


@pytest.mark.needs("process")
def test_figures_of_other_processes_are_printed_once(tree):
    result = tree.runpytest_inprocess("-n", "1")
    result.assert_outcomes(passed=3)
    result.stdout.fnmatch_lines(PRINTED)
    assert str(result.stdout).count("a quick thing") == 1


def test_a_figure_over_its_limit_is_red_where_the_machine_is_said_to_be_quiet(tree, monkeypatch):
    monkeypatch.setenv(TIMED, "1")
    result = tree.runpytest_inprocess()
    result.assert_outcomes(passed=2, failed=1)
    result.stdout.fnmatch_lines(["a slow thing: 61.5 s of 60 s, over", *PRINTED])


def test_tests_of_figures_can_be_run_alone(tree):
    tree.runpytest_inprocess("--figures").assert_outcomes(passed=2, deselected=1)


def test_without_figures_nothing_is_printed(tree):
    tree.runpytest_inprocess("-k", "no_figure").stdout.no_fnmatch_line("*= figures =*")
