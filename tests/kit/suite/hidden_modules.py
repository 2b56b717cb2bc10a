"""Hides modules from a process, as if they were not installed."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from importlib.machinery import PathFinder


def hide(modules: Iterable[str]) -> None:
    """Let the imports of these modules fail; compiled code takes a None in `sys.modules` for a module."""
    hidden = frozenset(modules)
    assert not hidden & sys.modules.keys()

    class Visible(PathFinder):
        @classmethod
        def find_spec(cls, fullname, path=None, target=None):
            return None if fullname.partition(".")[0] in hidden else PathFinder.find_spec(fullname, path, target)

    sys.meta_path[:] = [Visible if finder is PathFinder else finder for finder in sys.meta_path]
