"""Small objects in a store with conditional writes, by which two machines agree on a single writer."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Protocol

from tailrace.ground.errors import refuse
from tailrace.ground.files.atomic_files import create_atomically
from tailrace.ground.files.object_path import ObjectPath, Stored

_KEPT = 20
"""The number of older versions that are kept: they block a writer that was suspended meanwhile."""


class ConditionalStore(Protocol):
    """Objects by name. A call that raises an `OSError` may have written, or may still write later."""

    def get(self, name: str) -> Stored | None:
        """Read an object; None where it does not exist."""

    def create(self, name: str, content: bytes) -> bool:
        """Create an object; return False, with nothing written, where it exists."""

    def replace(self, name: str, content: bytes, version: str) -> bool:
        """Replace this version of an object.

        Return False and write nothing if the object has another version or is gone.
        """


@dataclass(frozen=True)
class DirectoryStore:
    """Objects in a directory that machines share: version n of an object is the file NAME.n, made by a hard link.

    The file server makes the link for all machines, and refuses it where the file exists.
    """

    directory: Path

    def get(self, name: str) -> Stored | None:
        while (newest := max(self._versions(name), default=None)) is not None:
            try:
                return Stored(self._file(name, newest).read_bytes(), str(newest))
            except FileNotFoundError:  # removed meanwhile, so there are newer versions
                continue
        return None

    def create(self, name: str, content: bytes) -> bool:
        return not any(self._versions(name)) and self._link(name, content, 1)

    def replace(self, name: str, content: bytes, version: str) -> bool:
        if max(self._versions(name), default=None) != int(version):
            return False
        new = int(version) + 1
        if not self._link(name, content, new):
            return False
        versions = set(self._versions(name))
        for old in versions:
            if old < max(versions) - _KEPT:
                self._file(name, old).unlink(missing_ok=True)
        return max(versions) == new  # false if this writer was suspended until its version was removed

    def _link(self, name: str, content: bytes, version: int) -> bool:
        try:
            create_atomically(self._file(name, version), content)
        except FileExistsError:
            return False
        return True

    def _versions(self, name: str) -> Iterator[int]:
        suffixes = (file.name.rpartition(".")[2] for file in self.directory.glob(f"{name}.*"))
        return (int(number) for number in suffixes if number.isdigit())

    def _file(self, name: str, version: int) -> Path:
        return self.directory / f"{name}.{version}"


@dataclass(frozen=True)
class BucketStore:
    """Objects below a prefix of an object store, which writes under the conditions If-None-Match and If-Match."""

    directory: ObjectPath

    def get(self, name: str) -> Stored | None:
        return (self.directory / name).stored()

    def create(self, name: str, content: bytes) -> bool:
        return (self.directory / name).create(content)

    def replace(self, name: str, content: bytes, version: str) -> bool:
        return (self.directory / name).replace(content, version)


@lru_cache(maxsize=16)
def require_conditions(directory: ObjectPath) -> None:
    """Refuse an object store that ignores conditions, as two writers could overwrite each other there.

    The test writes an object and removes it. It tries twice: the client repeats a request whose answer was lost, and
    the repeat is refused because of the first write.
    """
    if not (_honours_conditions(directory) or _honours_conditions(directory)):
        fault = "its object store ignores the conditions of a write, by which one of two writers is refused"
        remedy = "a store that honours If-None-Match and If-Match, such as Amazon S3; or a directory"
        raise refuse(f"--warehouse {directory.parent}", fault, remedy)


def _honours_conditions(directory: ObjectPath) -> bool:
    probe = directory / f"probe-{uuid.uuid4().hex}"
    try:
        created, repeated = probe.create(b"1"), probe.create(b"2")
        stored = probe.stored()
        version = stored.version if stored else ""
        return created and not repeated and probe.replace(b"3", version) and not probe.replace(b"4", version)
    finally:
        with suppress(OSError):  # the error of the earlier request is the one to report
            probe.unlink(missing_ok=True)
