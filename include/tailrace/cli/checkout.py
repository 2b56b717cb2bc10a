"""Refuses commands whose packages are not installed: they are in a checkout of the repository alone."""

from __future__ import annotations

from importlib.util import find_spec

from tailrace.ground.errors import refuse


def require_checkout(command: str, *packages: str) -> None:
    """Refuse a command where one of these packages of tailrace is not there.

    Raises
    ------
    Refused
    """
    if missing := [f"tailrace.{package}" for package in packages if find_spec(f"tailrace.{package}") is None]:
        is_missing = "is not installed with tailrace" if len(missing) == 1 else "are not installed with tailrace"
        remedy = f"a checkout of tailrace's repository: make setup, and there .venv/bin/tailrace {command}"
        raise refuse(f"tailrace {command}", f"it needs {' and '.join(missing)}, which {is_missing}", remedy)
