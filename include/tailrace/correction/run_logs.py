"""Reads the logs of a query's streams, to examine again the records that a run has read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from tailrace.engine.compiled_query import CompiledQuery
from tailrace.engine.pipeline import Pipeline
from tailrace.query.query import Query
from tailrace.sources.record_place import place_of
from tailrace.storage.layout import Layout
from tailrace.storage.log import Log
from tailrace.storage.progress import committed_until
from tailrace.storage.tables import Tables


def logs_of_run(query: Query, layout: Layout, first: Mapping[str, int]) -> Iterator[tuple[Query, Pipeline, Log]]:
    """Yield the log of each stream from which a run has read records, with the query completed by its checkpoint.

    Parameters
    ----------
    first : mapping
        The position of the first record that the run has read, by stream.
    """
    tables, manifest = Tables(layout), layout.manifest()
    until = committed_until(tables)
    if manifest is None or until is None or not query.has_late_tuples:
        return
    query = query.fixed_by(manifest.structure)
    pipeline = CompiledQuery.declare(query).bind(manifest.types).pipeline(layout.histories(query.streams))
    for reader in pipeline.readers:
        if reader.name in first:
            yield query, pipeline, Log.read(reader, tables, until)


def place_in(log: Log, position: int, format_name: str) -> str:
    """Return the place of the record at a position of a stream's log."""
    starts = log.segments["position"].to_numpy()
    (segment,) = log.segments.slice(int(np.searchsorted(starts, position, side="right")) - 1, 1).to_pylist()
    return place_of(f"{segment['path']}#{segment['first_row'] + position - segment['position']}", format_name)
