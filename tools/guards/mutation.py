"""A guard of tailrace, and the quick tests that go red without it."""

from __future__ import annotations

from typing import NamedTuple


class Mutation(NamedTuple):
    """A guard, the text of a file that makes it, the text in its place, and the tests that must fail then."""

    guard: str
    file: str
    text: str
    replacement: str
    tests: tuple[str, ...]
