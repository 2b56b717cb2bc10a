"""The guards of tools/guards are those of this tree."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PLACE = ROOT / "tools" / "guards"
SPEC = importlib.util.spec_from_file_location("guards", PLACE / "__init__.py", submodule_search_locations=[str(PLACE)])
guards = importlib.util.module_from_spec(SPEC)
sys.modules["guards"] = guards
SPEC.loader.exec_module(guards)


@pytest.mark.parametrize("mutation", guards.MUTATIONS, ids=lambda mutation: mutation.guard)
def test_a_guard_stands_once_in_its_file_and_has_tests(mutation):
    text = (ROOT / "include" / "tailrace" / mutation.file).read_text()
    assert text.count(mutation.text) == 1
    assert mutation.replacement != mutation.text
    assert mutation.tests
    for test in mutation.tests:
        file, *names = test.split("::")
        assert (ROOT / file).is_file()
        assert not names or f"def {names[-1].partition('[')[0]}(" in (ROOT / file).read_text()


def test_a_guard_stands_in_a_file_of_its_room():
    files = {file.__name__.removeprefix("guards."): file for file in guards.FILES}
    assert {*files, "__init__", "mutation", "shared_tests"} == {file.stem for file in PLACE.glob("*.py")}
    for name, file in files.items():
        (room,) = {mutation.file.partition("/")[0] for mutation in file.MUTATIONS}
        assert name == room or name.startswith(f"{room}_")
        assert room in files
