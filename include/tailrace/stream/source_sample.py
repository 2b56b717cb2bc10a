"""A sample of a query's sources: their columns and types, and what the first records would come to."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import pyarrow as pa

from tailrace.disorder.promising_policy import PromisingPolicy
from tailrace.engine.derived_columns import with_derived
from tailrace.engine.stream_reader import column_types_of, columns_of, readers_of
from tailrace.ground.errors import Problem, Unfit
from tailrace.ground.object_path import Location
from tailrace.ground.words import counted
from tailrace.kind.capabilities import Promising, TypedByColumns
from tailrace.kind.inputs import ColumnTypes
from tailrace.kinds import build
from tailrace.query.query import Query
from tailrace.query.sections import Stream
from tailrace.sources.columns import Columns
from tailrace.sources.declared_source import Opening
from tailrace.sources.segments import Segment, Types
from tailrace.sources.time_zones import zone_problems
from tailrace.storage.delta_access import DELTA_TABLES
from tailrace.storage.rejections import Rejections
from tailrace.storage.status import wall_ms
from tailrace.stream.table_versions import TableVersions

_ROWS = 10_000
"""At most so many records are read of the first segment, and of the last one."""


@dataclass(frozen=True)
class SourceSample:
    """A sample of a stream's source.

    Attributes
    ----------
    stream, where : str
        The name of the stream, and its source as a URI.
    types : dict
        The types of the columns that the query reads; empty where no record shows them yet.
    segments : tuple of Segment
        The first records of its first file, and of its last one.
    """

    stream: str
    where: str
    types: Types
    segments: tuple[Segment, ...]


@dataclass(frozen=True)
class SampleReport:
    """What the records of a sample would come to: how many were read and accepted, and why the others were not.

    `filtered` is the number of those that the stream's `where` leaves out.
    """

    sample: SourceSample
    read: int
    accepted: int
    rejections: Rejections
    filtered: int = 0

    @property
    def is_unfit(self) -> bool:
        """True if no record fits, though there are some that `where` does not leave out."""
        return self.read > self.filtered and not self.accepted

    def lines(self) -> Iterator[str]:
        """Yield the report in lines."""
        head = f"stream {self.sample.stream}: {self.sample.where}"
        if not self.sample.types:
            yield f"{head}: no record yet, so its types are not known"
            return
        yield f"{head}: {', '.join(f'{name} {dtype}' for name, dtype in self.sample.types.items())}"
        rejected = self.read - self.accepted - self.filtered
        filtered = f"{self.filtered:,} are left out by where, " if self.filtered else ""
        looked_at = counted(self.read, "record")
        yield f"  of {looked_at} that were looked at {self.accepted:,} fit, {filtered}{rejected:,} do not"
        for line in self.rejections.lines():
            yield f"  {line}"


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
    table = query.table
    of_table = TableVersions(table, Path()).types if table is not None and query.pair_condition is not None else None
    require_types(query, {name: sample.types for name, sample in samples.items()}, of_table)
    return samples


def require_types(query: Query, types: Mapping[str, Types], table: ColumnTypes | None = None) -> None:
    """Refuse what the types of the sources' columns show to be wrong.

    That is times without a zone beside others that have one, where nothing says what they mean; expressions that can't
    be bound; functions that do not take the types of their columns; and promises of answers that are no numbers.
    `table` has the types of the dimension table.

    Raises
    ------
    Unfit
    """
    names = {name: (stream.event_time, stream.arrival_time) for name, stream in query.streams.items()}
    timezones = {name: stream.timezone for name, stream in query.streams.items()}
    problems = [*zone_problems(names, types, timezones)]
    columns = columns_of(query)
    known = {name: with_derived(name, columns[name], shown) for name, shown in types.items() if shown}
    if len(known) == len(columns) and (query.table is None or table is not None):
        streams = [column_types_of(each, known[name]) for name, each in columns.items()]
        kind = build(query, [*streams, table] if query.table is not None and table is not None else streams)
        found = kind.type_problems() if isinstance(kind, TypedByColumns) else []
        if not found and isinstance(query.policy, PromisingPolicy) and isinstance(kind, Promising):
            found = kind.error_model.type_problems(query.policy.of)
        problems += found
    if problems:
        raise Unfit(problems)


def report_of(query: Query, samples: Mapping[str, SourceSample]) -> list[SampleReport]:
    """Read the records of samples of all streams, and check them as the stream would."""
    known = {name: sample.types for name, sample in samples.items() if sample.types}
    if len(known) < len(samples):
        return [SampleReport(sample, 0, 0, Rejections()) for sample in samples.values()]
    readers = readers_of(query, known, histories_of(known))
    reports = []
    for reader, sample in zip(readers, samples.values(), strict=True):
        report = SampleReport(sample, 0, 0, Rejections())
        for segment in sample.segments:
            content = reader.read(replace(segment, ingested_ms=wall_ms()))
            report.rejections.add(pa.Table.from_batches([content.quarantine]))
            report = replace(
                report,
                read=report.read + segment.rows,
                accepted=report.accepted + content.tuples.num_rows,
                filtered=report.filtered + content.filtered,
            )
        reports.append(report)
    return reports


def histories_of(streams: Iterable[str]) -> dict[str, Location]:
    """Return the places of histories for readers that read sources alone."""
    return dict.fromkeys(streams, Path())


def _sample(query: Query, name: str, stream: Stream, columns: Columns) -> SourceSample:
    types, segments = stream.source.sample(Opening(columns, DELTA_TABLES, query.idle_ms / 1000))
    return SourceSample(name, stream.uri, types, _first_rows(name, segments))


def _first_rows(name: str, segments: list[Segment]) -> tuple[Segment, ...]:
    """Return the first records of segments, as segments that can be read whatever has become of their files' age."""
    return tuple(
        replace(segment, stream=name, ordinal=number, rows=min(segment.rows, _ROWS))
        for number, segment in enumerate(segments)
    )
