"""A guard of tailrace, and the quick tests that go red without it."""

from __future__ import annotations

from pathlib import PurePosixPath
from typing import NamedTuple

PACKAGE = PurePosixPath("include/tailrace")
TOOLS = ("bench", "demo", "generators")
"""The rooms that stand in tools/, beside the package."""


class Mutation(NamedTuple):
    """A guard, the text of a file that makes it, the text in its place, and the tests that must fail then."""

    guard: str
    file: str
    text: str
    replacement: str
    tests: tuple[str, ...]

    @property
    def path(self) -> str:
        """The path of its file in the repository."""
        return path_of(self.file)


def path_of(inside: str) -> str:
    """Return the path in the repository of a file of a room, such as `stream/run.py`."""
    return str(("tools" if inside.partition("/")[0] in TOOLS else PACKAGE) / PurePosixPath(inside))


def inside_of(path: PurePosixPath) -> PurePosixPath | None:
    """Return a file of a room without the directory of its room; None of other files."""
    if path.is_relative_to(PACKAGE):
        return path.relative_to(PACKAGE)
    is_tool = len(path.parts) > 2 and path.parts[0] == "tools" and path.parts[1] in TOOLS  # noqa: PLR2004
    return path.relative_to("tools") if is_tool else None
