"""The record of the files that demonstrations made in their directory; a later one removes only these."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path

from tailrace.ground.errors import Problem, Refused, refuse
from tailrace.ground.files.atomic_files import write_atomically

MARK = ".demo"

Stamp = tuple[int, int]
"""A file's size and modification time (ns); a different stamp means another or a changed file."""


class Inventory:
    """The record of the demonstrations' files in a directory, in its file `.demo`, by path in the directory.

    An entry is a file or a directory. Each file of a directory is recorded with its stamp, so that new or changed files
    are recognised, except in directories that belong to the demonstration as a whole, such as a table that a driver
    writes.

    Parameters
    ----------
    home : Path
        The directory.

    Raises
    ------
    Refused
        When the directory has contents but no record.
    """

    def __init__(self, home: Path) -> None:
        self._home, self._file = home, home / MARK
        self._entries: dict[str, dict[str, Stamp] | None] = {}
        if self._file.exists():
            self._entries = self._read()
        elif home.exists() and any(home.iterdir()):
            raise refuse(f"--warehouse {home}", "it holds what no demonstration made", "another directory")

    def _read(self) -> dict[str, dict[str, Stamp] | None]:
        try:
            entries = json.loads(self._file.read_text(encoding="utf-8"))
            if any(Path(folder).is_absolute() or {"", ".", ".."} & set(folder.split("/")) for folder in entries):
                raise ValueError("an entry that is not in the directory")
            return {folder: _stamps(stamps) for folder, stamps in entries.items()}
        except (ValueError, TypeError, AttributeError):
            fault = "it is no record of what a demonstration made"
            raise refuse(str(self._file), fault, "another --warehouse, or the record as it was") from None

    def require_free(self, entries: Iterable[str]) -> None:
        """Refuse entries with contents that no demonstration made, or that were changed since.

        Raises
        ------
        Refused
            Naming each such file, or the entry itself if it is not recorded.
        """
        remedy = "a name of its own, or another --warehouse: the demonstration would write its own there"
        files = [file for folder in entries for file in self._foreign(folder)]
        if files:
            fault = "no demonstration made it as it is, so none removes it"
            raise Refused([Problem(str(file), fault, remedy) for file in files])

    def clear(self) -> list[str]:
        """Remove the demonstrations' files; return the entries that are gone. Entries with other contents stay."""
        cleared = [folder for folder in self._entries if not self._foreign(folder)]
        for folder in cleared:
            path = self._home / folder
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink(missing_ok=True)
            del self._entries[folder]
        self._write()
        return cleared

    def begin(self, entries: Iterable[str]) -> None:
        """Record entries before they are made; each belongs to the demonstration as a whole until `complete`."""
        self._entries |= dict.fromkeys(entries)
        self._write()

    def complete(self, entries: Iterable[str]) -> None:
        """Record the files of entries; later changes and additions are not ours."""
        self._entries |= {folder: dict(self._files(folder)) for folder in entries}
        self._write()

    def _foreign(self, folder: str) -> list[Path]:
        """Return the files of an entry that a demonstration did not make in this form."""
        path = self._home / folder
        if folder not in self._entries:
            return [path] if path.is_symlink() or (any(path.iterdir()) if path.is_dir() else path.exists()) else []
        stamps = self._entries[folder]
        return (
            [] if stamps is None else [self._home / file for file, at in self._files(folder) if stamps.get(file) != at]
        )

    def _files(self, folder: str) -> Iterator[tuple[str, Stamp]]:
        path = self._home / folder
        files = sorted(path.rglob("*")) if path.is_dir() and not path.is_symlink() else [path]
        for file in files:
            if file.is_symlink() or (file.exists() and not file.is_dir()):
                status = file.lstat()
                yield str(file.relative_to(self._home)), (status.st_size, status.st_mtime_ns)

    def _write(self) -> None:
        self._home.mkdir(parents=True, exist_ok=True)
        write_atomically(self._file, json.dumps(self._entries), 0o600)


def _stamps(recorded: dict[str, list[int]] | None) -> dict[str, Stamp] | None:
    return None if recorded is None else {file: (size, at_ns) for file, (size, at_ns) in recorded.items()}
