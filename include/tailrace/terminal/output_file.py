"""The file that `--output` names.

A file is written completely or not at all; devices, pipes and links are written through.
"""

from __future__ import annotations

import io
import os
import shutil
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tailrace.ground.errors import refuse
from tailrace.ground.files.atomic_files import new_file

_MOST_LINKS = 40
_RIGHT = "a file that you may write, in a directory that exists"


@contextmanager
def open_output(output: Path) -> Iterator[io.BytesIO]:
    """Yield a buffer, whose bytes go to the output when the block ends without an error.

    A regular file, or the target of a link, is replaced by a complete one. Other files are written in place.

    Raises
    ------
    Refused
        When the file can't be written.
    """
    target = _resolved(output)
    if isinstance(target, Path) and (target.is_dir() or not target.name):
        raise refuse(f"--output {output}", "it is a directory", "the name of a file")
    if isinstance(target, Path) and not target.parent.is_dir():
        raise refuse(f"--output {output}", f"there is no directory {target.parent}", _RIGHT)
    buffer = io.BytesIO()
    yield buffer
    try:
        _write(target, buffer.getbuffer())
    except BrokenPipeError:  # the reader has gone, which the caller notices
        raise
    except OSError as error:
        raise refuse(f"--output {output}", f"it can't be written: {error.strerror or error}", _RIGHT) from None


def _write(target: Path | int, content: memoryview) -> None:
    if isinstance(target, int):
        sys.stdout.flush()  # it may be the same pipe
        with os.fdopen(os.dup(target), "wb") as stream:
            stream.write(content)
    elif target.exists() and not target.is_file():
        with target.open("wb", buffering=0) as device:
            _write_all(device, content)
    else:
        with new_file(target) as new:
            new.write_bytes(content)
            if target.exists():
                shutil.copymode(target, new)


def _write_all(device: io.RawIOBase, content: memoryview) -> None:
    """Write all bytes to a device or pipe, which may accept only some at a time."""
    while content:
        content = content[device.write(content) or 0 :]


def _resolved(output: Path) -> Path | int:
    """Follow links to the file that they name, or to a descriptor of this process, such as /dev/stdout."""
    own = os.path.realpath("/proc/self/fd")
    path = output
    for _ in range(_MOST_LINKS):
        directory = Path(os.path.realpath(path.parent))
        if str(directory) == own and path.name.isdigit():
            return int(path.name)
        if not path.is_symlink():
            return path
        path = directory / os.readlink(path)
    raise refuse(f"--output {output}", "its links name each other", _RIGHT)
