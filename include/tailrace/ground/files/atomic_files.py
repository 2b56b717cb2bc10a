"""Atomic file writes: even after a crash, a file is either complete or absent."""

from __future__ import annotations

import os
import re
import tempfile
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tailrace.ground.files.object_path import Location

_URL = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*://|file:")
_URL_AS_PATH = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*:/|file:")  # a Path has merged the two slashes


def is_url(path: str | Path) -> bool:
    """Return whether a path is a URL, or a `Path` that was made from one."""
    return (_URL_AS_PATH if isinstance(path, Path) else _URL).match(str(path)) is not None


@contextmanager
def new_file(target: Location) -> Iterator[Path]:
    """Yield a hidden file beside the target that replaces it when the block ends and is deleted when it fails.

    For a target in an object store, yield a local file and upload it at the end.
    """
    if not isinstance(target, Path):
        with tempfile.TemporaryDirectory() as directory:
            new = Path(directory, target.name)
            yield new
            target.write_bytes(new)
        return
    new = target.with_name(f".{target.name}.new")
    try:
        yield new
        new.rename(target)
    except BaseException:
        new.unlink(missing_ok=True)  # frees the space of a partial file: the disk may be full
        raise


def write_atomically(target: Location, content: str | bytes, mode: int = 0o666) -> None:
    """Write a file atomically, with an fsync of its content before it replaces the target.

    `mode` is the new file's mode, before the umask; it does not apply to an object.
    """
    if not isinstance(target, Path):
        target.write_bytes(_encoded(content))
        return
    with new_file(target) as new:
        _write(new, content, mode)


def create_atomically(target: Location, content: str | bytes) -> None:
    """Create a file atomically. If several processes try, even on machines that share the disk, one succeeds.

    Raises
    ------
    FileExistsError
        When the target exists.
    """
    if not isinstance(target, Path):
        if not target.create(_encoded(content)):
            raise FileExistsError(str(target))
        return
    new = target.with_name(f".{target.name}.{uuid.uuid4().hex}.new")
    try:
        _write(new, content, 0o666)
        os.link(new, target)  # unlike a rename, it never replaces a file
    finally:
        new.unlink(missing_ok=True)


def _write(new: Path, content: str | bytes, mode: int) -> None:
    new.touch(mode)
    with new.open("wb") as out:
        out.write(_encoded(content))
        out.flush()
        os.fsync(out.fileno())


def _encoded(content: str | bytes) -> bytes:
    return content.encode() if isinstance(content, str) else content
