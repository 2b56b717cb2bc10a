"""Which Python files of include/tailrace, tests/ and tools/ import which, read over the syntax tree, importing none.

An import inside a function counts too, and so does the dotted name of a class or of what is in tailrace, in quotes. A
test imports the conftest.py of its directory and of those above it.
"""

from __future__ import annotations

import ast
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath

_SOURCES = {"include": "include/tailrace", "tests": "tests", "tools": "tools"}
"""What stands on Python's path, and the part of it that is ours."""
_FOR_ALL = "tests/conftest.py"
"""Every test imports it; its two fixtures hold nothing of the package."""
_NAME = re.compile(r"""["'](tailrace\.[\w.]+|[a-z_][\w.]*\.[A-Z]\w*)["']""")
_HOLDS_STATEMENTS = (ast.stmt, ast.ExceptHandler, ast.match_case)


class Imports:
    """The files of a tree that import each file. A file that is gone has its importers too: they turn red."""

    def __init__(self, root: Path, gone: Iterable[str] = ()) -> None:
        files = [
            file.relative_to(root).as_posix()
            for part in _SOURCES.values()
            for file in sorted((root / part).rglob("*.py"))
        ]
        self.tests = {file for file in files if is_test(file)}
        modules = {name: file for file in (*files, *gone) if (name := _module_of(file))}
        self._importers: dict[str, set[str]] = defaultdict(set)
        for file in files:
            for imported in {*_imported(root / file, modules), *_conftests(file)}:
                if file != _FOR_ALL or imported.startswith("tests/"):
                    self._importers[imported].add(file)

    def tests_of(self, files: Iterable[str]) -> set[str]:
        """Return the tests that import one of some files, themselves or by way of helpers in tests/."""
        found: set[str] = set()
        left = [*files]
        while left:
            new = {each for each in self.importers_of(left.pop()) if each.startswith("tests/")} - found
            found |= new
            left += new
        return found & self.tests

    def importers_of(self, file: str) -> set[str]:
        """Return the files that import one."""
        return self._importers.get(file, set())


def is_test(path: str) -> bool:
    """Test whether pytest collects tests from a path."""
    place = PurePosixPath(path)
    return place.parts[0] == "tests" and place.match("test_*.py")


def _module_of(path: str) -> str | None:
    """Return the name by which others import a file; None of one that is not ours."""
    place = PurePosixPath(path)
    if place.suffix != ".py" or place.parts[0] not in _SOURCES:
        return None
    parts = place.with_suffix("").parts[1:]
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def _imported(file: Path, modules: dict[str, str]) -> Iterator[str]:
    """Yield the files that a file imports: of `from a import b`, the module b in a, or else a."""
    text = file.read_text()
    names = [*_NAME.findall(text)]
    for node in _statements(ast.parse(text)):
        if isinstance(node, ast.Import):
            yield from (modules[each.name] for each in node.names if each.name in modules)
        elif isinstance(node, ast.ImportFrom) and node.module:
            names += [f"{node.module}.{each.name}" for each in node.names]
    for name in names:
        found = modules.get(name, modules.get(name.rpartition(".")[0]))
        if found is not None:
            yield found


def _statements(node: ast.AST) -> Iterator[ast.AST]:
    """Yield the statements of a file at any depth; their expressions hold none."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, _HOLDS_STATEMENTS):
            yield child
            yield from _statements(child)


def _conftests(path: str) -> Iterator[str]:
    """Yield the places where pytest looks for the fixtures of a test."""
    if is_test(path):
        yield from (f"{parent}/conftest.py" for parent in PurePosixPath(path).parents if parent.name)
