"""Stores the in-memory rows of streams as Parquet files in a warehouse."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from hashlib import sha256
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from tailrace.ground.errors import Busy, Refused, refuse
from tailrace.ground.files.atomic_files import write_atomically
from tailrace.query.query import Query
from tailrace.sources.formats.memory_texts import IN_MEMORY
from tailrace.storage.journal import Journal
from tailrace.storage.layout import Layout

FOLDER = IN_MEMORY
"""The folder of a warehouse with the in-memory rows of streams; no query can have this name."""


def over_stored(query: Query, rows: Mapping[str, pa.Table], layout: Layout) -> Query:
    """Return the query with file sources for its in-memory streams: the files in which runs store their rows.

    Raises
    ------
    Refused
        When the warehouse is in an object store.
    """
    streams = dict(query.streams)
    for name in rows:
        streams[name] = streams[name].model_copy(update={"source": streams[name].source.at(_folder(layout, name))})
    return query.model_copy(update={"streams": streams}) if rows else query


@contextmanager
def storing(rows: Mapping[str, pa.Table], layout: Layout) -> Iterator[None]:
    """Store rows for a run (idempotent); remove them if the run is refused before it plans a batch.

    Rows that differ from the stored ones become a further file: rows that arrived later.
    """
    journal = Journal(layout.journal)
    planned = journal.count if rows else 0
    new = list[Path]()
    try:
        for name, table in rows.items():
            if (file := _store(table, _folder(layout, name))) is not None:
                new.append(file)
        yield
    except Refused as refused:
        if not isinstance(refused, Busy) and journal.count == planned:  # another process might read them
            for file in new:
                _remove(file)
        raise


def _folder(layout: Layout, stream: str) -> Path:
    if not isinstance(layout.home, Path):
        remedy = "a folder of this machine; or a stream from files or a topic"
        raise refuse(f"--warehouse {layout.home.parent}", "rows in memory are stored on a disk", remedy)
    return layout.home.parent / FOLDER / layout.home.name / stream


def _store(rows: pa.Table, folder: Path) -> Path | None:
    """Write rows to a new file of a folder, and return it; None if a file already has them."""
    digest, stored = _digest(rows), sorted(file.name for file in folder.glob("*.parquet"))
    if any(digest in file for file in stored):
        return None
    content = pa.BufferOutputStream()
    try:
        pq.write_table(rows, content, store_schema=False)
    except pa.ArrowInvalid as error:  # Parquet has no seconds: it stores milliseconds
        remedy = "times that fit into milliseconds; null where a time is unknown"
        raise refuse(f"rows of {folder.name}", f"Parquet can't hold them: {error}", remedy) from None
    number = 1 + int(stored[-1].partition("-")[0]) if stored else 0
    folder.mkdir(parents=True, exist_ok=True)
    file = folder / f"{number:06d}-{digest}.parquet"
    write_atomically(file, content.getvalue().to_pybytes())
    return file


def _digest(rows: pa.Table) -> str:
    """Return a digest of rows that does not depend on the version of the Parquet writer."""
    content = pa.BufferOutputStream()
    with pa.ipc.new_stream(content, rows.schema) as stream:
        stream.write_table(rows.combine_chunks())
    return sha256(content.getvalue()).hexdigest()[:32]


def _remove(file: Path) -> None:
    """Remove a file, and then its empty parent directories, up to the warehouse."""
    file.unlink(missing_ok=True)
    with suppress(OSError):
        for folder in list(file.parents)[:4]:
            folder.rmdir()
