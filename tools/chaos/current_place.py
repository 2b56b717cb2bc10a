"""The place `current` of answers: another process holds the table, or a file stands where it was."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from pathlib import Path
from typing import Any, TypeVar

from answer_place import IDENTITY, AnswerPlace, Away, newest_as_of
from deltalake import DeltaTable
from workloads import NAME

from kit.runs.current_tables import rows_of
from kit.runs.place_readers import PlaceReader, current_reader
from tailrace.query.answers_section import CURRENT
from tailrace.storage.layout import Layout

T = TypeVar("T")

_LOCK_S = 600.0


class CurrentPlace(AnswerPlace):
    """The table `current`: another process holds it, or a file stands in its place."""

    name = CURRENT

    def __init__(self, home: Path) -> None:
        self._layout = Layout(home)
        self._path, self._aside = home / CURRENT, home.parent / "current-aside"
        self._is_away = False
        read = current_reader(self._path, lambda: IDENTITY)
        self.reader = PlaceReader(lambda: self._unless_away(read.poll))
        self._lock: AbstractContextManager[Any] | None = None

    @staticmethod
    @contextmanager
    def running(directory: Path) -> Iterator[CurrentPlace]:
        yield CurrentPlace(directory / "warehouse" / NAME)

    def _unless_away(self, read: Callable[[], T]) -> T:
        """Read the table; what fails while it is moved away, or replaced by a rebuild or a restore, is no fault."""
        was_away, directory = self._is_away, self._directory()
        try:
            if not was_away:
                return read()
        except Exception:
            if not self._is_away and self._directory() == directory:
                raise
        raise Away

    def _directory(self) -> int | None:
        """Return the inode of the table's directory, which another one at its path has not; None where none is."""
        return self._path.stat().st_ino if self._path.exists() else None

    def stop(self) -> None:
        self._lock = self._layout.lock(CURRENT, _LOCK_S)
        self._lock.__enter__()

    def resume(self) -> None:
        assert self._lock is not None
        self._lock.__exit__(None, None, None)

    def kill(self) -> None:
        with self._layout.lock(CURRENT, _LOCK_S):  # no delivery runs
            self._is_away = True
            self._path.rename(self._aside)
            self._path.touch()

    def start(self) -> None:
        with self._layout.lock(CURRENT, _LOCK_S):
            if self._path.is_dir():  # it was made again meanwhile
                shutil.rmtree(self._path)
            self._path.unlink(missing_ok=True)
            self._aside.rename(self._path)
        self._is_away = False

    def newest_ms(self) -> int:
        return self._unless_away(lambda: newest_as_of(self._path) if self._directory() else 0)

    def views(self, columns: Sequence[str]) -> Mapping[str, list[str]]:
        return {"its table": rows_of(DeltaTable(self._path).to_pyarrow_table(columns=list(columns)))}
