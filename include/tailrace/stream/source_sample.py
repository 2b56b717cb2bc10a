"""Samples of a query's sources: their columns and types, and the check of their first records."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import pyarrow as pa

from tailrace.disorder.promising_policy import PromisingPolicy
from tailrace.engine.derived_columns import with_derived
from tailrace.engine.lookup_types import with_lookup_types
from tailrace.engine.stream_reader import SegmentContent, column_types_of, columns_of, named_types, readers_of
from tailrace.engine.stream_records import types_seen
from tailrace.ground.errors import Problem, Refused, Unfit
from tailrace.ground.facts import TABLE, Subject
from tailrace.ground.object_path import Location
from tailrace.kind.capabilities import Promising, TypedByColumns
from tailrace.kind.inputs import ColumnTypes
from tailrace.kinds import build
from tailrace.query.query import Query
from tailrace.query.sections import StreamSection
from tailrace.sources.columns import SourceMapping
from tailrace.sources.declared_source import Opening
from tailrace.sources.lookup_table import LookupVersion
from tailrace.sources.lookups import Versions
from tailrace.sources.record_place import first_line
from tailrace.sources.segments import Segment, Types
from tailrace.sources.time_zones import zone_problems
from tailrace.storage.delta_access import DELTA_TABLES
from tailrace.storage.delta_dimension import open_dimension
from tailrace.storage.rejections import Rejections
from tailrace.storage.status import wall_ms
from tailrace.stream.sample_report import SAMPLED_ROWS, SampleReport, SourceSample
from tailrace.stream.table_versions import TableVersions, content_of, first_types

NO_TABLES: Mapping[Subject, ColumnTypes] = {}


def sample_sources(query: Query) -> dict[str, SourceSample]:
    """Look at the columns and types of each stream's source, at its first and last files; writes nothing.

    Raises
    ------
    Unfit
        When a column is missing, or of a type that no tuple can come from.
    Refused
        When a source is not there, or can't be read.
    """
    columns = columns_of(query)
    samples, problems = dict[str, SourceSample](), list[Problem]()
    for name, stream in query.streams.items():
        try:
            samples[name] = _sample(query, name, stream, columns[name])
        except Unfit as unfit:  # others may be found in the next stream
            problems += unfit.problems
    if problems:
        raise Unfit(problems)
    require_types(query, {name: sample.types for name, sample in samples.items()}, types_of_tables(query))
    return samples


def types_of_tables(query: Query) -> dict[Subject, ColumnTypes]:
    """Read the types of lookups' tables as they are now, and of a dimension table that a condition reads."""
    tables = query.tables.items()
    is_read = {subject: subject != TABLE or query.pair_condition is not None for subject, _ in tables}
    return {subject: TableVersions(table, Path(), about=subject).types for subject, table in tables if is_read[subject]}


def require_types(query: Query, types: Mapping[str, Types], tables: Mapping[Subject, ColumnTypes] = NO_TABLES) -> None:
    """Refuse what the column types of the sources show to be wrong.

    That is times without a zone beside others that have one, where nothing says what they mean; expressions that can't
    be bound; functions that do not take the types of their columns; and promises of answers that are no numbers.
    `tables` has the types of the dimension table, and of the tables of lookups.

    Raises
    ------
    Unfit
    """
    try:
        problems = _type_problems(query, types, tables)
    except Unfit as unfit:
        problems = [*unfit.problems]
    if problems:
        declared = columns_of(query)
        causes = [each for name in types for each in _text_problems(query, declared[name], types[name])]
        raise Unfit(causes + problems)


