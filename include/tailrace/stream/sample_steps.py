"""Runs a sample of a stream through reading, `columns`, `where` and the check, and counts the records after each."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa

from tailrace.engine.derived_columns import bound
from tailrace.ground.words import counted
from tailrace.query.query import Query
from tailrace.sources.check import with_looked_up
from tailrace.sources.verdict import RecordVerdict
from tailrace.storage.rejections import Rejections
from tailrace.storage.status import wall_ms
from tailrace.stream.sample_report import SourceSample
from tailrace.stream.source_sample import compile_sample

FIRST_ROWS = 5


@dataclass(frozen=True)
class SampleSteps:
    """The steps of a stream over a sample of its records.

    Attributes
    ----------
    read, parsed, computed, kept, accepted : int
        The numbers of records that were examined; were readable; gave a value for each expression; were kept by
        `where`; and became tuples. A record that `where` leaves out need not give values.
    rows : Table
        The first rows after `columns` and `where`, with the source's columns that are read, and the derived ones.
    """

    stream: str
    read: int
    parsed: int
    computed: int
    kept: int
    accepted: int
    rejections: Rejections
    rows: pa.Table

    def lines(self) -> Iterator[str]:
        """Yield the counts as lines."""
        yield f"stream {self.stream}: {counted(self.read, 'record')} looked at"
        yield f"  {self.parsed:,} could be read"
        yield f"  {self.computed:,} gave their columns, or were left out by where"
        yield f"  {self.kept:,} were kept by where"
        yield f"  {self.accepted:,} are tuples"
        for line in self.rejections.lines():
            yield f"  {line}"


def sample_steps(query: Query, samples: Mapping[str, SourceSample]) -> list[SampleSteps]:
    """Run samples of streams through their steps; streams without known types are left out."""
    if not all(sample.types for sample in samples.values()):
        return []
    (compiled, versions), steps = compile_sample(query, samples), []
    for reader, (name, columns) in zip(compiled.readers(), compiled.sources.items(), strict=True):
        types, columns = samples[name].types, replace(columns, lookups=reader.columns.lookups)  # noqa: PLW2901
        projection = bound(columns, types)
        parsed = computed = kept = accepted = 0
        tables, rejections = list[pa.Table](), Rejections()
        for segment in samples[name].segments:
            table = reader.format.read(segment, types).table
            verdict = RecordVerdict(table.num_rows)
            table, dropped = with_looked_up(verdict, table, columns, versions)
            stays = np.ones(table.num_rows, bool) if dropped is None else ~dropped
            stays &= verdict.code == 0
            parsed += table.num_rows
            computed += table.num_rows
            if projection is not None:
                projected = projection.run(table)
                failed = np.zeros(table.num_rows, bool)
                for failure in projected.failures:
                    failed |= failure.mask
                computed -= int(failed.sum())
                stays, table = stays & projected.kept & ~failed, projected.table
            kept += int(stays.sum())
            tables.append(table.filter(pa.array(stays)).slice(0, FIRST_ROWS))
            content = reader.read(replace(segment, ingested_ms=wall_ms()), versions=versions)
            accepted += content.tuples.num_rows
            rejections.add(pa.Table.from_batches([content.quarantine]))
        rows = pa.concat_tables(tables, promote_options="default").slice(0, FIRST_ROWS) if tables else pa.table({})
        read = sum(segment.rows for segment in samples[name].segments)
        steps.append(SampleSteps(name, read, parsed, computed, kept, accepted, rejections, rows))
    return steps
