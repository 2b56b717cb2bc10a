"""Small objects in a store with conditional writes: with them two machines agree on one writer."""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Protocol

from tailrace.ground.errors import refuse
from tailrace.ground.files import create_atomically
from tailrace.ground.object_path import ObjectPath, Stored

_KEPT = 20
"""The number of older versions that stay: it is they that refuse a writer which stood still meanwhile."""


class ConditionalStore(Protocol):
    """Objects by name. A call that raises an `OSError` may have written, or may write later."""

    def get(self, name: str) -> Stored | None:
        """Read an object; None where there is none."""

    def create(self, name: str, content: bytes) -> bool:
        """Write an object that is not there yet; False, and nothing written, where it is."""

    def replace(self, name: str, content: bytes, version: str) -> bool:
        """Replace this version of an object; False, and nothing written, where it has another one, or is gone."""


@dataclass(frozen=True)
class DirectoryStore:
    """Objects in a directory that machines share: version n of an object is the file NAME.n, made by a hard link.

    A link is made by the file server, on all machines' behalf, and is refused where the file is there.
    """

    directory: Path

    def get(self, name: str) -> Stored | None:
        while (newest := max(self._versions(name), default=None)) is not None:
            try:
                return Stored(self._file(name, newest).read_bytes(), str(newest))
            except FileNotFoundError:  # removed meanwhile, so there are newer ones
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
        return max(versions) == new  # not where this writer stood still until its version was removed

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
    """Refuse an object store that writes whatever the condition says: there two writers would replace each other.

    It is asked with an object that is removed again; twice, for an answer that was lost on its way is asked for again,
    and refused by what it has written.
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
        with suppress(OSError):  # the error of the request before is the one to report
            probe.unlink(missing_ok=True)
