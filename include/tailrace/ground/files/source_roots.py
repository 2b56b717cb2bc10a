"""The directories that sources must lie under, if the environment variable TAILRACE_SOURCES names them."""

from __future__ import annotations

import os
from pathlib import Path

from tailrace.ground.errors import Problem

VARIABLE = "TAILRACE_SOURCES"


def outside_roots(path: Path | str) -> Problem | None:
    """Return the problem of a source that lies under no root; None if it may be read.

    Symbolic links are resolved first. Without the variable a source may lie anywhere. If the variable names no root, or
    a relative one, that is the problem. Roots are directories, so the URL of an object store (a text) lies
    under none.
    """
    text = os.environ.get(VARIABLE)
    if text is None:
        return None
    named = [root for root in text.split(os.pathsep) if root]
    if not named or not all(map(os.path.isabs, named)):  # a relative root would mean another directory in each process
        remedy = f"absolute directories with {os.pathsep} between them, or no such variable"
        return Problem(VARIABLE, f"{text!r} names {'a relative root' if named else 'no root'} of sources", remedy)
    roots = [Path(os.path.realpath(root)) for root in named]
    if isinstance(path, str):
        remedy = f"a path under {' or '.join(map(str, roots))}; or no variable {VARIABLE}"
        return Problem(path, "it is in an object store, and lies under no root of sources", remedy)
    resolved = Path(os.path.realpath(path))
    if any(resolved.is_relative_to(root) for root in roots):
        return None
    target = "" if resolved == path else f", which is {resolved},"
    return Problem(
        str(path), f"it{target} lies under no root of sources", f"a path under {' or '.join(map(str, roots))}"
    )
