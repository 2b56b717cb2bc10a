"""The versions of lookups' tables that a correction reads: the newest that had arrived by its cut-off.

A version arrives when its first segment is read. It holds for each cut-off after the arrival time that the stream had
committed before that batch. No correction with such a cut-off ran earlier. So the versions are a function of the
cut-off, and a correction that runs again, or in another order, gives the same answers.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable
from dataclasses import replace
from typing import NamedTuple

import pyarrow as pa
import pyarrow.dataset as ds

from tailrace.engine.stream_reader import StreamReader
from tailrace.ground.facts import Subject
from tailrace.ground.time_limits import BEFORE_ALL
from tailrace.storage.tables import Tables


class KnownVersion(NamedTuple):
    """A version of a lookup's table: its number, and the file with its content."""

    number: int
    file: str


def versions_known(tables: Tables, subjects: Iterable[Subject], before_ms: int) -> dict[Subject, KnownVersion]:
    """Return the newest version of each table that counts for a cut-off (arrival time, ms).

    The first version counts for every cut-off.
    """
    names = ["about", "version", "value", "from_segment"]
    facts = tables.read("facts", names, ds.field("about").isin([*subjects])).sort_by("version").to_pylist()
    committed = _committed_before(tables, {fact["from_segment"] for fact in facts})
    versions = dict[Subject, KnownVersion]()
    for fact in facts:
        if fact["about"] not in versions or committed.get(fact["from_segment"], before_ms) < before_ms:
            versions[fact["about"]] = KnownVersion(fact["version"], json.loads(fact["value"])["file"])
    return versions


def with_known_versions(stream: StreamReader, tables: Tables, before_ms: int) -> StreamReader:
    """Return the reader of a stream's tuples up to a cut-off; it repeats lookups if the query says so."""
    if stream.records is None:
        return stream
    known = versions_known(tables, [lookup.subject for lookup in stream.columns.lookups], before_ms)
    files = {subject: tables.layout.table_versions / version.file for subject, version in known.items()}
    return replace(stream, records=replace(stream.records, files=files))


def _committed_before(tables: Tables, segments: Collection[int]) -> dict[int, int]:
    """Return the arrival time (ms) up to which the stream had committed before the batch of each segment.

    A segment that is not read yet has none.
    """
    rows = tables.read("segments", ["ordinal", "batch"], ds.field("ordinal").isin(pa.array([*segments], pa.int64())))
    batch_of = dict(zip(rows["ordinal"].to_pylist(), rows["batch"].to_pylist(), strict=True))
    before = pa.array([batch - 1 for batch in batch_of.values()], pa.int64())
    metrics = tables.read("metrics", ["batch", "committed"], ds.field("batch").isin(before))
    reached = dict(
        zip(metrics["batch"].to_pylist(), metrics["committed"].to_pylist(), strict=True)
    )  # the same in all tasks
    return {segment: _or_first(reached.get(batch - 1)) for segment, batch in batch_of.items()}


def _or_first(committed_ms: int | None) -> int:
    return BEFORE_ALL if committed_ms is None else committed_ms
