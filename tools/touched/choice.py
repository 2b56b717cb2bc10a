"""Which tests a change touches, and why: by rooms, names, imports and guards, and by the table of what none shows."""

from __future__ import annotations

import fnmatch
import re
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path, PurePosixPath

from guards import Guard
from rooms import inside_of, path_of
from touched.imports import Imports, is_test
from touched.table import ALWAYS, TABLE, Row

_ORDER = "tests/durations.json"
"""It decides which tests come first, and turns none red."""
_A_NAME = re.compile(r"(?!__).*[.A-Z]")
"""What is no mere word, and not the name of many files."""
_DATA = ("samples", "examples")
"""Folders whose files tests read without naming each."""


class Choice:
    """The tests that a change touches, by the reasons for which they are chosen."""

    def __init__(self, root: Path, changed: Iterable[str], imports: Imports, guards: Iterable[Guard]) -> None:
        self.changed = sorted(changed)
        self.reasons: dict[str, set[str]] = defaultdict(set)
        self._root, self._imports, self._guards = root, imports, [*guards]
        for path in self.changed:
            self._choose(path)
        self._take(ALWAYS)

    @property
    def tests(self) -> list[str]:
        return sorted(set().union(*self.reasons.values()))

    def _choose(self, path: str) -> None:
        place = PurePosixPath(path)
        inside, is_python = inside_of(place), place.suffix == ".py"
        if is_test(path):
            self._add("have changed themselves", {path})
        elif inside is not None:
            self._choose_of_room(inside)
        elif place.parts[0] == "tests" and is_python:
            self._add(f"import {path}", self._imports.tests_of([path]))
        elif place.parts[0] == "tools":
            self._add(f"are named as {path}", self._matching(f"*/test_{place.stem}.py"))
            self._add(f"import {path}", self._imports.tests_of([path]))
        if not (is_python and (inside is not None or place.parts[0] == "tests")):
            for name in _names(place):
                self._add(f"name {name} in their text", self._that_name(name))
        for row in TABLE:
            if any(fnmatch.fnmatchcase(path, pattern) for pattern in row.files):
                self._take(row)

    def _choose_of_room(self, inside: PurePosixPath) -> None:
        """Choose by a file of a room: by its room, its name, its importers and its guards."""
        path, room = path_of(str(inside)), inside.parts[0]
        self._add(f"are of the room {room}", self._matching(f"tests/unit/{room}/*"))
        self._add(f"are named as a file of {room} that has changed", self._matching(f"*/test_{inside.stem}.py"))
        self._add(f"import what has changed of {room}", self._imports.tests_of([path]))
        self._add(f"are of a file that uses what has changed of {room}", self._of_users(path))
        held = {test.partition("::")[0] for guard in self._guards if guard.path == path for test in guard.tests}
        self._add(f"hold a guard in what has changed of {room}", held)

    def _of_users(self, path: str) -> set[str]:
        """Return the tests of the files that import one: those with their name, and importers in their room's tests."""
        found: set[str] = set()
        for user in map(PurePosixPath, self._imports.importers_of(path)):
            if (inside := inside_of(user)) is not None:
                room = f"tests/unit/{inside.parts[0]}/"
                found |= self._matching(f"*/test_{user.stem}.py")
                found |= {each for each in self._imports.importers_of(str(user)) if each.startswith(room)}
        return found

    def _take(self, row: Row) -> None:
        helpers = {each for each in row.tests if each.endswith(".py") and not is_test(each)}
        self._add(row.why, set().union(*map(self._matching, row.tests)) | self._imports.tests_of(helpers))

    def _matching(self, pattern: str) -> set[str]:
        return {*fnmatch.filter(self._imports.tests, pattern)}

    def _that_name(self, name: str) -> set[str]:
        """Return the tests whose text, or whose helper's, has a name in quotes or in a path."""
        named = re.compile(rf"[\"'/`]{re.escape(name)}(?![\w-])")
        readers = {
            file.relative_to(self._root).as_posix()
            for file in (self._root / "tests").rglob("*.py")
            if named.search(file.read_text())
        }
        return readers | self._imports.tests_of(readers)

    def _add(self, reason: str, tests: set[str]) -> None:
        """Choose tests for a reason; those that are gone are not to be run."""
        there = tests & self._imports.tests
        if there:
            self.reasons[reason] |= there


def _names(place: PurePosixPath) -> set[str]:
    """Return the names by which tests may know a file: its own, if that is one, and its folder of data."""
    own = {place.name} if str(place) != _ORDER and _A_NAME.match(place.name) else set()
    return own | ({*_DATA} & {*place.parts[:-1]})
