"""Tests of one `xdist_group` run in one process: else each process makes their costly fixtures for itself."""

from __future__ import annotations

import subprocess
import sys

GROUPED = """
import os, pytest

@pytest.mark.xdist_group("one")
@pytest.mark.parametrize("number", range(8))
def test_where(number):
    with open("where", "a") as file:
        print(os.environ["PYTEST_XDIST_WORKER"], file=file)
"""


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
