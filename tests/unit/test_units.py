"""The record of units: what ran, how it ended, what runs again, and which failures are of waiting alone."""

from __future__ import annotations

import subprocess

import pytest

from kit.suite.small_tree import SmallTree, several
from kit.suite.units import Record, Unit, has_waited
from kit.suite.waiting import WaitedInVain

STORY = """
import pytest
from kit.suite.waiting import WaitedInVain

pytestmark = pytest.mark.xdist_group("story")

def test_of_python(): pass

@pytest.mark.needs("kafka")
def test_of_a_broker(): {}
"""
PLAIN = "def test_first(): pass\ndef test_second(): pass\n"
GROUPED = "import pytest\n@pytest.mark.xdist_group('topics')\ndef test(): pass\n"
PROPERTY = """
from hypothesis import given, strategies
from kit.suite.waiting import WaitedInVain

@given(strategies.integers())
def test_of_numbers(number): raise WaitedInVain
"""


@pytest.fixture
def run(tmp_path):
    """Runs pytest with a record; returns the record afterwards."""
    tree, file = SmallTree(tmp_path), tmp_path / "record.json"

    def run(*options: str, code: int = 0, **files: str) -> Record:
        tree.write(**files)
        ended, printed = tree.run(*several(1), f"--units={file}", *options)
        assert ended == code, printed
        return Record.read(file)

    return run


def green(record: Record) -> dict[str, int]:
    return {name: unit.ended for name, unit in record.units.items() if unit.is_green}


@pytest.mark.needs("process")
def test_units_are_chosen_by_part_by_name_and_by_directory_and_the_record_keeps_the_rest(run, tmp_path):
    (tmp_path / "kafka").mkdir()
    (tmp_path / "kafka" / "test_topic.py").write_text(PLAIN)
    (tmp_path / "kafka" / "test_of_group.py").write_text(GROUPED)
    files = {"story": STORY.format("pass"), "plain": PLAIN, "other": PLAIN}
    assert green(run("--only=kafka", **files)) == {"story": 2, "topics": 1, "kafka/test_topic.py": 2}
    record = run("--only=test_plain.py")
    assert green(record) == {"story": 2, "topics": 1, "kafka/test_topic.py": 2, "test_plain.py": 2}
    assert record.all == green(record) | {"test_other.py": 2}
    assert green(run("--again"))["test_other.py"] == 2
    run("--again", code=5)
    (tmp_path / "record.json").unlink()
    assert green(run("--only=kafka/,story")) == {"story": 2, "topics": 1, "kafka/test_topic.py": 2}


@pytest.mark.needs("process")
def test_a_unit_that_waited_in_vain_is_green_once_it_ran_alone(run):
    red = run(code=1, story=STORY.format("raise WaitedInVain('no broker')"), plain=PLAIN).units["story"]
    assert red.verdict == "red"
    assert red.is_waiting
    assert red.reasons == ["test_story.py::test_of_a_broker@story: kit.suite.waiting.WaitedInVain: no broker"]
    record = run("--alone=story", story=STORY.format("pass"))
    assert record.units["story"].verdict == "red under load, green alone"
    assert record.units["test_plain.py"].verdict == "green"


@pytest.mark.needs("process")
@pytest.mark.parametrize("files", [{"story": STORY.format("assert 1 == 2")}, {"property": PROPERTY}])
def test_a_wrong_value_and_a_falsified_property_are_not_of_waiting(run, files):
    (unit,) = run(code=1, **files).units.values()
    assert not unit.is_waiting
    assert not unit.is_green


@pytest.mark.needs("process")
def test_a_process_that_dies_makes_its_unit_red_and_not_of_waiting(run):
    unit = run(code=1, story=STORY.format("__import__('os')._exit(1)")).units["story"]
    assert "crashed" in unit.reasons[0]
    assert not unit.is_waiting


def test_a_unit_that_did_not_end_is_not_green():
    assert not Unit(tests=3, ended=2).is_green
    assert Unit(tests=3, ended=2).verdict == "ended after 2 of 3"
    assert Unit(tests=3).verdict == "not run"


def timed_out() -> BaseException:
    with pytest.raises(pytest.fail.Exception) as told:
        pytest.fail("Timeout (>1800.0s) from pytest-timeout.")
    return told.value


def falsified(error: Exception) -> Exception:
    error.add_note("Failing test case: test_of_numbers(number=0)")
    return error


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (WaitedInVain("a driver"), True),
        (TimeoutError(), True),
        (subprocess.TimeoutExpired("java", 300), True),
        (timed_out(), True),
        (
            AssertionError("Locator expected to have text '7'\n  - LocatorAssertions.to_have_text with timeout 5ms"),
            True,
        ),
        (AssertionError("assert 1 == 2"), False),
        (ValueError("no timeout"), False),
        (falsified(WaitedInVain("a driver")), False),
        (KeyError("row lost"), False),
    ],
)
def test_by_its_exception_a_test_waited_for_too_long_or_not(error, expected):
    assert has_waited(error) is expected
