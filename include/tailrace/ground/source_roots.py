"""The directories that sources must lie under: those of the environment variable TAILRACE_SOURCES, if it is set."""

from __future__ import annotations

import os
from pathlib import Path

from tailrace.ground.errors import Problem

VARIABLE = "TAILRACE_SOURCES"


def source_roots() -> tuple[Path, ...]:
    """The roots with their symbolic links resolved; none: a source may lie anywhere."""
    roots = os.environ.get(VARIABLE, "").split(os.pathsep)
    return tuple(Path(os.path.realpath(root)) for root in roots if root)


def outside_roots(path: Path) -> Problem | None:
    """The problem of a source that, its symbolic links resolved, lies under no root; None where it may be read."""
    roots = source_roots()
    if not roots:
        return None
    resolved = Path(os.path.realpath(path))
    if any(resolved.is_relative_to(root) for root in roots):
        return None
    target = "" if resolved == path else f", which is {resolved},"
    return Problem(
        str(path), f"it{target} lies under no root of sources", f"a path under {' or '.join(map(str, roots))}"
    )
