"""Rewrites the journal for a rebuild that recomputes all answers: old segments and silence, new query's facts.

The first settings are the declared ones, there is no partition plan at first, and the versions of tables stay.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import islice

from tailrace.engine.compiled_query import CompiledQuery
from tailrace.engine.lookup_types import named_types
from tailrace.engine.next_facts import DECLARED, next_facts, with_table
from tailrace.ground.facts import Facts, Subject, newest, tables_in_force
from tailrace.kind.protocol import Kind
from tailrace.query.query import Query
from tailrace.sources.answers_source import AnswersSource
from tailrace.sources.segments import Types
from tailrace.storage.delta_feed import DeltaFeed
from tailrace.storage.journal import BatchRecord, Journal
from tailrace.storage.layout import Layout
from tailrace.storage.manifest import CheckpointManifest
from tailrace.storage.replay import Replay, merged
from tailrace.stream.source_opening import open_feeds
from tailrace.stream.table_versions import TableVersion, TableVersions, check_later, first_types
from tailrace.tables.stream import UPSTREAM


def restated(query: Query, entries: Iterable[BatchRecord]) -> Iterator[BatchRecord]:
    """Yield the entries with the new query's idle time."""
    return (replace(entry, header=replace(entry.header, idle_ms=query.idle_ms)) for entry in entries)


def new_entries(
    query: Query, kind: Kind, old: Iterable[BatchRecord], replay: Replay, added: Mapping[Subject, TableVersion]
) -> Iterator[BatchRecord]:
    """Yield the entries of the new journal: one for each batch of the replay.

    `added` has the table versions that hold from the start.
    """
    remaining, facts, start = iter(restated(query, old)), next_facts((), query.policy, DECLARED, None, kind, 0), 0
    for subject, version in added.items():
        facts = with_table(facts, *version, 0, 0, subject)
    for number, end in enumerate(replay.ends):
        entry = merged(list(islice(remaining, end - start)))
        facts, start = _with_tables(facts, entry.header.facts, query.tables.keys() - added.keys(), number), end
        yield replace(entry, header=replace(entry.header, batch=number, facts=facts))


def versions_from_the_start(
    query: Query, layout: Layout, built: Layout, types: Mapping[str, Types]
) -> dict[Subject, TableVersion]:
    """Store and return the versions of tables that hold for the whole log.

    A table that the old stream did not read has its present content. So does the table of a lookup that corrections
    repeat; if it is unavailable or unfit, the newest version of the journal holds. `types` has the types of tables by
    subject.
    """
    journal = Journal(layout.journal)
    known = tables_in_force(journal[journal.count - 1].header.facts) if journal.count else {}
    repeated = {lookup.subject for each in query.lookups.values() for lookup in each if lookup.is_repeated}
    versions = dict[Subject, TableVersion]()
    for subject, table in query.tables.items():
        last = known.get(subject)
        if last is not None and subject not in repeated:
            continue
        waits = last is not None
        version = TableVersions(table, built.table_versions, types[subject], waits, subject).take(last)
        if version is None:
            assert last is not None  # a missing table is refused elsewhere
            version = TableVersion(dict(last.value), last.evidence)
        versions[subject] = version
    return versions


def _with_tables(facts: Facts, old: Facts, needed: Collection[Subject], batch: int) -> Facts:
    """Return the facts of a batch, with the versions of the tables that the old stream read for its rows."""
    for subject, version in tables_in_force(old).items():
        before = newest(facts, subject)
        if subject in needed and (before is None or before.version != version.version):
            facts = (*(fact for fact in facts if fact.about != subject), replace(version, batch=batch))
    return facts


def types_of(compiled: CompiledQuery, manifest: CheckpointManifest, layout: Layout, built: Layout) -> dict[str, Types]:
    """Return the types of the columns that the new query reads.

    They are the old query's types, or else the source's present ones. A chained query's stream has the types of its
    log, which stays in its place. A table has the types of the first version that the old stream read, whatever has
    become of its source.
    """
    query, types = compiled.query, dict[str, Types]()
    from_the_start = Layout(built.home / "unread")  # these files may be of a rebuild that died
    for name, columns in compiled.sources.items():
        needed = columns.named().values()
        if known := _known(needed, manifest.types[name]):
            types[name] = known
            continue
        feed = (
            DeltaFeed(layout.table(UPSTREAM.name), columns, {}, {}, -1)
            if isinstance(query.streams[name].source, AnswersSource)
            else open_feeds(compiled, from_the_start, None, live=False)[name]
        )
        feed.fresh()
        types[name] = feed.types
    journal = Journal(layout.journal)
    versions = _files_of_versions(journal)
    for subject, table in query.tables.items():
        if subject in versions:
            file = layout.table_versions / next(iter(versions[subject]))
            first = first_types(table, file.read_bytes(), file.suffix)
            types[subject] = named_types(first)
            is_as_checked = types[subject] == manifest.types.get(subject)
            for name in () if is_as_checked else versions[subject]:
                later = layout.table_versions / name
                check_later(table, later.read_bytes(), first, later.suffix)
        else:
            types[subject] = named_types(TableVersions(table, built.table_versions, waits=False, about=subject).types)
    return types


def _files_of_versions(journal: Journal) -> dict[Subject, dict[str, None]]:
    """Return the files of each table's versions, the first one first."""
    files: dict[Subject, dict[str, None]] = {}
    for number in range(journal.count):
        for subject, fact in tables_in_force(journal[number].header.facts).items():
            files.setdefault(subject, {})[fact.value["file"]] = None
    return files


def _known(names: Iterable[str], types: Mapping[str, str]) -> Types | None:
    wanted = list(names)
    return {name: types[name] for name in wanted} if all(name in types for name in wanted) else None
