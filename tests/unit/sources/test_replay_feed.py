"""A replay returns each record of its log exactly once, in order, at a rate."""

from __future__ import annotations

from pathlib import Path

import pytest

from kit.runs.file_feeds import TYPES, all_rows, make_feed, rows, write
from tailrace.sources.discovery.path_sources import ReplayFeed
from tailrace.sources.segments import Segment


class Clock:
    """A manual clock, in seconds."""

    now = 1000.0

    def __call__(self) -> float:
        return self.now


def start_replay(path: Path, rate: float, clock: Clock, *before: Segment) -> ReplayFeed:
    """A replay that has polled its log, and starts at the current time."""
    feed = ReplayFeed(make_feed(path, *before), rate, clock)
    clock.now += 100.0  # the time between construction and start is not replayed
    assert feed.fresh() == []
    clock.now += 100.0
    assert feed.fresh() == []
    return feed


@pytest.fixture
def log(tmp_path: Path) -> Path:
    for name, count in (("a", 5), ("b", 1), ("c", 7)):
        write(tmp_path, f"{name}.parquet", count)
    return tmp_path


WHOLE = all_rows(a=5, b=1, c=7)


@pytest.mark.parametrize("rate", [0.3, 1, 2.5, 1000])
@pytest.mark.parametrize("step", [0.1, 1.0, 7.0])
def test_a_replay_keeps_its_rate_exactly(log, rate, step):
    clock = Clock()
    feed, segments = start_replay(log, rate, clock), []
    start_s = clock.now
    for _ in range(500):
        clock.now += step
        segments += feed.fresh()
        assert len(rows(segments)) == min(int((clock.now - start_s) * rate), len(WHOLE))
    assert rows(segments) == WHOLE
    assert not any(segment.rows < 1 for segment in segments)


def test_a_replay_knows_the_types_before_it_returns_a_segment(log):
    feed = ReplayFeed(make_feed(log), 1, Clock())
    feed.fresh()
    assert (feed.types, feed.version) == (TYPES, 0)


@pytest.mark.parametrize("stop", range(len(WHOLE) + 1))
def test_a_replay_goes_on_over_a_restart_at_any_row(log, stop):
    clock = Clock()
    feed = start_replay(log, 1, clock)
    read = []
    for _ in range(stop):
        clock.now += 1
        read += feed.fresh()
    assert len(rows(read)) == stop
    feed = start_replay(log, 1, clock, *read)
    for _ in WHOLE:
        clock.now += 1
        new = feed.fresh()
        assert sum(segment.rows for segment in new) <= 1  # downtime is not made up for
        read += new
    assert rows(read) == WHOLE


def test_files_that_arrive_during_a_replay_are_replayed_too(log):
    clock = Clock()
    feed = start_replay(log, 10, clock)
    clock.now += 1.0
    segments = feed.fresh()
    write(log, "d.parquet", 3)
    clock.now += 1.0
    assert rows(segments + feed.fresh()) == WHOLE + all_rows(d=3)


def test_a_replay_holds_back_until_it_has_returned_all(log):
    clock = Clock()
    feed = start_replay(log, 1, clock)
    flags = []
    for _ in range(len(WHOLE) + 1):
        flags.append(feed.holds_back)
        clock.now += 1.0
        feed.fresh()
    assert flags == [True] * len(WHOLE) + [False]
    write(log, "d.parquet", 2)
    assert (rows(feed.fresh()), feed.holds_back) == (all_rows(d=1), True)


def test_a_replay_holds_back_while_its_log_does(log):
    write(log, "d.parquet", 2)
    feed = ReplayFeed(make_feed(log, at_once=1), 1000, clock := Clock())
    assert [feed.fresh(), feed.fresh()] == [[], []]
    clock.now += 100.0
    assert (rows(feed.fresh()), feed.holds_back) == (WHOLE, True)
    assert (rows(feed.fresh()), feed.holds_back) == (all_rows(d=2), False)
