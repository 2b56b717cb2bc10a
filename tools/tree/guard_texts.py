"""The guards of tools/guards are those of this tree: their texts, their tests and their rooms."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from guards import FILES
from guards.mutation import Mutation
from tailrace.ground.errors import Problem

_OTHERS = {"__init__", "mutation", "shared_tests"}


def guards(root: Path) -> Iterator[Problem]:
    """Yield the guards whose text or tests are no more."""
    for file in FILES:
        place = f"tools/guards/{_name(file)}.py"
        source = (root / place).read_text()
        for mutation in file.MUTATIONS:
            line = source.count("\n", 0, max(0, source.find(mutation.guard))) + 1
            for fault, remedy in _faults(mutation, root):
                yield Problem(f"{place}:{line}", fault, remedy)


def _faults(mutation: Mutation, root: Path) -> Iterator[tuple[str, str]]:
    """Yield what is wrong with a guard, and what would be right."""
    file = root / mutation.path
    count = file.read_text().count(mutation.text) if file.is_file() else 0
    if count != 1:
        yield f"{mutation.file} has {mutation.text!r} {count} times", "the text that makes the guard, which stands once"
    if mutation.replacement == mutation.text:
        yield "its replacement is its text", "a text without the guard"
    if not mutation.tests:
        yield "no test goes red without it", "the quick tests that do"
    for test in mutation.tests:
        name, *functions = test.split("::")
        if not (root / name).is_file():
            yield f"there is no file {name}", "the file with its tests"
        elif functions and f"def {functions[-1].partition('[')[0]}(" not in (root / name).read_text():
            yield f"{name} has no {functions[-1]}", "a test that goes red without it"


def rooms(root: Path) -> Iterator[Problem]:
    """Yield the files of guards that are on no list, and the guards that stand in the file of another room."""
    listed = {_name(file): file for file in FILES}
    place = root / "tools" / "guards"
    for name in sorted({file.stem for file in place.glob("*.py")} - listed.keys() - _OTHERS):
        yield Problem(f"tools/guards/{name}.py", "is not in FILES of tools/guards/__init__.py", "its name there")
    for name, file in listed.items():
        for room in sorted({mutation.file.partition("/")[0] for mutation in file.MUTATIONS}):
            if name != room and not name.startswith(f"{room}_"):
                yield Problem(f"tools/guards/{name}.py", f"has guards of the room {room}", f"{room}.py or {room}_….py")
            elif room not in listed:
                yield Problem(f"tools/guards/{name}.py", f"is a part of {room}.py, which is missing", f"{room}.py")


def _name(file: object) -> str:
    return file.__name__.removeprefix("guards.")
