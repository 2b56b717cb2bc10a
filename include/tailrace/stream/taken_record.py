"""The files read by the batches of a stream, from the table `segments` and from newer entries of the journal."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from tailrace.sources.reading_progress import ReadFile, read_files
from tailrace.storage.journal import Journal
from tailrace.storage.layout import Layout
from tailrace.storage.tables import Tables

_OF_FILE = ("of_rows", "size", "mtime_ns")
_PATH = ds.field("path")
_SLASHES = pc.count_substring(_PATH, "/")


@dataclass(frozen=True)
class StreamRecord:
    """The record of the files that one stream has read; each call reads it again."""

    layout: Layout
    stream: str

    def rows(self) -> int:
        """Return the number of the stream's rows up to the newest entry of the journal."""
        last = Journal(self.layout.journal).last()
        return 0 if last is None else last.position.streams[self.stream].rows

    def files(self, prefix: str) -> Iterator[ReadFile]:
        """Yield the files whose paths begin with a prefix, with no slash after it."""
        slashes = prefix.count("/")
        where = (prefix <= _PATH) & (f"{prefix[:-1]}0" > _PATH) & (slashes == _SLASHES)  # 0 comes after the slash
        return self._files(where, lambda path: path.startswith(prefix) and path.count("/") == slashes)

    def since(self, prefix: str, boundary: str) -> Iterable[ReadFile]:
        """Return all files except those in partitions that precede a partition; an empty one means all.

        A file may occur several times, if several batches have read parts of it.
        """
        return _FilesSince(self, prefix, boundary)

    def files_since(self, prefix: str, boundary: str) -> Iterator[ReadFile]:
        """Yield the files of `since`."""
        if not boundary:
            return self._files(None, lambda path: True)
        first = f"{prefix}{boundary}"
        slashes = first.count("/")

        def is_wanted(path: str) -> bool:
            return path >= first or path.count("/") < slashes or not path.startswith(prefix)

        return self._files((first <= _PATH) | (slashes > _SLASHES) | ~pc.starts_with(_PATH, prefix), is_wanted)

    def _files(self, where: Any, is_wanted: Callable[[str], bool]) -> Iterator[ReadFile]:
        """Yield the files of the table under a condition, and of the journal's newer entries."""
        tables, journal, batch = Tables(self.layout), Journal(self.layout.journal), 0
        if tables.has("segments"):
            newest = tables.greatest("segments", "batch")  # before reading rows: the driver may add some
            batch = 0 if newest is None else newest + 1
            of_stream = ds.field("stream") == self.stream
            columns = ["path", "first_row", "rows", *_OF_FILE]
            for rows in tables.batches("segments", columns, of_stream if where is None else of_stream & where):
                yield from _of_rows(rows)
        while batch in journal:
            segments = journal[batch].segments
            yield from read_files((s for s in segments if s.stream == self.stream and is_wanted(s.path)), {}).values()
            batch += 1


@dataclass(frozen=True)
class _FilesSince:
    """Files of a record, read again at each iteration, so that after a failed one the record does not look empty."""

    record: StreamRecord
    prefix: str
    boundary: str

    def __iter__(self) -> Iterator[ReadFile]:
        return self.record.files_since(self.prefix, self.boundary)


def _of_rows(rows: pa.Table) -> Iterator[ReadFile]:
    ends = rows.append_column("end", pc.add(rows.column("first_row"), rows.column("rows")))
    files = ends.group_by("path").aggregate([(name, "max") for name in ("end", *_OF_FILE)])
    for file in files.to_pylist():
        yield ReadFile(file["path"], file["end_max"], *(file[f"{name}_max"] for name in _OF_FILE))