def _type_problems(query: Query, types: Mapping[str, Types], tables: Mapping[Subject, ColumnTypes]) -> list[Problem]:
    names = {name: (stream.event_time, stream.arrival_time) for name, stream in query.streams.items()}
    timezones = {name: stream.timezone for name, stream in query.streams.items()}
    problems = [*zone_problems(names, types, timezones)]
    table = tables.get(TABLE)
    declared = columns_of(query)
    types = {name: types_seen(declared[name], shown) if shown else shown for name, shown in types.items()}
    columns = {name: with_lookup_types(each, types[name], tables) for name, each in declared.items()}
    known = {name: with_derived(name, columns[name], shown) for name, shown in types.items() if shown}
    if len(known) == len(columns) and (query.table is None or table is not None):
        streams = [column_types_of(each, known[name]) for name, each in columns.items()]
        kind = build(query, [*streams, table] if query.table is not None and table is not None else streams)
        type_problems = kind.type_problems() if isinstance(kind, TypedByColumns) else []
        if not type_problems and isinstance(query.policy, PromisingPolicy) and isinstance(kind, Promising):
            type_problems = kind.error_model.type_problems(query.policy.of)
        problems += type_problems
    return problems


def _text_problems(query: Query, columns: SourceMapping, types: Types) -> list[Problem]:
    """Name the texts for which a column that may have to be of numbers is not; none where the files are away."""
    try:
        return query.streams[columns.stream].source.text_problems(columns, types)
    except (Refused, OSError):
        return []


def report_of(query: Query, samples: Mapping[str, SourceSample]) -> list[SampleReport]:
    """Read the records of samples of all streams, and check them as the stream would."""
    known = {name: sample.types for name, sample in samples.items() if sample.types}
    if len(known) < len(samples):
        return [SampleReport(sample, 0, 0, Rejections()) for sample in samples.values()]
    reports = {name: SampleReport(sample, 0, 0, Rejections()) for name, sample in samples.items()}
    tuples: dict[str, list[pa.RecordBatch]] = {name: [] for name in samples}
    for sample, segment, content in contents_of(query, samples):
        tuples[sample.stream].append(content.tuples)
        before = reports[sample.stream]
        before.rejections.add(pa.Table.from_batches([content.quarantine]))
        reports[sample.stream] = replace(
            before,
            read=before.read + segment.rows,
            accepted=before.accepted + content.tuples.num_rows,
            filtered=before.filtered + content.filtered,
            unmatched=before.unmatched + content.unmatched,
            floored=before.floored | content.floored,
            first_line=before.first_line or first_line(sample.format, content.quarantine),
        )
    return [report.with_tuples(tuples[name]) for name, report in reports.items()]


def contents_of(
    query: Query, samples: Mapping[str, SourceSample]
) -> Iterator[tuple[SourceSample, Segment, SegmentContent]]:
    """Yield the segments of samples that show the types of their columns, read and checked as the stream would."""
    versions, types = versions_now(query)
    known = {name: sample.types for name, sample in samples.items()}
    readers = readers_of(query, known | types, histories_of(known))
    for reader, sample in zip(readers, samples.values(), strict=True):
        for segment in sample.segments:
            yield sample, segment, reader.read(replace(segment, ingested_ms=wall_ms()), versions=versions)


def histories_of(streams: Iterable[str]) -> dict[str, Location]:
    """Return placeholders for histories, for readers that read sources only."""
    return dict.fromkeys(streams, Path())


def versions_now(query: Query) -> tuple[Versions, dict[Subject, Types]]:
    """Read the tables of lookups as they are now; returns their versions and types, by subject."""
    versions, types = dict[Subject, LookupVersion](), dict[Subject, Types]()
    for lookup in (each for lookups in query.lookups.values() for each in lookups):
        content = content_of(lookup.table, open_dimension(lookup.table.place)).content
        versions[lookup.subject] = lookup.table.read(lookup.table.path, content)
        types[lookup.subject] = named_types(first_types(lookup.table, content))
    return versions, types


def _sample(query: Query, name: str, stream: StreamSection, columns: SourceMapping) -> SourceSample:
    types, segments = stream.source.sample(Opening(columns, DELTA_TABLES, query.idle_ms / 1000))
    return SourceSample(name, stream.uri, types, _first_rows(name, segments), stream.source.format)


def _first_rows(name: str, segments: list[Segment]) -> tuple[Segment, ...]:
    """Return at most the first `_ROWS` records of each segment, as segments of the named stream."""
    return tuple(
        replace(
            segment, stream=name, ordinal=number, position=number * SAMPLED_ROWS, rows=min(segment.rows, SAMPLED_ROWS)
        )
        for number, segment in enumerate(segments)
    )
