"""A small file system of its own, in memory, that a test can fill to the last byte."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

_PIECE = 1 << 16


@contextmanager
def small_disk(place: Path, megabytes: int) -> Iterator[Path]:
    """Mount a tmpfs of this size on a new directory, and unmount it at the end; skip the test where that is refused."""
    place.mkdir()
    who = f"uid={os.getuid()},gid={os.getgid()},mode=700"
    options = ["-t", "tmpfs", "-o", f"size={megabytes}m,{who}", "tailrace-test", str(place)]
    refusals = []
    for root in ([], ["sudo", "-n"]):
        try:
            mount = subprocess.run([*root, "mount", *options], capture_output=True, text=True, check=False)
        except FileNotFoundError as error:
            refusals.append(str(error))
            continue
        if not mount.returncode:
            break
        refusals.append(mount.stderr.strip())
    else:
        pytest.skip(f"needs the right to mount a tmpfs, as root or by sudo without a password: {'; '.join(refusals)}")
    try:
        yield place
    finally:  # a process that a failed test has left may still have files open there
        subprocess.run([*root, "umount", "--lazy", str(place)], check=True)


def fill(disk: Path, spare: int) -> Path:
    """Fill a disk but for so many bytes; returns the ballast, whose removal empties it again."""
    ballast = disk / "ballast"
    with ballast.open("wb", buffering=0) as file:
        size = _PIECE
        while size:
            try:
                written = file.write(b"\0" * size)
            except OSError:
                written = 0
            size = size if written == size else size // 2
        file.truncate(max(file.tell() - spare, 0))
    return ballast
