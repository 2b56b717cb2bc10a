"""The files taken from one directory, in some 70 bytes each, as a stream may take millions of them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tailrace.sources.reading_progress import ReadFile

_FEWEST_MERGED = 4096
_MASK = (1 << 64) - 1


class TakenFiles:
    """The files taken completely from one directory, by name.

    The newest are in a dictionary, older ones in arrays ordered by the hashes of their names.

    Attributes
    ----------
    directory : str
        The path or URL of the directory, with a trailing slash.
    last : str
        The greatest name.
    listed, hashes : int
        The number of known files in the directory's listing, and the sum of the hashes of their names. A listing with
        other names, up to the last one, differs in these.
    """

    def __init__(self, directory: str, files: Iterable[ReadFile] = ()) -> None:
        self.directory, self.last = directory, ""
        self.listed = self.hashes = 0
        self._recent: dict[str, ReadFile] = {}
        self._keys = np.zeros(0, np.uint64)
        self._names = pa.array([], pa.string())
        self._numbers = np.zeros((0, 3), np.int64)  # rows, size, time of change (-1: none)
        for file in files:
            self.put(file)

    def __len__(self) -> int:
        return len(self._keys) + len(self._recent)

    def put(self, file: ReadFile) -> None:
        """Add a taken file, replacing one of the same name."""
        name = file.path.removeprefix(self.directory)
        if name <= self.last and name in self:
            self.remove(name)
        self.listed += 1
        self.hashes += hash(name)
        self.last = max(self.last, name)
        self._recent[name] = file
        if len(self._recent) >= max(_FEWEST_MERGED, len(self._keys) // 4):
            self._merge()

    def remove(self, name: str) -> None:
        """Forget a file, whether put before or since the last merge."""
        self.listed -= 1
        self.hashes -= hash(name)
        if self._recent.pop(name, None) is None:
            is_kept = np.ones(len(self._keys), bool)
            is_kept[self._index(name)] = False
            self._keys, self._numbers = self._keys[is_kept], self._numbers[is_kept]
            self._names = self._names.filter(pa.array(is_kept))

    def __contains__(self, name: str) -> bool:
        return name in self._recent or self._index(name) is not None

    def get(self, name: str) -> ReadFile | None:
        """Return a file by name; None if none of this name was taken."""
        if (file := self._recent.get(name)) is not None:
            return file
        index = self._index(name)
        return None if index is None else self._file(index)

    def unknown(self, names: Sequence[str]) -> list[str]:
        """Return the names that no taken file has."""
        keys = _keys_of(names)
        position = np.searchsorted(self._keys, keys)
        position[position == len(self._keys)] = 0
        is_known = self._keys[position] == keys if len(self._keys) else np.zeros(len(keys), bool)
        return [name for name, known in zip(names, is_known.tolist(), strict=True) if not known and name not in self]

    def part(self, first: int, count: int) -> list[ReadFile]:
        """Return `count` files from number `first` on, in an order that is stable until a file is put or removed."""
        older = [self._file(index) for index in range(first, min(first + count, len(self._keys)))]
        start = max(first - len(self._keys), 0)
        return older + list(self._recent.values())[start : start + count - len(older)]

    def names(self) -> Iterator[str]:
        """Yield the names of all files, in no certain order."""
        yield from (self._names[index].as_py() for index in range(len(self._keys)))
        yield from self._recent

    def _index(self, name: str) -> int | None:
        key = hash(name) & _MASK
        index = int(np.searchsorted(self._keys, np.uint64(key)))
        while index < len(self._keys) and int(self._keys[index]) == key:
            if self._names[index].as_py() == name:
                return index
            index += 1
        return None

    def _file(self, index: int) -> ReadFile:
        rows, size, mtime_ns = self._numbers[index].tolist()
        path = f"{self.directory}{self._names[index].as_py()}"
        return ReadFile(path, rows, rows, size, None if mtime_ns < 0 else mtime_ns)

    def _merge(self) -> None:
        """Move the newest files to the arrays."""
        names = list(self._recent)
        numbers = [(f.rows, f.size, -1 if f.mtime_ns is None else f.mtime_ns) for f in self._recent.values()]
        keys = np.concatenate([self._keys, _keys_of(names)])
        order = np.argsort(keys, kind="stable")
        self._keys = keys[order]
        self._numbers = np.concatenate([self._numbers, np.array(numbers, np.int64).reshape(-1, 3)])[order]
        merged = pa.concat_arrays([self._names, pa.array(names, pa.string())])
        self._names, self._recent = merged.take(pa.array(order)), {}


def _keys_of(names: Sequence[str]) -> NDArray[np.uint64]:
    return np.fromiter((hash(name) & _MASK for name in names), np.uint64, len(names))
