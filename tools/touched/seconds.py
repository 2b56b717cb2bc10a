"""How long tests take, by the seconds of their units in tests/durations.json.

A group's seconds are spread evenly over its files; a file that is not on record takes the median.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable
from pathlib import Path
from statistics import median

from kit.suite.balance import read_durations

_GROUP = re.compile(r'xdist_group\("([^"]+)"\)')
_STRING = re.compile(r'"([^"\n]+)"')


class Seconds:
    """The seconds that each test file takes, and the group whose tests one process runs."""

    def __init__(self, root: Path, tests: Iterable[str]) -> None:
        self._recorded = read_durations(root / "tests" / "durations.json")
        self._root = root
        self._groups = {test: self._groups_of(test) for test in tests}
        self._sizes = Counter(self._groups.values())
        self._unknown = median(self._recorded.values()) if self._recorded else 0.0

    def of(self, tests: Iterable[str], processes: int = 1) -> float:
        """Return the seconds until some tests are done: of all of them, or of the longest group if that is more."""
        by_group: Counter[tuple[str, ...]] = Counter()
        for test in tests:
            by_group[self._groups[test]] += self._of_one(test)
        longest = max((seconds / len(groups) for groups, seconds in by_group.items() if groups), default=0.0)
        return max(sum(by_group.values()) / processes, longest)

    def _of_one(self, test: str) -> float:
        groups = self._groups[test]
        if groups:
            return sum(self._recorded[group] for group in groups) / self._sizes[groups]
        return self._recorded.get(test, self._unknown)

    def _groups_of(self, test: str) -> tuple[str, ...]:
        """Return the groups on record among which a file's tests are: its own, or those that its conftest.py names."""
        if test in self._recorded:
            return ()
        file = self._root / test
        conftest = file.with_name("conftest.py")
        fixtures = conftest.read_text() if conftest.is_file() else ""
        named = _GROUP.findall(file.read_text()) or _GROUP.findall(fixtures)
        if not named and "xdist_group(" in fixtures:  # by a constant that lists several, as for Spark's sessions
            named = _STRING.findall(fixtures)
        return tuple(sorted({*named} & self._recorded.keys()))
