"""The guards of tools/guards.py are those of this tree."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SPEC = importlib.util.spec_from_file_location("guards", ROOT / "tools" / "guards.py")
guards = importlib.util.module_from_spec(SPEC)
sys.modules["guards"] = guards
SPEC.loader.exec_module(guards)


@pytest.mark.parametrize("mutation", guards.MUTATIONS, ids=lambda mutation: mutation.guard)
def test_a_guard_stands_once_in_its_file_and_has_tests(mutation):
    text = (ROOT / "include" / "tailrace" / mutation.file).read_text()
    assert text.count(mutation.text) == 1
    assert mutation.replacement != mutation.text
    assert mutation.tests
    assert all((ROOT / test.partition("::")[0]).is_file() for test in mutation.tests)
