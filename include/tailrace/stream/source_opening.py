"""A query's feed: opened where its journal stands."""

from __future__ import annotations

from pathlib import Path

import pyarrow.compute as pc

from tailrace.engine.stage import columns_of
from tailrace.ground.errors import Problem, SourceChanged
from tailrace.query.query import Query
from tailrace.sources.feeds import Feed, ReadFile, ReplayFeed, read_files
from tailrace.sources.file_feed import FileFeed
from tailrace.storage.delta_feed import DeltaFeed
from tailrace.storage.journal import Journal, LogPosition
from tailrace.storage.layout import CheckpointManifest, Layout
from tailrace.storage.tables import Tables

_FILES_AT_ONCE = 1000
_OF_FILE = ("of_rows", "size", "mtime_ns")


def open_feed(query: Query, layout: Layout, origin: CheckpointManifest | None, live: bool) -> Feed:
    """The growing end of the query's source; a bounded run replays at no rate."""
    source, columns, types = query.stream[1].source, columns_of(query), origin.types if origin else {}
    last = Journal(layout.journal).last()
    before = _taken(layout)
    if source.format == "delta":
        version = (last.position if last else LogPosition()).version
        delta = DeltaFeed(source.path, columns, types, before, version)
        if origin is not None and origin.identity != delta.identity:
            wrong = f"it is another table than the stream has read: {delta.identity}, not {origin.identity}"
            right = "the table that it was; or another name for the query, to begin anew"
            raise SourceChanged([Problem(str(source.path), wrong, right)])
        return delta
    kept_as = "parquet" if source.format == "replay" else source.format
    by_name = {Path(path).name: one for path, one in before.items()}
    files = FileFeed(source.path, kept_as, columns, types, by_name, _FILES_AT_ONCE if live else None)
    return ReplayFeed(files, source.rate) if source.rate is not None and live else files


def _taken(layout: Layout) -> dict[str, ReadFile]:
    """What the journal has named of each file: by the stream's own table, and by entries that it does not have yet."""
    tables, journal = Tables(layout), Journal(layout.journal)
    found: dict[str, ReadFile] = {}
    batch = 0
    if tables.has("segments"):
        rows = tables.read("segments", ["batch", "path", "first_row", "rows", *_OF_FILE])
        batch = (pc.max(rows.column("batch")).as_py() or 0) + 1 if rows.num_rows else 0
        ends = rows.append_column("end", pc.add(rows.column("first_row"), rows.column("rows")))
        files = ends.group_by("path").aggregate([(name, "max") for name in ("end", *_OF_FILE)])
        for file in files.to_pylist():
            found[file["path"]] = ReadFile(file["path"], file["end_max"], *(file[f"{name}_max"] for name in _OF_FILE))
    while batch in journal:
        found |= read_files(journal[batch].segments, found)
        batch += 1
    return found
