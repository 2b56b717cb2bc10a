"""The guards of tools/guards.tsv are those of this tree: their texts and their tests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from guards import TABLE, Guard, read_guards
from tailrace.ground.errors import Problem


def guards(root: Path) -> Iterator[Problem]:
    """Yield the guards whose text or tests are no more, and those that stand out of order or twice."""
    table = root / "tools" / TABLE.name
    before: Guard | None = None
    for line, guard in enumerate(read_guards(table), 1):
        for fault, remedy in _faults(guard, before, root):
            yield Problem(f"tools/{TABLE.name}:{line}", fault, remedy)
        before = guard


def _faults(guard: Guard, before: Guard | None, root: Path) -> Iterator[tuple[str, str]]:
    """Yield what is wrong with a guard, and what would be right."""
    file = root / guard.path
    count = file.read_text().count(guard.text) if file.is_file() else 0
    if before is not None and guard.path < before.path:
        yield f"{guard.path} stands behind {before.path}", "guards in the order of their files"
    if before is not None and guard[:3] == before[:3]:
        yield "the line before is the same guard", "one line with all its tests"
    if count != 1:
        yield f"{guard.path} has {guard.text!r} {count} times", "the text that makes the guard, which stands once"
    if guard.replacement == guard.text:
        yield "its replacement is its text", "a text without the guard"
    if not guard.tests:
        yield "no test goes red without it", "the quick tests that do"
    for test in guard.tests:
        name, *functions = test.split("::")
        if not (root / name).is_file():
            yield f"there is no file {name}", "the file with its tests"
        elif functions and f"def {functions[-1].partition('[')[0]}(" not in (root / name).read_text():
            yield f"{name} has no {functions[-1]}", "a test that goes red without it"
