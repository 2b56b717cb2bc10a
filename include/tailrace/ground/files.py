"""Files that appear whole or not at all, also after a crash."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def new_file(target: Path) -> Iterator[Path]:
    """A hidden file beside the target, which takes its place in the end; it goes when the block fails."""
    new = target.with_name(f".{target.name}.new")
    try:
        yield new
        new.replace(target)
    finally:
        new.unlink(missing_ok=True)  # on a full disk each byte counts


def write_atomically(target: Path, content: str | bytes, mode: int = 0o666) -> None:
    """Write a file that is on the disk when this returns; `mode` as in `os.open`."""
    data = content.encode() if isinstance(content, str) else content
    with new_file(target) as new, open(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode), "wb") as out:
        out.write(data)
        out.flush()
        os.fsync(out.fileno())
