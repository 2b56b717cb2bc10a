"""Atomic file writes: a file appears complete or not at all, also after a crash."""

from __future__ import annotations

import os
import re
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

_URL = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*://|file:")


def is_url(path: str) -> bool:
    """Whether a text is a URL, and so no path."""
    return _URL.match(path) is not None


@contextmanager
def new_file(target: Path) -> Iterator[Path]:
    """Yield a hidden file beside the target that replaces it when the block ends and is deleted when it fails."""
    new = target.with_name(f".{target.name}.new")
    try:
        yield new
        new.rename(target)
    except BaseException:
        new.unlink(missing_ok=True)  # frees the space of a partial file: the disk may be full
        raise


def write_atomically(target: Path, content: str | bytes, mode: int = 0o666) -> None:
    """Write a file atomically, with an fsync of its content before it replaces the target.

    `mode` is that of the new file, before the umask.
    """
    with new_file(target) as new:
        _write(new, content, mode)


def create_atomically(target: Path, content: str | bytes) -> None:
    """Write a file atomically where none is; of several processes, also on machines that share the disk, one does it.

    Raises
    ------
    FileExistsError
        When the target is there.
    """
    new = target.with_name(f".{target.name}.{uuid.uuid4().hex}.new")
    try:
        _write(new, content, 0o666)
        os.link(new, target)  # unlike a rename it replaces nothing
    finally:
        new.unlink(missing_ok=True)


def _write(new: Path, content: str | bytes, mode: int) -> None:
    new.touch(mode)
    with new.open("wb") as out:
        out.write(content.encode() if isinstance(content, str) else content)
        out.flush()
        os.fsync(out.fileno())
