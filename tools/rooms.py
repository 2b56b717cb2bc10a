"""The rooms of the package, and of what stands beside it in tools/."""

from __future__ import annotations

from pathlib import PurePosixPath

PACKAGE = PurePosixPath("include/tailrace")
TOOLS = ("bench", "demo", "generators")
"""The rooms that stand in tools/."""


def path_of(inside: str) -> str:
    """Return the path in the repository of a file of a room, such as `stream/run.py`."""
    return str(("tools" if inside.partition("/")[0] in TOOLS else PACKAGE) / PurePosixPath(inside))


def inside_of(path: PurePosixPath) -> PurePosixPath | None:
    """Return a file of a room without the directory of its room; None of other files."""
    if path.is_relative_to(PACKAGE):
        return path.relative_to(PACKAGE)
    is_tool = len(path.parts) > 2 and path.parts[0] == "tools" and path.parts[1] in TOOLS  # noqa: PLR2004
    return path.relative_to("tools") if is_tool else None
