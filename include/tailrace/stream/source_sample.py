"""Samples of a query's sources: their columns and types, and the check of their first records."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from pathlib import Path

import pyarrow as pa

from tailrace.disorder.promising_policy import PromisingPolicy
from tailrace.engine.compiled_query import CompiledQuery
from tailrace.engine.lookup_types import named_types
from tailrace.engine.stream_reader import SegmentContent
from tailrace.ground.errors import Problem, Refused, Unfit
from tailrace.ground.facts import TABLE, Subject
from tailrace.kind.capabilities import Promising, TypedByColumns
from tailrace.query.query import Query
from tailrace.sources.declared_source import Opening
from tailrace.sources.lookup.lookup_table import LookupVersion
from tailrace.sources.lookup.lookups import Versions
from tailrace.sources.record_place import first_line
from tailrace.sources.segments import Segment, Types
from tailrace.sources.time_zones import local_zones, zone_problems
from tailrace.storage.delta_access import DELTA_TABLES
from tailrace.storage.delta_dimension import open_dimension
from tailrace.storage.rejections import Rejections
from tailrace.storage.status import wall_ms
from tailrace.stream.sample_report import SAMPLED_ROWS, SampleReport, SourceSample
from tailrace.stream.table_versions import TableVersions, content_of, first_types


def sample_sources(query: Query) -> dict[str, SourceSample]:
    """Look at the columns and types of each stream's source, at its first and last files; writes nothing.

    Raises
    ------
    Unfit
        When a column is missing, or of a type that no tuple can come from.
    Refused
        When a source is not there, or can't be read.
    """
    compiled = CompiledQuery.declare(query)
    samples, problems = dict[str, SourceSample](), list[Problem]()
    for name, stream in query.streams.items():
        try:
            opening = Opening(compiled.sources[name], DELTA_TABLES, query.idle_ms / 1000)
            types, segments = stream.source.sample(opening)
            rows = _first_rows(name, segments)
            samples[name] = SourceSample(name, stream.uri, types, rows, stream.source.format, stream.is_stamped)
        except Unfit as unfit:  # the next stream may have problems of its own
            problems += unfit.problems
    if problems:
        raise Unfit(problems)
    require_types(compiled.bind({name: sample.types for name, sample in samples.items()} | _types_of_tables(query)))
    return samples


def _types_of_tables(query: Query) -> dict[str, Types]:
    """Read the types of lookups' tables as they are now, and of a dimension table that a condition reads."""
    tables = {name: table for name, table in query.tables.items() if name != TABLE or query.pair_condition is not None}
    return {name: named_types(TableVersions(table, Path(), about=name).types) for name, table in tables.items()}


def require_types(compiled: CompiledQuery) -> None:
    """Refuse a query that the column types of its sources show to be wrong.

    Refused are times without a zone beside times with one, if the query states no zone for them; expressions that can't
    be bound; functions that do not take the types of their columns; and promises for answers that are no numbers.

    Raises
    ------
    Unfit
    """
    try:
        problems = _type_problems(compiled)
    except Unfit as unfit:
        problems = [*unfit.problems]
    if problems:
        causes = [each for name in compiled.sources for each in _text_problems(compiled, name)]
        raise Unfit(causes + problems)


def _type_problems(compiled: CompiledQuery) -> list[Problem]:
    query, types = compiled.query, compiled.types
    problems = [*zone_problems(compiled.sources, types)]
    if len(compiled.tuples) == len(query.streams) and (query.table is None or TABLE in types):
        kind = compiled.kind
        type_problems = kind.type_problems() if isinstance(kind, TypedByColumns) else []
        if not type_problems and isinstance(query.policy, PromisingPolicy) and isinstance(kind, Promising):
            type_problems = kind.error_model.type_problems(query.policy.of)
        problems += type_problems
    return problems


def _text_problems(compiled: CompiledQuery, stream: str) -> list[Problem]:
    """Name the texts that keep columns from being numbers; none if the files are away."""
    source = compiled.query.streams[stream].source
    try:
        return source.text_problems(compiled.sources[stream], compiled.types[stream])
    except (Refused, OSError):
        return []


def report_of(query: Query, samples: Mapping[str, SourceSample]) -> list[SampleReport]:
    """Read the records of samples of all streams, and check them as the stream would."""
    if not all(sample.types for sample in samples.values()):
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
    reports = {name: report.with_tuples(tuples[name]) for name, report in reports.items()}
    for name, zone in local_zones(CompiledQuery.declare(query).sources, {n: s.types for n, s in samples.items()}):
        if tuples[name]:
            reports[name] = reports[name].with_local_times(tuples[name], zone)
    return [*reports.values()]


def contents_of(
    query: Query, samples: Mapping[str, SourceSample]
) -> Iterator[tuple[SourceSample, Segment, SegmentContent]]:
    """Yield the segments of samples that show the types of their columns, read and checked as the stream would."""
    compiled, versions = compile_sample(query, samples)
    for reader, sample in zip(compiled.readers(), samples.values(), strict=True):
        for segment in sample.segments:
            yield sample, segment, reader.read(replace(segment, ingested_ms=wall_ms()), versions=versions)


def compile_sample(query: Query, samples: Mapping[str, SourceSample]) -> tuple[CompiledQuery, Versions]:
    """Compile the query with the types of samples, and of the present tables of lookups."""
    versions, types = dict[Subject, LookupVersion](), {name: sample.types for name, sample in samples.items()}
    for lookup in (each for lookups in query.lookups.values() for each in lookups):
        content = content_of(lookup.table, open_dimension(lookup.table.place)).content
        versions[lookup.subject] = lookup.table.read(lookup.table.path, content)
        types[lookup.subject] = named_types(first_types(lookup.table, content))
    return CompiledQuery.declare(query).bind(types), versions


def _first_rows(name: str, segments: list[Segment]) -> tuple[Segment, ...]:
    """Return at most the first `_ROWS` records of each segment, as segments of the named stream."""
    return tuple(
        replace(
            segment, stream=name, ordinal=number, position=number * SAMPLED_ROWS, rows=min(segment.rows, SAMPLED_ROWS)
        )
        for number, segment in enumerate(segments)
    )
