"""A scan in buckets gives what one that holds all gives; the rows of its buckets wait in files."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from kit.fakes.toy_join import ByValue
from kit.oracles.oracle import Settings
from kit.oracles.pair_oracle import Item, Join
from kit.runs.memory_pair_tables import MemoryPairTables
from kit.runs.memory_tables import MemoryTables
from kit.runs.warehouse import even, make_stream
from tailrace.correction import history_scan
from tailrace.correction.bucketed_scan import MESSAGES, BucketedScan, addresses_of, without_replicas
from tailrace.correction.correction_range import CorrectionRange
from tailrace.correction.scan_job import ScanJob
from tailrace.correction.spilled_shuffle import SpilledShuffle
from tailrace.engine.batch_header import BatchHeader


def rows_of(table: pa.Table) -> list[tuple]:
    rows = ([round(v, 6) if isinstance(v, float) else v for v in row.values()] for row in table.to_pylist())
    return sorted(map(tuple, rows), key=str)


def distributed(past: history_scan.HistoryScan) -> history_scan.HistoryScan:
    return history_scan.HistoryScan(
        past.pipeline, lambda: past.logs, lambda buckets: BucketedScan(SpilledShuffle(threads=2)), 3
    )


def streams(seed: int, integers: bool) -> tuple[list[Item], list[Item]]:
    draw, found = random.Random(seed), []
    for side in (0, 1):
        items, event = [], 1000
        for _ in range(60):
            event += draw.randint(0, 15)
            name = draw.randint(0, 80) - 20
            at = event - draw.choice([0, 0, 5, 90])
            items.append(Item(at, event, name if integers and not side else str(name), draw.choice("abcd")))
        found.append(items)
    return found[0], found[1]


@pytest.mark.parametrize("integers", [False, True])
def test_pairs_are_those_of_one_process_each_once(monkeypatch, integers):
    desk = MemoryPairTables(streams(3, integers), Join(25, 10), ([20, 40], [30]))
    model = desk.kind.answers
    for affected in (model.closed(CorrectionRange().bounds, 1 << 60), model.missed_by(desk.late_rows)):
        alone, spread = desk.past(desk.end), distributed(desk.past(desk.end))
        found = alone.evaluate(affected)
        ids = found["right_id"].combine_chunks()
        times = sorted(alone.event_times(1, ids))
        with monkeypatch.context() as patch:
            patch.setattr(history_scan, "AT_ONCE", 0)
            assert rows_of(spread.evaluate(affected)) == rows_of(found)
            assert sorted(spread.event_times(1, ids)) == times
        assert found.num_rows > 10


def test_ids_outside_of_the_ranges_are_those_of_one_process(monkeypatch):
    desk = MemoryPairTables(streams(3, False), Join(25, 10), ([20, 40], [30]))
    near = desk.kind.answers.closed((1100, 1200), 1 << 60)
    alone, spread = desk.past(desk.end), distributed(desk.past(desk.end))
    found = [set(alone.ids_outside(side, near).to_pylist()) for side in (0, 1)]
    monkeypatch.setattr(history_scan, "AT_ONCE", 0)
    assert [set(spread.ids_outside(side, near).to_pylist()) for side in (0, 1)] == found
    (low,), (high,) = near.ranges()
    for side, items in enumerate(desk.streams):
        inside = {one.id for one in items if low <= one.event_time < high}
        outside = {one.id for one in items if not low <= one.event_time < high}
        assert found[side] == inside & outside
        assert found[side]


def test_a_stream_of_which_nothing_is_read_takes_part_without_tuples(monkeypatch):
    monkeypatch.setattr(history_scan, "AT_ONCE", 0)
    desk = MemoryPairTables((streams(3, False)[0], []), Join(25, 10))
    spread = distributed(desk.past(desk.end))
    assert spread.evaluate(desk.kind.answers.closed(CorrectionRange().bounds, 1 << 60)).num_rows == 0


@pytest.mark.parametrize("keyed", [True, False])
def test_windows_are_those_of_one_process(monkeypatch, keyed):
    tuples = make_stream(200, seed=3, duplicates=20)
    tuples = tuples if keyed else [one._replace(key=None) for one in tuples]
    desk = MemoryTables(tuples, Settings(700, 300, 100, "median", "none"), even(200, 4)[1:-1])
    before = max(one.arrival_time for one in tuples) + 1000
    everything = desk.model.closed(CorrectionRange().bounds, 1 << 60)
    alone, spread = desk.past(before), distributed(desk.past(before))
    expected = rows_of(alone.evaluate(everything)), rows_of(alone.repeats(0, everything.ranges()))
    monkeypatch.setattr(history_scan, "AT_ONCE", 0)
    assert rows_of(spread.evaluate(everything)) == expected[0]
    assert rows_of(spread.repeats(0, everything.ranges())) == expected[1]
    assert len(expected[0]) > 10
    assert len(expected[1]) == 20


def test_tuples_go_where_the_kinds_partitioning_places_them():
    desk = MemoryPairTables(streams(3, False), Join(25, 10))
    job = ScanJob(desk.kind, (), (np.array([0]), np.array([1])), 3)
    tuples = desk.pipeline.readers[1].read(desk.pipeline.readers[1].format.segments("right")[0]).tuples
    row, bucket = addresses_of(job, 1, tuples)
    assert sorted(zip(row.tolist(), bucket.tolist(), strict=True)) == [(i, n) for i in range(60) for n in range(3)]
    row, bucket = addresses_of(job, 0, tuples)
    assert row.tolist() == list(range(60))
    assert [len(part) for part in addresses_of(job, 0, tuples[:0])] == [0, 0]


def test_tuples_are_placed_by_the_rows_that_the_stream_too_gives_the_partitioning(monkeypatch):
    desk, given = MemoryPairTables(streams(3, False), Join(25, 10)), []
    job = ScanJob(desk.kind, (), (np.array([0]), np.array([1])), 3)
    (segment,) = desk.pipeline.readers[0].format.segments("left")
    whole = ByValue.assign
    monkeypatch.setattr(ByValue, "assign", lambda self, *args: given.append(args[:2]) or whole(self, *args))
    addresses_of(job, 0, desk.pipeline.readers[0].read(segment).tuples)
    desk.pipeline.prepare(replace(segment, stream="left"), BatchHeader(0, ()))
    (_, of_correction), (_, of_stream) = given
    assert of_correction.equals(of_stream)


def test_a_pair_that_several_buckets_find_stands_once_and_rows_of_a_window_stay():
    desk = MemoryPairTables(streams(3, False), Join(25, 10))
    answers = desk.past(desk.end).evaluate(desk.kind.answers.closed(CorrectionRange().bounds, 1 << 60))
    assert without_replicas(desk.kind, pa.concat_tables([answers, answers])).to_pylist() == answers.to_pylist()
    desk = MemoryTables(make_stream(50, seed=1), Settings(700, 300, 100, "sum", "none"), [])
    results = desk.results.select(desk.pipeline.kind.answer.names)
    assert without_replicas(desk.pipeline.kind, pa.concat_tables([results, results])).num_rows == 2 * results.num_rows


def test_no_file_of_a_scan_stays_and_a_step_that_fails_is_told(tmp_path):
    def read(number: int) -> pa.Table:
        return pa.table({"task": [number % 2], "what": ["rows"], "bytes": [bytes([number])]}, schema=MESSAGES)

    def fail(bucket: pa.Table) -> pa.Table:
        raise ValueError("a step fails")

    shuffle, buckets = SpilledShuffle(tmp_path), list[list[bytes]]()

    def note(bucket: pa.Table) -> pa.Table:
        buckets.append(bucket["bytes"].to_pylist())
        return bucket

    assert shuffle.run(range(5), read, note, note).num_rows == 5
    assert sorted(map(sorted, buckets)) == 2 * [[b"\x00", b"\x02", b"\x04"]] + 2 * [[b"\x01", b"\x03"]]
    assert shuffle.run([], read, note).num_rows == 0
    with pytest.raises(ValueError, match="a step fails"):
        shuffle.run(range(5), read, fail)
    assert not list(tmp_path.iterdir())
