"""The guards of tailrace: each keeps something from going wrong, and tests go red without it.

A line of guards.tsv is a guard. It has the file, the text in it that makes the guard, the text in its place without the
guard, and the tests that must fail then, with a tab between them. `⏎` is a newline in a text.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

TABLE = Path(__file__).with_suffix(".tsv")


class Guard(NamedTuple):
    """A text of a file that keeps something from going wrong, the text in its place, and the tests that fail then."""

    path: str
    text: str
    replacement: str
    tests: tuple[str, ...]

    @classmethod
    def from_line(cls, line: str) -> Guard:
        """Read a guard from its line of the table."""
        path, text, replacement, *tests = line.split("\t")
        return cls(path, text.replace("⏎", "\n"), replacement.replace("⏎", "\n"), tuple(tests))

    @property
    def name(self) -> str:
        """Its file, and what changes in it without the guard."""
        change = f"{self.text.strip()} → {self.replacement.strip() or 'nothing'}"
        return f"{self.path.removeprefix('include/tailrace/')}: {' '.join(change.split())}"

    def has(self, word: str) -> bool:
        """Return whether its file, its texts or a test has a word."""
        return any(word in text for text in (self.path, self.text, self.replacement, *self.tests))


def read_guards(table: Path = TABLE) -> list[Guard]:
    """Return the guards of a table, in its order."""
    return [Guard.from_line(line) for line in table.read_text().splitlines()]
