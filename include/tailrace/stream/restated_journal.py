"""The journal of a stream that is answered again: segments and silence of the old one, under facts of the new query.

Settings begin with the declared ones, and partition plans with none; the versions of a dimension table stay.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import islice

from tailrace.engine.next_facts import DECLARED, next_facts
from tailrace.engine.stream_reader import TABLE, columns_of, named_types
from tailrace.ground.facts import Facts, newest
from tailrace.kind.protocol import Kind
from tailrace.query.query import Query
from tailrace.sources.segments import Types
from tailrace.storage.journal import BatchRecord
from tailrace.storage.layout import Layout
from tailrace.storage.manifest import CheckpointManifest
from tailrace.storage.replay import Replay, merged
from tailrace.stream.source_opening import open_feeds
from tailrace.stream.table_versions import TableVersions


def restated(query: Query, entries: Iterable[BatchRecord]) -> Iterator[BatchRecord]:
    """The entries with what the new query says of silence, and of times of ingest."""
    stamped = {name for name, stream in query.streams.items() if stream.is_stamped}
    for entry in entries:
        planned_ms = entry.position.planned_ms
        segments = tuple(
            replace(segment, ingested_ms=planned_ms)
            if segment.ingested_ms is None and segment.stream in stamped
            else segment
            for segment in entry.segments
        )
        yield replace(entry, header=replace(entry.header, idle_ms=query.idle_ms), segments=segments)


def new_entries(query: Query, kind: Kind, old: Iterable[BatchRecord], replay: Replay) -> Iterator[BatchRecord]:
    """The entries of the new journal: one for each batch of the replay."""
    remaining, facts, start = iter(restated(query, old)), next_facts((), query.policy, DECLARED, None, kind, 0), 0
    for number, end in enumerate(replay.ends):
        entry = merged(list(islice(remaining, end - start)))
        facts, start = _with_table(facts, entry.header.facts, number), end
        yield replace(entry, header=replace(entry.header, batch=number, facts=facts))


def _with_table(facts: Facts, old: Facts, batch: int) -> Facts:
    """The facts of a batch, with the version of the dimension table that the old stream joined its rows with."""
    version, before = newest(old, "table"), newest(facts, "table")
    if version is None or (before is not None and before.version == version.version):
        return facts
    return (*(fact for fact in facts if fact.about != "table"), replace(version, batch=batch))


def types_of(query: Query, manifest: CheckpointManifest, built: Layout) -> dict[str, Types]:
    """The types of the columns that the new query reads: those of the old one, else as the source shows them now."""
    types: dict[str, Types] = {}
    for name, columns in columns_of(query).items():
        needed = columns.named().values()
        if known := _known(needed, manifest.types[name]):
            types[name] = known
            continue
        feed = open_feeds(query, built, None, live=False)[name]
        feed.fresh()
        types[name] = feed.types
    if query.table is not None:
        types[TABLE] = named_types(TableVersions(query.table, built.table_versions, waits=False).types)
    return types


def _known(names: Iterable[str], types: Mapping[str, str]) -> Types | None:
    wanted = list(names)
    return {name: types[name] for name in wanted} if all(name in types for name in wanted) else None
