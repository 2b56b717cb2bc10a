"""A query's feed: opened where its journal stands."""

from __future__ import annotations

from tailrace.errors import refuse
from tailrace.query import Query
from tailrace.spark.delta_feed import DeltaFeed
from tailrace.spark.journal import Journal, Standing
from tailrace.spark.layout import Layout, Origin
from tailrace.spark.tables import Tables
from tailrace.stage import columns_of
from tailrace.streams.feeds import Feed, FileFeed, ReplayFeed, taken
from tailrace.streams.segments import Segment

_KNOWN = ("path", "first_row", "rows", "of_rows", "size")


def open_feed(query: Query, layout: Layout, origin: Origin | None, live: bool) -> Feed:
    """The growing end of the query's source; a bounded run replays at no rate."""
    source, columns, types = query.stream[1].source, columns_of(query), origin.types if origin else {}
    last = Journal(layout.journal).last()
    read = _read(layout)
    if source.format == "delta":
        version = (last.standing if last else Standing()).version
        delta = DeltaFeed(source.path, columns, types, taken(read, str), version)
        if origin is not None and origin.identity != delta.identity:
            wrong = f"it is another table than the stream has read: {delta.identity}, not {origin.identity}"
            raise refuse(str(source.path), wrong, "the table that it was; or another name for the query, to begin anew")
        return delta
    kept_as = "parquet" if source.format == "replay" else source.format
    files = FileFeed(source.path, kept_as, columns, types, taken(read))
    return ReplayFeed(files, source.rate) if source.rate is not None and live else files


def _read(layout: Layout) -> list[Segment]:
    """What the journal has named: from the stream's own table, and from the entries that it does not have yet."""
    tables, journal = Tables(layout), Journal(layout.journal)
    found: list[Segment] = []
    batch = 0
    if tables.has("segments"):
        rows = tables.read("segments", ["batch", *_KNOWN]).to_pylist()
        found = [Segment(**{name: row[name] for name in _KNOWN}) for row in rows]
        batch = max((row["batch"] + 1 for row in rows), default=0)
    while batch in journal:
        found += journal[batch].segments
        batch += 1
    return found
