"""Answers of panels as JSON, each kept as long as the tables that it was read from have no newer version."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable
from pathlib import Path

from deltalake.exceptions import DeltaError

from tailrace.ground.errors import Damaged
from tailrace.ground.object_path import Location
from tailrace.storage.layout import Layout
from tailrace.storage.table_log import newest_version

Versions = tuple[object, ...]

_MOST_BYTES = 64 << 20
_AT_ONCE = 4  # panels are read at the same time: their tables take memory


def versions(layout: Layout, tables: Iterable[str], files: Iterable[str] = (), query: Path | None = None) -> Versions:
    """Return what changes whenever one of a query's tables or files does, or its query file."""
    of_tables = [newest_version(layout.table(name)) for name in tables]
    of_files = [_stamp(layout.home / file) for file in files]
    return (*of_tables, *of_files, None if query is None else _stamp(query))


def _stamp(file: Location) -> object:
    if not isinstance(file, Path):
        stored = file.stored()
        return None if stored is None else stored.version
    try:
        stat = file.stat()
    except FileNotFoundError:
        return None
    return stat.st_mtime_ns, stat.st_size


class PanelCache:
    """Keeps the newest answers in bounded memory; several threads may use it.

    Parameters
    ----------
    most_bytes : int
        The size of all answers that are kept.
    """

    def __init__(self, most_bytes: int = _MOST_BYTES) -> None:
        self._most_bytes, self._bytes = most_bytes, 0
        self._answers: OrderedDict[tuple[object, ...], tuple[Versions, bytes]] = OrderedDict()
        self._lock, self._readers = threading.Lock(), threading.Semaphore(_AT_ONCE)

    def get(self, key: tuple[object, ...], current: Callable[[], Versions], read: Callable[[], bytes]) -> bytes:
        """Return the answer of a key: the kept one if it has the current versions, else what `read` returns.

        A read that fails is tried again where a version has changed meanwhile: a compaction may have removed its files.
        """
        with self._readers:
            now = current()
            with self._lock:
                if key in self._answers and self._answers[key][0] == now:
                    self._answers.move_to_end(key)
                    return self._answers[key][1]
            try:
                answer = read()
            except (Damaged, OSError, DeltaError):
                before, now = now, current()
                if before == now:
                    raise
                answer = read()
            self._keep(key, now, answer)
            return answer

    def _keep(self, key: tuple[object, ...], now: Versions, answer: bytes) -> None:
        with self._lock:
            _, before = self._answers.pop(key, ((), b""))
            self._answers[key] = now, answer
            self._bytes += len(answer) - len(before)
            while self._bytes > self._most_bytes:
                _, (_, oldest) = self._answers.popitem(last=False)
                self._bytes -= len(oldest)
