"""The manifest of a backup: the query, its extent, and every file with size and checksum."""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path, PurePosixPath
from typing import NamedTuple

from tailrace.ground.errors import Damaged, Problem, refuse
from tailrace.ground.files.atomic_files import write_atomically
from tailrace.ground.query_names import is_query_name
from tailrace.ground.version import __version__
from tailrace.storage.manifest import FORMAT

_FILE = "backup.json"
_BLOCK = 1 << 20


class FileRecord(NamedTuple):
    """The size in bytes and the SHA-256 of a file."""

    size: int
    sha256: str

    @staticmethod
    def from_file(file: Path) -> FileRecord:
        with file.open("rb") as content:
            return FileRecord(file.stat().st_size, hashlib.file_digest(content, "sha256").hexdigest())


@dataclass(frozen=True)
class BackupManifest:
    """The manifest of one query's backup, beside the directory with the query's name.

    Attributes
    ----------
    batches : int
        The number of the journal's entries.
    has_state : bool
        Whether it contains the tasks' state, which is only copied while the stream does not run.
    made_at : str
        UTC.
    files : dict
        The files by their paths below the query's directory.
    format : int
        The version of the journal and the tables, as in a checkpoint's manifest.
    """

    query: str
    batches: int
    has_state: bool
    made_at: str
    files: Mapping[str, FileRecord] = field(default_factory=dict)
    version: str = __version__
    format: int = FORMAT

    @property
    def size(self) -> int:
        """The size of all files, in bytes."""
        return sum(file.size for file in self.files.values())

    def write(self, directory: Path) -> None:
        write_atomically(directory / _FILE, json.dumps(asdict(self), indent=1))

    @staticmethod
    def read(directory: Path) -> BackupManifest:
        """Read the manifest of a backup, and check that it names no file outside of its directory.

        Raises
        ------
        Refused
            When there is no backup, or another version of tailrace made it.
        Damaged
            When it can't be read.
        """
        file = directory / _FILE
        if not file.is_file():
            raise refuse(str(directory), f"it is no backup: it has no {_FILE}", "a directory of tailrace backup")
        try:
            values = json.loads(file.read_text())
            if values["format"] != FORMAT:
                fault = f"tailrace {values['version']} made it: format {values['format']}, here {FORMAT}"
                raise refuse(str(directory), fault, "that version of tailrace, or another backup")
            files = {str(name): FileRecord(int(size), str(digest)) for name, (size, digest) in values["files"].items()}
            manifest = BackupManifest(**values | {"files": files})
            if not is_query_name(manifest.query) or not all(map(_is_below, files)):
                raise ValueError("it names files outside of the query's directory")
        except (ValueError, TypeError, KeyError, AttributeError) as error:
            fault = f"it is damaged ({error or type(error).__name__})"
            raise Damaged([Problem(str(file), fault, "another backup")]) from None
        return manifest


def copy_file(source: Path, target: Path) -> FileRecord:
    """Copy a file with its times; return its size and checksum."""
    digest, size = hashlib.sha256(), 0
    target.parent.mkdir(parents=True, exist_ok=True)
    with source.open("rb") as content, target.open("wb") as copy:
        while block := content.read(_BLOCK):
            digest.update(block)
            copy.write(block)
            size += len(block)
    shutil.copystat(source, target)
    return FileRecord(size, digest.hexdigest())


def _is_below(name: str) -> bool:
    path = PurePosixPath(name)
    return not path.is_absolute() and ".." not in path.parts and path.parts != ()
