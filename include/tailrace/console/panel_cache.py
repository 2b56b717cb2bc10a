"""Cached answers of panels as JSON, valid until the tables that they were read from have a newer version."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterable
from pathlib import Path

import pyarrow as pa
from deltalake.exceptions import DeltaError

from tailrace.ground.errors import Damaged
from tailrace.storage.layout import Layout
from tailrace.storage.table_log import newest_commit, stamp

Versions = tuple[object, ...]

_MOST_BYTES = 64 << 20
AT_ONCE = 4  # the most panels that are read at the same time, as their tables take memory
_WAIT_S = 20.0  # the wait for a free slot, as waiting requests occupy threads of Airflow's API server


def versions(layout: Layout, tables: Iterable[str], files: Iterable[str] = (), query: Path | None = None) -> Versions:
    """Return a stamp of a query's tables, files and query file, which changes when one of them does."""
    of_tables = [newest_commit(layout.table(name)) for name in tables]
    of_files = [stamp(layout.home / file) for file in files]
    return (*of_tables, *of_files, None if query is None else stamp(query))


class LackingAnswer(bytes):
    """An answer that is incomplete because a table is damaged.

    It may be complete at the next read, so it is not cached.
    """


class PanelCache:
    """A cache of the newest answers in bounded memory, usable by several threads.

    Parameters
    ----------
    most_bytes : int
        The limit of the size of all answers with their keys.
    wait_s : float
        The longest wait of a request for others that are reading.
    """

    def __init__(self, most_bytes: int = _MOST_BYTES, wait_s: float = _WAIT_S) -> None:
        self._most_bytes, self._bytes, self._wait_s = most_bytes, 0, wait_s
        self._answers: OrderedDict[tuple[object, ...], tuple[Versions, bytes]] = OrderedDict()
        self._lock, self._readers = threading.Lock(), threading.Semaphore(AT_ONCE)

    def get(self, key: tuple[object, ...], current: Callable[[], Versions], read: Callable[[], bytes]) -> bytes:
        """Return the answer of a key: the cached one if it has the current versions, else the result of `read`.

        A read that fails or is incomplete is repeated if a version has changed meanwhile, as a compaction may have
        removed its files.

        Raises
        ------
        TimeoutError
            When others are reading for too long.
        """
        now = current()
        if (kept := self._kept(key, now)) is not None:
            return kept
        if not self._readers.acquire(timeout=self._wait_s):
            raise TimeoutError("other parts of pages are being read, and take long")
        try:
            now = current()
            answer = self._kept(key, now)  # it may have been read meanwhile
            if answer is None:
                now, answer = _read(now, current, read)
                if not isinstance(answer, LackingAnswer):
                    self._keep(key, now, answer)
            return answer
        finally:
            pa.default_memory_pool().release_unused()  # Arrow keeps freed memory for each thread that reads
            self._readers.release()

    def _kept(self, key: tuple[object, ...], now: Versions) -> bytes | None:
        with self._lock:
            versions_then, answer = self._answers.get(key, (None, b""))
            if versions_then != now:
                return None
            self._answers.move_to_end(key)
            return answer

    def _keep(self, key: tuple[object, ...], now: Versions, answer: bytes) -> None:
        with self._lock:
            _, before = self._answers.pop(key, ((), b""))
            self._answers[key] = now, answer
            self._bytes += len(answer) - len(before) + (0 if before else _key_bytes(key))
            while self._bytes > self._most_bytes:
                key_of_oldest, (_, oldest) = self._answers.popitem(last=False)
                self._bytes -= len(oldest) + _key_bytes(key_of_oldest)


def _read(now: Versions, current: Callable[[], Versions], read: Callable[[], bytes]) -> tuple[Versions, bytes]:
    """Read an answer; return it with the least versions that it can have."""
    try:
        answer = read()
    except (Damaged, OSError, DeltaError):
        before, now = now, current()
        if before == now:
            raise
        return now, read()
    if isinstance(answer, LackingAnswer) and (newer := current()) != now:
        return newer, read()
    return now, answer


def _key_bytes(key: tuple[object, ...]) -> int:
    return sum(len(str(part)) for part in key)
