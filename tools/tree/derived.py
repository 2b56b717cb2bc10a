"""Texts in files that follow from code: a whole file, or the part of a page between two markers."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import zip_longest
from pathlib import Path

from tailrace.ground.errors import Problem, Refused

_BEGIN, _END = "<!-- {}: make tree MEND=1 writes them -->\n\n", "\n\n<!-- end of {} -->"
_PART = re.compile(r"<!-- (.+): make tree MEND=1 writes them -->.*?<!-- end of \1 -->\n*", re.DOTALL)


@dataclass(frozen=True)
class Derived:
    """A text that follows from code.

    Attributes
    ----------
    file : str
        Its path below the top of the tree.
    give : callable
        Gives the right text from the one that stands there.
    part : str or None
        What the markers name, between which it stands; None for a whole file.
    """

    file: str
    give: Callable[[str], str]
    part: str | None = None

    def right(self, whole: str) -> str:
        """Return what the file should have in place of its text.

        Raises
        ------
        Refused
            When a marker is missing.
        """
        if self.part is None:
            return self.give(whole)
        begin, end = _BEGIN.format(self.part), _END.format(self.part)
        before, _, rest = whole.partition(begin)
        text, found, after = rest.partition(end)
        if not found:
            both = f"{begin.strip()} and {end.strip()}, with an empty line inside each"
            raise Refused([Problem(self.file, f"the {self.part} have no markers", both)])
        return f"{before}{begin}{self.give(text)}{end}{after}"

    def problems(self, root: Path) -> Iterator[Problem]:
        """Yield the first line of the file that is not as it should be."""
        whole = (root / self.file).read_text()
        try:
            right = self.right(whole)
        except Refused as refused:
            yield from refused.problems
            return
        lines = zip_longest(whole.split("\n"), right.split("\n"), fillvalue="")
        differ = [(number, *pair) for number, pair in enumerate(lines, 1) if pair[0] != pair[1]]
        if differ:
            number, present, due = differ[0]
            remedy = f"{due!r} there; make tree MEND=1 writes it"
            yield Problem(f"{self.file}:{number}", f"{present!r} stands where code gives another line", remedy)

    def mend(self, root: Path) -> bool:
        """Write the right text, and return whether it is another one; without markers nothing is written."""
        file = root / self.file
        whole = file.read_text()
        try:
            right = self.right(whole)
        except Refused:
            return False
        if right != whole:
            file.write_text(right)
        return right != whole


def by_hand(text: str) -> str:
    """Return a page without the parts between markers."""
    return _PART.sub("", text)
