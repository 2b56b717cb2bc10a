"""Lets one process at a time use a directory."""

from __future__ import annotations

import errno
import fcntl
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tailrace.ground.errors import Refused, refuse


@contextmanager
def held_directory(directory: Path, where: str, in_use: Callable[[], Refused]) -> Iterator[None]:
    """Create a directory, and hold it for this process.

    The lock is on the directory itself: it leaves no file, and ends with the process.

    Parameters
    ----------
    where : str
        The argument that names the directory, for messages.
    in_use : callable
        Builds the refusal if another process holds the directory.

    Raises
    ------
    Refused
        When another process holds it, or it can't be created or written to.
    """
    handle = _open(directory, where)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise in_use() from None
        yield
    finally:
        os.close(handle)


def _open(directory: Path, where: str) -> int:
    """Create a directory, and open it."""
    try:
        directory.mkdir(parents=True, exist_ok=True)
        if not os.access(directory, os.W_OK | os.X_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        return os.open(directory, os.O_RDONLY)
    except OSError as error:
        fault = f"it can't be a directory of yours: {error.strerror}"
        raise refuse(where, fault, "a directory that you may write to") from None
