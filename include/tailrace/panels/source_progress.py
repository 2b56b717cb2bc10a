"""Reads how far each partition of a stream's source, and each of its newest files, was read."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from tailrace.ground.columns import Ints, encode
from tailrace.ground.time_limits import AFTER_ALL, BEFORE_ALL
from tailrace.panels.panel import Shown
from tailrace.panels.stream_progress import StreamProgress
from tailrace.query.query import Query
from tailrace.sources.kafka_cuts import TopicCut
from tailrace.sources.kafka_source import KafkaSource

MOST_PARTITIONS, MOST_FILES = 50, 50
"""The numbers of shown partitions and files, the newest ones."""

_MOST_CUTS = 5_000  # of a topic, whose rows are counted by partition


class PartitionProgress(Shown):
    """A partition of a source: a directory of files, or a partition of a topic. A stream without any is one partition.

    Attributes
    ----------
    rows : int
        The number of records read from it; for a topic's partition, within the range.
    passed : int or None
        The arrival time up to which it was read, ms; for a partition of a topic, the time of the whole topic.
    is_idle : bool or None
        Whether its stream is recorded as idle, so that no tick waits for it. None for a topic's partition.
    is_holding : bool
        Whether it is the newest partition of a stream for which ticks or the frontier wait.
    late : int or None
        The number of late tuples of the range from it, as far as known; None where files do not determine it.
    """

    stream: str
    partition: str
    rows: int
    passed: int | None
    is_idle: bool | None
    is_holding: bool
    late: int | None


class FileProgress(Shown):
    """A file, or a cut of a topic, from which rows were read in the range.

    Attributes
    ----------
    late : int or None
        The number of late tuples of the range from it, as far as known; None where there are too many.
    after : int or None
        The arrival time that its stream had reached before it, ms: its own tuples came then or later. None for the
        first file, and where it has no tuples.
    last : int or None
        The newest arrival of its tuples, ms, to the precision of a tick; None where it has none.
    """

    path: str
    stream: str
    rows: int
    late: int | None
    after: int | None
    last: int | None


def partitions_of(stream: StreamProgress, query: Query, tick_ms: int, ends: tuple[int, int]) -> list[PartitionProgress]:
    """Return the newest partitions of a stream's source, the newest first; for a topic all, by number."""
    source, segments = query.streams[stream.name].source, stream.segments
    if isinstance(source, KafkaSource):
        return _of_topic(stream, ends)
    names, index = segments.directories
    newest, last = np.full(len(names), -1), np.full(len(names), BEFORE_ALL)
    np.maximum.at(newest, index, np.arange(len(index)))
    np.maximum.at(last, index, segments.last)
    rows = np.bincount(index, segments.rows, len(names))
    late_of = stream.late_of_directories
    late = None if late_of is None else np.bincount(index, late_of, len(names))
    prefix = f"{getattr(source, 'path', '')}/"
    return [
        PartitionProgress(
            stream=stream.name,
            partition=names[position].as_py().removeprefix(prefix).rstrip("/"),
            rows=int(rows[position]),
            passed=_passed(int(last[position]), tick_ms),
            is_idle=stream.is_idle,
            is_holding=stream.is_holding and number == 0,
            late=None if late is None else int(late[position]),
        )
        for number, position in enumerate(np.argsort(-newest)[:MOST_PARTITIONS].tolist())
    ]


def files_of(stream: StreamProgress, tick_ms: int, ends: tuple[int, int]) -> list[FileProgress]:
    """Return the newest files of a stream with rows that arrived in a range (from, to], the newest first."""
    segments, in_range = stream.segments, _indices_within(stream, ends)
    names, index = encode(segments.path.take(pa.array(in_range)))
    newest = np.full(len(names), -1)
    np.maximum.at(newest, index, np.arange(len(index)))
    first, last = np.full(len(names), AFTER_ALL), np.full(len(names), BEFORE_ALL)
    np.minimum.at(first, index, segments.first[in_range])
    np.maximum.at(last, index, segments.last[in_range])
    rows, accepted = (np.bincount(index, each[in_range], len(names)) for each in (segments.rows, segments.accepted))
    late = None if stream.late is None else np.bincount(index, stream.late[in_range], len(names))
    return [
        FileProgress(
            path=names[position].as_py(),
            stream=stream.name,
            rows=int(rows[position]),
            late=None if late is None else int(late[position]),
            after=_passed(int(first[position]), tick_ms) if accepted[position] else None,
            last=_passed(int(last[position]), tick_ms) if accepted[position] else None,
        )
        for position in np.argsort(-newest)[:MOST_FILES].tolist()
    ]


def _of_topic(stream: StreamProgress, ends: tuple[int, int]) -> list[PartitionProgress]:
    """Return the partitions of a topic; each cut names all existing ones."""
    segments, in_range = stream.segments, _indices_within(stream, ends)[-_MOST_CUTS:]
    rows: dict[int, int] = {}
    if len(segments.path):
        rows = dict.fromkeys(TopicCut.of_path(segments.path[len(segments.path) - 1].as_py()).ranges, 0)
    for path in segments.path.take(pa.array(in_range)).to_pylist():
        for partition, (start, end) in TopicCut.of_path(path).ranges.items():
            rows[partition] = rows.get(partition, 0) + end - start
    return [
        PartitionProgress(
            stream=stream.name,
            partition=str(partition),
            rows=count,
            passed=stream.reached,
            is_idle=None,
            is_holding=False,
            late=None,
        )
        for partition, count in sorted(rows.items())
    ]


def _indices_within(stream: StreamProgress, ends: tuple[int, int]) -> Ints:
    """Return the indices of segments with tuples that may have arrived in a range (from, to]."""
    return np.flatnonzero((stream.segments.last > ends[0]) & (stream.segments.first <= ends[1]))


def _passed(end: int, tick_ms: int) -> int | None:
    """Return the arrival time that a stream has reached when its newest tick ends at a time; None before any tick."""
    return None if end == BEFORE_ALL else end - max(tick_ms, 1)
