"""The whole suite by units: a second chance for what waited in vain, what is left to run, and the table."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from kit.suite.small_tree import TESTS, SmallTree

ONCE = """
from pathlib import Path
from kit.suite.waiting import WaitedInVain

def test_that_a_busy_machine_makes_red():
    if not Path("build/waited").exists():
        Path("build/waited").touch()
        raise WaitedInVain("no driver")
"""
IN_VAIN = "from kit.suite.waiting import WaitedInVain\ndef test(): raise WaitedInVain\n"
PLAIN = "def test_first(): pass\ndef test_second(): pass\n"


@pytest.fixture
def suite(tmp_path):
    """Runs the suite of a small tree in git; returns its exit code and what it printed."""
    tree = SmallTree(tmp_path)
    (tmp_path / "tools").mkdir()
    shutil.copy(TESTS.parent / "tools" / "suite.py", tmp_path / "tools")
    (tmp_path / "build").mkdir()
    (tmp_path / ".gitignore").write_text("build\n__pycache__\n")
    subprocess.run(["git", "init", "--quiet"], cwd=tmp_path, check=True)

    def suite(*words: str, **files: str) -> tuple[int, str]:
        tree.write(**files)
        return tree.python("tools/suite.py", "--processes=1", *words)

    return suite


@pytest.mark.needs("process")
def test_what_waited_in_vain_runs_again_alone_and_the_table_says_so(suite):
    code, printed = suite(once=ONCE, plain=PLAIN)
    assert code == 0, printed
    assert "test_once.py waited in vain: it runs again alone" in printed
    table = printed[printed.rindex("unit ") :].splitlines()
    assert sorted(line.split(maxsplit=3)[::3] for line in table[1:3]) == [
        ["test_once.py", "red under load, green alone"],
        ["test_plain.py", "green"],
    ]
    assert table[3].startswith("2 of 2 units green, 3 tests in ")
    code, printed = suite("--again")
    assert (code, printed.splitlines()[-1]) == (0, "nothing is left to run: all of it is green on this tree")


@pytest.mark.needs("process")
def test_more_than_five_red_units_are_not_the_load_of_the_machine(suite):
    code, printed = suite(**{f"red_{number}": IN_VAIN for number in range(6)}, plain=PLAIN)
    assert code == 1, printed
    assert "it runs again alone" not in printed
    assert "1 of 7 units green" in printed


@pytest.mark.needs("process")
def test_another_tree_begins_anew_and_a_part_of_it_names_what_has_not_run(suite):
    assert suite("--only=test_plain.py", plain=PLAIN, other=PLAIN)[0] == 0
    code, printed = suite("--only=test_plain.py", other=PLAIN * 2)
    assert code == 0, printed
    assert "not run on this tree: 1 of 2 units, with 2 tests" in printed
    code, printed = suite("--again")
    assert "2 of 2 units green, 4 tests" in printed


@pytest.mark.needs("process")
def test_a_name_that_there_is_not_is_refused(suite):
    code, printed = suite("--only=kafak,kafka", plain=PLAIN)
    assert code == 2
    assert "nothing is named kafak\n    right would be a part (airflow, " in printed


@pytest.mark.needs("process")
def test_without_git_there_is_no_name_for_the_record(suite, tmp_path):
    shutil.rmtree(tmp_path / ".git")
    code, printed = suite(plain=PLAIN)
    assert code == 2
    assert "is no git checkout\n    right would be: a clone" in printed
    assert "Traceback" not in printed
