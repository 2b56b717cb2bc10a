"""Checks that a path is a regular file before it is read: reading a FIFO or a device may never end."""

from __future__ import annotations

import errno
import os
import stat
from pathlib import Path
from typing import TYPE_CHECKING, BinaryIO

if TYPE_CHECKING:
    from tailrace.ground.files.object_path import Location

_KINDS = {
    stat.S_IFIFO: "a FIFO (named pipe)",
    stat.S_IFSOCK: "a socket",
    stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
    stat.S_IFDIR: "a directory",
}


class NotRegularError(OSError):
    """Raised for a path that is neither a regular file nor a symbolic link to one."""

    def __str__(self) -> str:
        return f"{self.filename}: {self.strerror}"


def regular_status(path: Path) -> os.stat_result:
    """Return the status of a regular file, following symbolic links.

    Raises
    ------
    NotRegularError
        When the path is a FIFO, a socket, a device or a directory, or a symbolic link to nothing or to itself.
    FileNotFoundError
        When nothing has this name.
    """
    try:
        status = path.stat()
    except OSError as error:
        if error.errno in (errno.ENOENT, errno.ELOOP) and path.is_symlink():
            raise NotRegularError(error.errno, _dangling(path, error.errno), str(path)) from None
        raise
    if not stat.S_ISREG(status.st_mode):
        text = f"it is {_KINDS.get(stat.S_IFMT(status.st_mode), 'a special file')}, and no regular file"
        raise NotRegularError(errno.EINVAL, text, str(path))
    return status


def require_regular_files(path: Path) -> None:
    """Require that a file, or each file in and below a directory, is regular; hidden files are skipped."""
    if not path.is_dir():
        regular_status(path)
        return
    for file in path.rglob("*"):
        if file.name[0] not in "._" and not file.is_dir():
            regular_status(file)


def open_regular(path: Path) -> BinaryIO:
    """Open a regular file for reading in binary mode; raises the errors of `regular_status`."""
    regular_status(path)
    return path.open("rb")


def read_regular(location: Location) -> bytes:
    """Read a whole regular file, or an object of a store."""
    if isinstance(location, Path):
        regular_status(location)
    return location.read_bytes()


def _dangling(path: Path, number: int) -> str:
    if number == errno.ELOOP:
        return "it is a symbolic link that leads back to itself"
    return f"it is a symbolic link to {path.readlink()}, which is not there"
