"""The page docs/tutorial-notebook.md: its blocks run as the cells of a notebook, over the files of an example."""

from __future__ import annotations

import ast
import shutil
from itertools import pairwise
from typing import Any

import pytest

from kit.suite.doc_pages import ROOT, WRITTEN, blocks

PAGE = "docs/tutorial-notebook.md"
EXAMPLE = ROOT / "include" / "examples" / "csv"
BLOCKS = blocks(WRITTEN[PAGE])


def run_cell(code: str, names: dict[str, Any]) -> Any:
    """Run a cell; return what a notebook shows of it: the value of its last line, if that is an expression."""
    *statements, last = ast.parse(code).body
    if not isinstance(last, ast.Expr):
        statements.append(last)
    exec(compile(ast.Module(statements, []), PAGE, "exec"), names)  # the page's own code
    return eval(compile(ast.Expression(last.value), PAGE, "eval"), names) if isinstance(last, ast.Expr) else None


def lines_of(text: str) -> list[str]:
    return [line.rstrip() for line in text.splitlines()]


@pytest.fixture
def names(tmp_path, monkeypatch) -> dict[str, Any]:
    """The names of a notebook beside a copy of the example."""
    shutil.copytree(EXAMPLE, tmp_path / "csv")
    monkeypatch.chdir(tmp_path)
    for variable in ("TAILRACE_ENGINE", "TAILRACE_WAREHOUSE"):
        monkeypatch.delenv(variable, raising=False)
    return {}


@pytest.mark.slow
def test_each_cell_shows_what_the_page_says(names, tmp_path):
    shown = 0
    for block, after in pairwise([*BLOCKS, BLOCKS[0]]):
        if block.language == "python":
            value = run_cell(block.text, names)
            if after.language == "text":
                assert lines_of(repr(value)) == lines_of(after.text), f"{PAGE}:{block.line}"
                shown += 1
    assert shown == sum(block.language == "text" for block in BLOCKS) == 4
    picture = tmp_path / "revenue.png"
    assert names["picture"]._repr_png_()[:8] == picture.read_bytes()[:8] == b"\x89PNG\r\n\x1a\n"


def test_the_query_of_the_page_is_the_one_of_the_example():
    (query,) = (block for block in BLOCKS if block.title == "csv/query.yaml")
    assert query.text == (EXAMPLE / "query.yaml").read_text()


def test_a_cell_shows_its_last_expression():
    names: dict[str, Any] = {}
    assert run_cell("a = 2\na + 1\n", names) == 3
    assert run_cell("b = a\n", names) is None
    assert names["b"] == 2
