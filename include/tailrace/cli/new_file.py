"""Writes a new query file; a user's file is never replaced."""

from __future__ import annotations

from pathlib import Path

from tailrace.ground.errors import Refused, refuse

_RIGHT = "a name that no file has, in a directory that you may write to"


def require_new(file: Path) -> None:
    """Refuse a file that exists.

    Raises
    ------
    Refused
    """
    if file.exists() or file.is_symlink():
        raise _standing(file)


def write_new(file: Path, text: str) -> None:
    """Write a new file; refuse one that exists, even if it was created meanwhile.

    Raises
    ------
    Refused
    """
    try:
        with file.open("x", encoding="utf-8") as new:
            new.write(text)
    except FileExistsError:
        raise _standing(file) from None
    except OSError as error:
        raise refuse(f"--output {file}", f"it can't be written: {error.strerror}", _RIGHT) from None


def _standing(file: Path) -> Refused:
    return refuse(f"--output {file}", "it is there already, and init and new replace nothing", _RIGHT)
