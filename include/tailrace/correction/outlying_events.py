"""Finds implausible event times among the records that a run has read."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial

import numpy as np
import pyarrow as pa

from tailrace.correction.run_logs import logs_of_run, place_in
from tailrace.engine.outlying_times import LEAST_MS, OutlyingTimes, find_outlying
from tailrace.query.query import Query
from tailrace.storage.layout import Layout
from tailrace.storage.log import Log

_SAMPLED, _MOST_PIECES, MOST_ROWS = 20, 200, 2_000_000


def of_run(query: Query, layout: Layout, first: Mapping[str, int]) -> Iterator[OutlyingTimes]:
    """Yield the implausible event times among the records that a run has read, for each stream that has some.

    Nothing is read unless the times of the segments lie far apart. Then the segments with the oldest and the newest
    time are read, and some others. With too many files or records, nothing is yielded.

    Parameters
    ----------
    first : mapping
        As for `logs_of_run`.
    """
    for fixed, _, whole in logs_of_run(query, layout, first):
        name = whole.stream.name
        log = _sample(whole, first[name])
        pieces = [] if log is None else log.pieces()
        if log is None or len(pieces) > _MOST_PIECES or sum(piece.rows for piece in pieces) > MOST_ROWS:
            continue
        columns, reader = ["event_time", "position"], log.reader()
        tuples = pa.concat_batches([reader.read(piece, columns) for piece in pieces])
        place = partial(place_in, log, format_name=fixed.streams[name].source.format)
        if (outlying := find_outlying(name, tuples, place)) is not None:
            yield outlying


def _sample(log: Log, first: int) -> Log | None:
    """Return the segments from a position on with extreme event times, and some others; None if all times are near."""
    oldest, newest = (log.segments[name].to_numpy() for name in ("min_event", "max_event"))
    mine = np.flatnonzero(log.segments["position"].to_numpy() >= first)
    if not len(mine) or newest[mine].max() - oldest[mine].min() <= LEAST_MS:
        return None
    rows = {
        int(mine[oldest[mine].argmin()]),
        int(mine[newest[mine].argmax()]),
        *mine[:: -(-len(mine) // _SAMPLED)].tolist(),
    }
    return replace(log, segments=log.segments.take(pa.array(sorted(rows))))
