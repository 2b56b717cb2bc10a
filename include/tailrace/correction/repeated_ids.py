"""Counts the records of a query's history that repeat an id, with the content of the first one or with another."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tailrace.correction.history_scan import AT_ONCE
from tailrace.correction.run_logs import logs_of_run, place_in
from tailrace.correction.scan_job import no_tuples
from tailrace.engine.other_contents import OTHER, RepeatedIds, find_repeats
from tailrace.engine.pipeline import Pipeline
from tailrace.ground.arrow.times import EVENT_US
from tailrace.query.query import Query
from tailrace.storage.layout import Layout
from tailrace.storage.log import ORDER, Log

NOT_LOOKED_AT = "too many records may repeat an id to be read: whether with other content was not looked at"

Wanted = Callable[[pa.RecordBatch], NDArray[np.bool_]]
"""Tests which tuples to count."""


def of_run(query: Query, layout: Layout, first: Mapping[str, int]) -> Iterator[list[RepeatedIds] | None]:
    """Yield the result of `repeated_ids` for the records that a run has read, for each of its streams.

    Parameters
    ----------
    first : mapping
        As for `logs_of_run`.
    """
    for fixed, pipeline, log in logs_of_run(query, layout, first):
        yield repeated_ids(fixed, pipeline, log, partial(_since, first[log.stream.name]))


def in_events(query: Query, pipeline: Pipeline, logs: Sequence[Log], low: int, high: int) -> list[RepeatedIds | None]:
    """Return the repeats with other content in each stream, with event times in [low, high), in ms.

    None stands for a stream with too many records to read.
    """

    def is_wanted(tuples: pa.RecordBatch) -> NDArray[np.bool_]:
        times = np.asarray(tuples.column("event_time"))
        return (times >= low) & (times < high)

    repeated = list[RepeatedIds | None]()
    for log in logs:
        repeats = repeated_ids(query, pipeline, log, is_wanted)
        repeated += [None] if repeats is None else [each for each in repeats if each.content == OTHER]
    return repeated


def repeated_ids(query: Query, pipeline: Pipeline, log: Log, is_wanted: Wanted) -> list[RepeatedIds] | None:
    """Count the wanted tuples of a stream that repeat an id, by content; None if they are too many to read.

    Only segments in which ids may repeat are read. Versions of another query's answers are no repeats.
    """
    near = log.with_repeats()
    pieces = near.pieces() if len(near.segments) and not log.stream.takes_newest else []
    if sum(piece.rows for piece in pieces) > AT_ONCE // pipeline.kind.row_weight:
        return None
    columns, reader = ["event_time", EVENT_US, "key", *log.stream.value_types, *ORDER], near.reader()
    parts = [reader.read(piece, columns) for piece in pieces]
    tuples = pa.concat_batches([no_tuples(log.stream, columns), *parts])
    position, wanted = np.asarray(tuples.column("position")), is_wanted(tuples)
    source, repeated = query.streams[log.stream.name].source.format, list[RepeatedIds]()
    for content, repeats in find_repeats(tuples).items():
        rows = repeats[wanted[repeats]]
        if len(rows):
            repeated.append(RepeatedIds(content, len(rows), place_in(near, int(position[rows[0]]), source)))
    return repeated


def _since(position: int, tuples: pa.RecordBatch) -> NDArray[np.bool_]:
    return np.asarray(tuples.column("position")) >= position
