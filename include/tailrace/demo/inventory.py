"""The record of what demonstrations have made in their directory: a later one removes that, and nothing else."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterable, Iterator
from pathlib import Path

from tailrace.ground.errors import Problem, Refused, refuse
from tailrace.ground.files import write_atomically

MARK = ".demo"

Stamp = tuple[int, int]
"""A file's size, and when it was written (ns): another one is another file, or one that somebody has changed."""


class Inventory:
    """What demonstrations have made in a directory, in its file `.demo`: by place, a path in the directory.

    A place is a file or a directory. Of a directory each file is recorded with its stamp, so that files which came to
    it, or were changed, are known; but of one that is the demonstration's as a whole, as a table that a driver writes.

    Parameters
    ----------
    home : Path
        The directory.
    whole : iterable of str
        The places that an earlier version made, which recorded none.

    Raises
    ------
    Refused
        When the directory holds something, and has no record.
    """

    def __init__(self, home: Path, whole: Iterable[str]) -> None:
        self._home, self._file = home, home / MARK
        self._places: dict[str, dict[str, Stamp] | None] = {}
        if self._file.exists():
            self._places = self._read(whole)
        elif home.exists() and any(home.iterdir()):
            raise refuse(f"--warehouse {home}", "it holds what no demonstration made", "another directory")

    def _read(self, whole: Iterable[str]) -> dict[str, dict[str, Stamp] | None]:
        text = self._file.read_text(encoding="utf-8")
        try:
            places = json.loads(text) if text else dict.fromkeys(whole)
            if any(Path(place).is_absolute() or {"", ".", ".."} & set(place.split("/")) for place in places):
                raise ValueError("a place that is not in the directory")
            return {place: _stamps(stamps) for place, stamps in places.items()}
        except (ValueError, TypeError, AttributeError):
            fault = "it is no record of what a demonstration made"
            raise refuse(str(self._file), fault, "another --warehouse, or the record as it was") from None

    def require_free(self, places: Iterable[str]) -> None:
        """Refuse places that hold what no demonstration made, or what was changed since.

        Raises
        ------
        Refused
            Naming each such file, or the place itself where it is not recorded.
        """
        remedy = "a name of its own, or another --warehouse: the demonstration would write its own there"
        files = [file for place in places for file in self._foreign(place)]
        if files:
            fault = "no demonstration made it as it is, so none removes it"
            raise Refused([Problem(str(file), fault, remedy) for file in files])

    def clear(self) -> list[str]:
        """Remove what demonstrations made; return the places that are gone. Those with something else stay."""
        cleared = [place for place in self._places if not self._foreign(place)]
        for place in cleared:
            path = self._home / place
            if path.is_dir() and not path.is_symlink():
                shutil.rmtree(path)
            else:
                path.unlink(missing_ok=True)
            del self._places[place]
        self._write()
        return cleared

    def begin(self, places: Iterable[str]) -> None:
        """Record places before they are made; each is the demonstration's as a whole until `complete`."""
        self._places |= dict.fromkeys(places)
        self._write()

    def complete(self, places: Iterable[str]) -> None:
        """Record the files of places as they are now: what is changed or added from here on is not ours."""
        self._places |= {place: dict(self._files(place)) for place in places}
        self._write()

    def _foreign(self, place: str) -> list[Path]:
        """Return what lies at a place and is not as a demonstration made it."""
        path = self._home / place
        if place not in self._places:
            return [path] if path.is_symlink() or (any(path.iterdir()) if path.is_dir() else path.exists()) else []
        stamps = self._places[place]
        return (
            [] if stamps is None else [self._home / file for file, at in self._files(place) if stamps.get(file) != at]
        )

    def _files(self, place: str) -> Iterator[tuple[str, Stamp]]:
        path = self._home / place
        files = sorted(path.rglob("*")) if path.is_dir() and not path.is_symlink() else [path]
        for file in files:
            if file.is_symlink() or (file.exists() and not file.is_dir()):
                found = file.lstat()
                yield str(file.relative_to(self._home)), (found.st_size, found.st_mtime_ns)

    def _write(self) -> None:
        self._home.mkdir(parents=True, exist_ok=True)
        write_atomically(self._file, json.dumps(self._places), 0o600)


def _stamps(recorded: dict[str, list[int]] | None) -> dict[str, Stamp] | None:
    return None if recorded is None else {file: (size, at_ns) for file, (size, at_ns) in recorded.items()}
