"""The gate runs the tests that need nothing but Python, with a tenth of the examples; no test hides a process."""

from __future__ import annotations

import re

import pytest

from kit.suite.small_tree import SmallTree

pytestmark = pytest.mark.needs("process")

SMALL = """
import subprocess, sys
import pytest
from hypothesis import given, strategies
from kit.suite.examples import drawn

NUMBERS = []

def test_of_python(): pass

@pytest.mark.needs("kafka")
def test_of_a_broker(): pass

@pytest.mark.gate
@pytest.mark.needs("process")
def test_of_the_gate(): subprocess.run([sys.executable, "-c", ""])

@drawn(50)
@given(strategies.integers())
def test_of_numbers(number): NUMBERS.append(number)

def test_numbers(): print("NUMBERS", len(NUMBERS), NUMBERS)
"""
HIDDEN = """
import subprocess, sys

def test_hidden():
    try:
        subprocess.run([sys.executable, "-c", ""])
    except Exception:
        pass
"""


@pytest.fixture
def run(tmp_path):
    """Runs pytest over a small tree; returns its exit code and what it printed."""
    tree = SmallTree(tmp_path)
    (tmp_path / "kafka").mkdir()
    (tmp_path / "kafka" / "test_broker.py").write_text("import no_such_module")

    def run(*options: str, **files: str) -> tuple[int, str]:
        tree.write(**files)
        return tree.run(*options)

    return run


def numbers_of(printed: str) -> str:
    return re.search(r"NUMBERS (.*)", printed)[1]


def test_the_gate_has_what_needs_nothing_and_what_is_marked(run):
    code, printed = run("--gate", small=SMALL)
    assert code == 0, printed
    assert set(re.findall(r"::(\w+)", printed)) == {
        "test_of_python",
        "test_of_the_gate",
        "test_of_numbers",
        "test_numbers",
    }
    assert "1 deselected" in printed


def test_the_gate_draws_a_tenth_the_same_at_each_run_and_a_seed_draws_others(run):
    gate = numbers_of(run("--gate", small=SMALL)[1])
    assert gate.startswith("5 ")
    assert numbers_of(run("--gate")[1]) == gate
    assert numbers_of(run("--gate", "--hypothesis-seed=7")[1]) != gate
    assert numbers_of(run("test_small.py")[1]).startswith("50 ")


def test_a_process_that_a_test_does_not_name_fails_it(run):
    code, printed = run("--gate", hidden=HIDDEN)
    assert code == 1
    assert "it starts a process (subprocess.Popen" in printed
    assert 'mark it pytest.mark.needs("process")' in printed


@pytest.mark.parametrize(
    ("start", "what"),
    [
        ("import os\n\ndef test_fork():\n    os.fork() or os._exit(0)", "os.fork"),
        ("import os\n\ndef test_system(): os.system('true')", "os.system"),
        ("import os\n\ndef test_spawn(): os.posix_spawnp('true', ['true'], os.environ)", "os.posix_spawnp"),
    ],
)
def test_each_way_to_start_a_process_is_noted(run, start, what):
    code, printed = run("--gate", other=start)
    assert code == 1
    assert f"it starts a process ({what} " in printed


def test_a_part_that_there_is_not_is_refused(run):
    code, printed = run("--gate", small=SMALL.replace('needs("kafka")', 'needs("kafak")'))
    assert code == 4
    assert "needs ['kafak']; right would be one of ['airflow'" in printed
