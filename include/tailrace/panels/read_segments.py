"""The segments that a stream has read, with their arrival times and late tuples."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from tailrace.ground.arrow.columns import Ints, encode
from tailrace.ground.time_limits import BEFORE_ALL
from tailrace.storage.tables import Tables

_COLUMNS = ["batch", "ordinal", "path", "rows", "accepted", "before_end", "max_event"]


class ReadSegments(NamedTuple):
    """The n committed segments of a stream, in order.

    Attributes
    ----------
    path : Array of text
    batch, rows, accepted : ndarray, shape (n,)
        The batch that read each, and its numbers of records and of tuples.
    first, last : ndarray, shape (n,)
        The ends (ms) of the newest ticks before each segment and after it; its tuples came in these ticks or between
        them. `BEFORE_ALL` before any tick.
    max_event : int or None
        The greatest event time of the stream's tuples, ms.
    """

    path: pa.Array
    batch: Ints
    rows: Ints
    accepted: Ints
    first: Ints
    last: Ints
    max_event: int | None

    @property
    def file(self) -> Ints:
        """The number of each segment's file."""
        return encode(self.path)[1].astype(np.int64)

    @property
    def directories(self) -> tuple[pa.Array, Ints]:
        """The directories of the files, and the number of each segment's directory among them."""
        names, number = encode(pc.replace_substring_regex(self.path, "[^/]*$", ""))
        return names, number.astype(np.int64)


def read_segments(tables: Tables, batches: int, newest_end: Mapping[str, int]) -> dict[str, ReadSegments]:
    """Read the segments of the first batches of each stream.

    Parameters
    ----------
    newest_end : mapping
        The end of the newest tick of each stream, ms.
    """
    streams = {}
    for name, end in newest_end.items():
        where = (ds.field("stream") == name) & (ds.field("batch") < batches)
        rows = tables.read("segments", _COLUMNS, where).sort_by("ordinal")
        first = np.maximum(rows["before_end"].to_numpy(), BEFORE_ALL)
        streams[name] = ReadSegments(
            rows["path"].combine_chunks(),
            rows["batch"].to_numpy(),
            rows["rows"].to_numpy(),
            pc.fill_null(rows["accepted"], 0).to_numpy(),
            first,
            np.append(first[1:], end)[: len(first)],
            pc.max(rows["max_event"]).as_py(),
        )
    return streams


def late_by_segment(segments: ReadSegments, part: Ints, arrived: Ints, tuples: Ints) -> tuple[Ints, int]:
    """Count the late tuples by segment, shape (n,), and the late tuples of ticks that several parts share.

    Among segments of the same part, the first one counts.

    Parameters
    ----------
    part : ndarray, shape (n,)
        The number of each segment's part of the source: its file or directory.
    arrived, tuples : ndarray, shape (m,)
        For rows of the table `late`: the end of the tick, and the number of tuples.
    """
    low = np.searchsorted(segments.last, arrived, side="left")  # the first segment that reaches the tick
    high = np.searchsorted(segments.first, arrived, side="right") - 1  # the last segment that came no later
    count = len(segments.first)
    part = np.append(part, -1)  # for the index after the last one
    is_known = (low <= high) & (low < count) & (part[low] == part[high])
    counts = np.bincount(low[is_known], tuples[is_known], count).astype(np.int64)
    return counts, int(tuples[~is_known].sum())
