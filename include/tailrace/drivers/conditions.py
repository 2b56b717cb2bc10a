"""Warns of each problem of a stream once when it begins, and reports once when it is over."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple


class Line(NamedTuple):
    """A line for a task's log, with its level."""

    text: str
    is_warning: bool = False


class Conditions:
    """The current problems, by name."""

    def __init__(self) -> None:
        self._texts: dict[str, str] = {}

    def observe(self, problems: Mapping[str, str], may_end: bool = True) -> list[Line]:
        """Return a warning of each new condition, then a line for each that is over.

        Parameters
        ----------
        found : mapping
            A text by the name of each condition; the text may change while a condition lasts.
        may_end : bool
            Whether a condition that is not found is over; False where not all could be checked.
        """
        lines = [Line(text, is_warning=True) for name, text in problems.items() if name not in self._texts]
        ended = {name: text for name, text in self._texts.items() if may_end and name not in problems}
        lines += [Line(f"over: {text.partition(chr(10))[0]}") for text in ended.values()]
        self._texts = {name: text for name, text in (dict(problems) | self._texts).items() if name not in ended}
        return lines
