"""Tests of one `xdist_group` run in one process, which makes their servers once, and ends them with the group."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).parents[1]

GROUPED = """
import os, pytest

@pytest.mark.xdist_group("one")
@pytest.mark.parametrize("number", range(8))
def test_where(number):
    with open("where", "a") as file:
        print(os.environ["PYTEST_XDIST_WORKER"], file=file)
"""


@pytest.mark.needs("process")
def test_the_tests_of_a_group_run_in_one_process(tmp_path):
    """Pytest 9.2 with xdist 3.8 passes over the groups, without a word."""
    (tmp_path / "test_grouped.py").write_text(GROUPED)
    options = ["-n", "2", "--dist", "loadgroup", "-p", "no:cacheprovider", "-c", "/dev/null", "--rootdir", "."]
    command = [sys.executable, "-m", "pytest", *options, "test_grouped.py"]
    run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert run.returncode == 0, run.stdout
    workers = (tmp_path / "where").read_text().split()
    assert len(workers) == 8
    assert len(set(workers)) == 1


SHARED = """
import pytest
from kit.suite.group_fixtures import GroupFixtures

def pytest_configure(config):
    config.pluginmanager.register(GroupFixtures())

def pytest_collection_modifyitems(items):
    for item in items:
        item.add_marker(pytest.mark.xdist_group(item.path.stem))
"""
SERVERS = """
import pytest

def note(what):
    with open("notes", "a") as file:
        print(what, file=file)

@pytest.fixture(scope="session")
def authority():
    yield note("authority begins")
    note("authority ends")

@pytest.fixture(scope="session")
def server(authority, tmp_path_factory):
    yield note("server begins")
    note("server ends")
"""
USERS = """
from pathlib import Path
from in_a_directory.conftest import note

def test_one(server, tmp_path_factory): note("one")
def test_two(server): note("two")
"""


@pytest.mark.needs("process")
def test_the_servers_of_a_group_end_with_it_and_begin_anew_for_another(tmp_path):
    directory = tmp_path / "in_a_directory"
    directory.mkdir()
    (tmp_path / "conftest.py").write_text(SHARED)
    (directory / "conftest.py").write_text(SERVERS)
    for name in ("test_a.py", "test_c.py"):
        (directory / name).write_text(USERS)
    (directory / "test_b.py").write_text("from in_a_directory.conftest import note\ndef test_three(): note('three')\n")
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "-c", "/dev/null", "--rootdir", "."]
    environment = {**os.environ, "PYTHONPATH": f"{TESTS}{os.pathsep}{tmp_path}"}
    run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False, env=environment)
    assert run.returncode == 0, run.stdout
    group = ["authority begins", "server begins", "one", "two", "server ends", "authority ends"]
    assert (tmp_path / "notes").read_text().splitlines() == [*group, "three", *group]
