"""Compares the rows that were found with the rows that must be there, as multisets."""

from __future__ import annotations

import shutil
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable
from dataclasses import dataclass, field
from pathlib import Path

_EXAMPLES = 3


@dataclass
class Tally:
    """How many rows were compared, and are lost, doubled and wrong, with the first examples of each part."""

    compared: int = 0
    lost: int = 0
    doubled: int = 0
    wrong: int = 0
    examples: list[str] = field(default_factory=list)

    @property
    def is_clean(self) -> bool:
        return not (self.lost or self.doubled or self.wrong)

    def blame(self, what: str) -> None:
        """Count something wrong that is no row."""
        self.wrong += 1
        self.examples.append(what)

    def finish(self, directory: Path, options: str) -> int:
        """Print the outcome of a run; remove its files if it is clean; return the exit code."""
        for example in self.examples:
            print(example)
        print(f"{self.lost} lost, {self.doubled} doubled, {self.wrong} wrong")
        if not self.is_clean:
            print(f"the files of this run: {directory}; {options}")
            return 1
        shutil.rmtree(directory)
        return 0

    def compare(
        self,
        what: str,
        expected: Iterable[tuple[Hashable, Hashable]],
        found: Iterable[tuple[Hashable, Hashable]],
    ) -> None:
        """Count the differences of rows, each an identity and a content.

        Of an identity, too few rows are lost and too many are doubled; a row that has no business there, or another
        content, is wrong.
        """
        wanted, got = _by_identity(expected), _by_identity(found)
        self.compared += sum(map(len, wanted.values()))
        examples = []
        for identity in wanted.keys() | got.keys():
            should, has = wanted.get(identity, []), got.get(identity, [])
            if should == has:
                continue
            examples.append(f"{what}: {identity} is {has}, and should be {should}")
            self.lost += max(len(should) - len(has), 0)
            if not should:
                self.wrong += len(has)
                continue
            doubled = max(len(has) - len(should), 0)
            surplus = Counter(has) - Counter(should)
            self.doubled += doubled
            self.wrong += surplus.total() - doubled
        self.examples += examples[:_EXAMPLES]


def _by_identity(rows: Iterable[tuple[Hashable, Hashable]]) -> dict[Hashable, list]:
    found = defaultdict(list)
    for identity, content in rows:
        found[identity].append(content)
    return {identity: sorted(contents) for identity, contents in found.items()}
