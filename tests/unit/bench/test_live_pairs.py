"""Live pairs: a feed of two streams by the wall clock, and the latency from a pair's later arrival to its commit."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from bench import live_pairs
from bench.live_pairs import EVERY_S, PairFeed, later_arrivals, rows_of_feed
from tailrace.ground.arrow.times import TIME

RATE, SIDES = 20, ("left", "right")


@pytest.fixture
def clock(monkeypatch):
    """A clock that only sleep moves; its `now` is in s."""
    clock = SimpleNamespace(now=1000.25)

    def sleep(seconds):
        clock.now += seconds

    monkeypatch.setattr(live_pairs, "time", SimpleNamespace(time=lambda: clock.now, sleep=sleep))
    return clock


def streams(seconds):
    """Two streams of numbered tuples, whose times are of no use."""
    count = rows_of_feed(RATE, seconds)
    times = pa.array([0] * count, TIME)
    return {
        side: pa.table({"event_time": times, "arrival_time": times, "id": [f"{side}-{n}" for n in range(count)]})
        for side in SIDES
    }


def test_latencies_are_those_of_pairs_after_the_start_whose_answers_were_due(tmp_path):
    feed = PairFeed(tmp_path, {}, RATE, 25.0, start=108.0)
    commits = [(113.0, np.array([101, 113]) * 1_000_000), (132.0, np.array([113, 127, 131, 132]) * 1_000_000)]
    row = feed.figures(commits)  # of arrivals from 112 s on and before 132 s
    assert (row["pairs"], row["commits"]) == (4, 2)
    assert row["p50 s"] == pytest.approx(3)  # of 0, 1, 5 and 19 s
    assert row["p95 s"] == pytest.approx(np.percentile([0, 1, 5, 19], 95))
    with pytest.raises(RuntimeError, match="too busy"):
        feed.figures([])


def test_only_whole_windows_count(tmp_path):
    """Else the end of a window, whose tuples wait least, would weigh too much or too little."""
    feed = PairFeed(tmp_path, {}, RATE, 25.0, window_s=10, start=108.0)
    assert feed.counted == (120, 130)
    assert feed.figures([(132.0, np.array([113, 120, 127, 130, 131]) * 1_000_000)])["pairs"] == 2


def test_a_feed_writes_both_streams_at_the_time_of_their_tuples(tmp_path, clock):
    ended = []
    feed = PairFeed(tmp_path, streams(1.0), RATE, 1.0, answered=clock.now + 60)
    for side in SIDES:
        (tmp_path / side).mkdir()
    feed.play(lambda: ended.append(clock.now))
    assert feed.start == 1000.25
    assert ended == [1002.25]  # a second after the last file is due
    for side in SIDES:
        files = [pq.read_table(file) for file in sorted((tmp_path / side).iterdir())]
        assert [len(rows) for rows in files] == [RATE * EVERY_S] * 2
        rows = pa.concat_tables(files)
        assert rows["id"].to_pylist() == [f"{side}-{number}" for number in range(len(rows))]
        times = rows["event_time"].cast(pa.int64())
        assert times.unique().to_pylist() == [1_000_250_000, 1_000_750_000]
        assert times == rows["arrival_time"].cast(pa.int64())


def test_the_later_tuple_of_a_pair_arrives_at_its_event_time():
    answers = pa.table({"left_time": pa.array([5, 9], TIME), "right_time": pa.array([8, 2], TIME)})
    assert later_arrivals(answers).tolist() == [8, 9]


def test_a_feed_goes_on_until_all_pairs_that_count_are_answered(tmp_path, clock, monkeypatch):
    """Answers come ten seconds late, so the feed has to write for longer than its duration."""
    written = []

    def write_at(rows, file, now):
        written.append(now)
        feed.answered = max(feed.answered, now - 10)

    monkeypatch.setattr(live_pairs, "write_at", write_at)
    feed = PairFeed(tmp_path, streams(4), RATE, 4.0)
    feed.play(lambda: None)
    _, last = feed.counted
    assert last == feed.start + 3
    assert feed.answered >= last - live_pairs.EVERY_S  # what is written from `last` on does not count
    assert written[-1] == feed.start + 12.5
