"""A cache of the contents of objects, up to a size."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Collection
from dataclasses import dataclass, field
from threading import RLock

import pyarrow as pa

_ROUNDS = 8


@dataclass
class _Directory:
    contents: dict[str, pa.Buffer]
    read: int
    """The number of the latest read of the directory."""


@dataclass
class ContentCache:
    """Contents by directory and name. A batch reads all contents named by its task's state, from one directory.

    It evicts contents that the newest state does not name, and directories that were not read during the last eight
    reads per directory: their tasks run elsewhere. When it is full, new contents are not cached. Evicting the least
    recently used ones would evict each just before its next use, as every batch reads all of them.

    Attributes
    ----------
    most_bytes : int
        The limit.
    size : int
        The bytes held now.
    """

    most_bytes: int
    size: int = 0
    _reads: int = 0
    _directories: OrderedDict[str, _Directory] = field(default_factory=OrderedDict)  # in the order of reading
    _lock: RLock = field(default_factory=RLock)  # the tasks of one process run in threads

    def read(self, directory: str, names: Collection[str]) -> dict[str, pa.Buffer]:
        """Return the cached contents among those that a state names, and evict the directory's others."""
        with self._lock:
            self._reads += 1
            mine = self._directory(directory)
            mine.read = self._reads
            self._directories.move_to_end(directory)
            for name in mine.contents.keys() - set(names):
                self.drop(directory, name)
            oldest, other = next(iter(self._directories.items()))
            if self._reads - other.read > _ROUNDS * len(self._directories):
                self.size -= sum(content.size for content in other.contents.values())
                del self._directories[oldest]
            return dict(mine.contents)

    def add(self, directory: str, name: str, content: pa.Buffer) -> None:
        """Cache a content, replacing an earlier one of its name, if there is room."""
        with self._lock:
            self.drop(directory, name)
            if self.size + content.size <= self.most_bytes:
                self._directory(directory).contents[name] = content
                self.size += content.size

    def drop(self, directory: str, name: str) -> None:
        """Drop a content if it is cached."""
        with self._lock:
            content = self._directory(directory).contents.pop(name, None)
            self.size -= 0 if content is None else content.size

    def _directory(self, directory: str) -> _Directory:
        return self._directories.setdefault(directory, _Directory({}, self._reads))
