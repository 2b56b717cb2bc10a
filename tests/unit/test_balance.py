"""Several processes begin with the tests that take longest, by the durations on record, and each group stays in one."""

from __future__ import annotations

import json
from collections import Counter

import pytest

from kit.suite.balance import longest_first, read_durations, record_durations, unit_of
from kit.suite.small_tree import SmallTree, several

SECONDS = {"long": 60.0, "a/test_short.py": 0.1, "a/test_some.py": 5.0}
QUICK = "def test_first(): pass\ndef test_second(): pass\n"
GROUPED = "import pytest\npytestmark = pytest.mark.xdist_group('long')\n" + QUICK


def test_the_longest_units_come_first_and_unknown_ones_in_the_middle():
    units = ["a/test_short.py", "a/test_new.py", "long", "a/test_some.py"]
    assert longest_first(units, SECONDS | {"another": 3.0}) == [2, 3, 1, 0]


def test_the_tests_of_a_unit_stay_together_in_their_order():
    assert longest_first(["b", "long", "a", "b", "long", "a"], SECONDS) == [1, 4, 0, 3, 2, 5]


def test_without_a_record_the_order_stays():
    assert longest_first(["b.py", "a.py"], {}) == [0, 1]


@pytest.mark.parametrize(
    ("node_id", "unit"),
    [
        ("tests/a/test_b.py::test_c", "tests/a/test_b.py"),
        ("tests/a/test_b.py::TestC::test_d[x::y]", "tests/a/test_b.py"),
        ("tests/a/test_b.py::test_c[1]@group", "group"),
        ("tests/a/test_b.py::test_c[user@host]", "tests/a/test_b.py"),
    ],
)
def test_a_test_goes_by_its_group_or_else_by_its_file(node_id, unit):
    assert unit_of(node_id) == unit


def test_what_was_not_run_keeps_its_duration(tmp_path):
    file = tmp_path / "durations.json"
    record_durations(Counter({"one": 12.34, "two": 0.16}), file)
    record_durations(Counter({"two": 3.6}), file)
    assert read_durations(file) == {"one": 12, "two": 4}


WHERE = """
import os, pytest

@pytest.mark.parametrize("number", range(6))
def test_where(number):
    with open(f"{__name__}.where", "a") as file:
        print(os.environ["PYTEST_XDIST_WORKER"], file=file)
"""


@pytest.mark.needs("process")
def test_processes_begin_with_the_longest(tmp_path):
    tree = SmallTree(tmp_path, a=QUICK, b=QUICK, c=GROUPED, d=QUICK)
    (tmp_path / "durations.json").write_text(
        json.dumps({"test_a.py": 0.1, "test_b.py": 1, "long": 50, "test_d.py": 0.2, "gone.py": 7})
    )
    code, printed = tree.run(*several(1))
    assert code == 0, printed
    lines = [line for line in printed.splitlines() if "PASSED" in line]
    order = [line.split()[-1].partition("::")[0].removesuffix(".py") for line in lines]
    assert list(dict.fromkeys(order)) == ["test_c", "test_b", "test_d", "test_a"]


@pytest.mark.needs("process")
def test_a_file_stays_in_one_process_unless_it_takes_long(tmp_path):
    tree = SmallTree(tmp_path, quick=WHERE, long=WHERE)
    (tmp_path / "durations.json").write_text(json.dumps({"test_quick.py": 5, "test_long.py": 100}))
    code, printed = tree.run(*several(2))
    assert code == 0, printed
    workers = {file.stem: set(file.read_text().split()) for file in tmp_path.glob("*.where")}
    assert len(workers["test_quick"]) == 1
    assert len(workers["test_long"]) == 2
