"""The examples in docstrings of the Python API, and those of the page docs/python.md."""

from __future__ import annotations

import doctest
import re
from importlib import import_module
from pathlib import Path

import pytest

PAGE = Path(__file__).parents[3] / "docs" / "python.md"

MODULES = (
    "tailrace",
    "tailrace.ground.errors",
    *(f"tailrace.api.{name}" for name in ("answers", "declaration", "failed", "query", "run", "stream")),
    *(f"tailrace.testing{name}" for name in ("", ".assertions", ".clock", ".disorder", ".oracle")),
)


@pytest.mark.parametrize("name", MODULES)
def test_the_examples_of_docstrings_give_what_they_say(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    outcome = doctest.testmod(import_module(name))
    assert outcome.attempted
    assert not outcome.failed


def test_the_page_says_what_its_examples_print(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("TAILRACE_ENGINE", raising=False)
    names: dict[str, object] = {}
    for block in re.findall(r"^```python\n(.*?)^```$", PAGE.read_text(), re.DOTALL | re.MULTILINE):
        exec(block, names)  # the page's own code
        said = [line.partition("  # ")[2].partition(": ")[0] for line in block.splitlines() if line.startswith("print")]
        assert said
        assert capsys.readouterr().out.splitlines() == said
    assert not list(tmp_path.iterdir()), "rows in memory leave nothing behind"
