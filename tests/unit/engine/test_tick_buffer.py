"""Statistics of segments put in order, cut where ticks are complete, and what silence says of them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from kit.draws.aggregates import kind_of
from tailrace.disorder.ticks import summarise
from tailrace.engine.row_buffer import Cut
from tailrace.engine.tick_buffer import CompleteTicks, TickBuffer
from tailrace.ground.time_limits import BEFORE_ALL
from tailrace.windows.sliding import Sliding

KIND = kind_of(Sliding(10, 10), "sum")
NONE, NONE_0 = (TickBuffer.empty(tick_ms, [pa.string()], KIND.error_model.sample) for tick_ms in (10, 0))


def segment(*rows: tuple[int, int, str], tick_ms: int = 10, side: int = 0) -> tuple[int, dict]:
    """(tick, event time, key) of each tuple; a tick is 10 ms, or one tuple that came in the ms of its number."""
    tick, event, key = (list(column) for column in zip(*rows, strict=True)) if rows else ([], [], [])
    columns = {"key": pa.array(key, pa.string()), "event_time": pa.array(event, pa.int64())}
    columns |= {"tick": pa.array(tick, pa.int64()), "value": pa.array([1.0] * len(rows), pa.float64())}
    ticks, event = np.array(tick, np.int64), np.array(event, np.int64)
    counts = {"tick": pa.array(ticks), "pane": pa.array(event // 10 * 10), "count": pa.array(np.ones_like(ticks))}
    tuples = pa.RecordBatch.from_pydict(columns)
    return side, {
        "ids": pa.RecordBatch.from_pylist([], NONE.streams[0].ids.schema),
        "ticks": summarise(ticks, (ticks + 1) * max(tick_ms, 1), event).to_arrow(),
        "counts": pa.RecordBatch.from_pydict(counts),
        "sample": KIND.sample(tuples, [None]),
    }


def restored(arrivals: TickBuffer) -> TickBuffer:
    return TickBuffer.from_arrow(arrivals.tick_ms, *arrivals.to_arrow())


def newest(arrivals: TickBuffer) -> tuple[int, int]:
    return arrivals.streams[0].newest


def ticks(arrivals: TickBuffer | CompleteTicks) -> dict[str, list[int]]:
    """The ticks that each of the parts of the only stream speaks of."""
    if isinstance(arrivals, TickBuffer):
        arrivals = arrivals.streams[0]
    return {
        "ticks": arrivals.ticks.tick.tolist(),
        "counts": sorted(arrivals.counts.column("tick").to_pylist()),
        "sample": sorted(arrivals.sample.column("tick").to_pylist()),
    }


def test_nothing_has_no_newest_tick() -> None:
    assert newest(NONE) == (BEFORE_ALL, BEFORE_ALL)
    assert ticks(NONE) == {"ticks": [], "counts": [], "sample": []}


def test_the_newest_tick_and_its_end() -> None:
    arrivals, _ = NONE.append([segment((1, 0, "a"), (3, 0, "a"))])
    assert newest(arrivals) == (3, 40)


def test_a_segment_without_tuples_moves_nothing() -> None:
    arrivals, _ = NONE.append([segment((3, 0, "a")), segment()])
    assert newest(arrivals) == (3, 40)


# segment   0: ticks 1 3     1: ticks 2 4      the 2 came after 3: it is 3 too
def test_a_segment_that_lies_before_the_newest_tick_moves_to_it() -> None:
    arrivals, _ = NONE.append([segment((1, 0, "a"), (3, 0, "a")), segment((2, 0, "b"), (4, 0, "a"))])
    rows = [1, 3, 3, 4]
    assert ticks(arrivals) == {"ticks": [1, 3, 4], "counts": rows, "sample": rows}
    assert arrivals.streams[0].ticks.count.tolist() == [1, 2, 1]


def test_it_moves_also_when_what_came_before_was_in_an_earlier_batch() -> None:
    arrivals, _ = NONE.append([segment((3, 0, "a"))])
    again, _ = restored(arrivals).append([segment((2, 0, "b"))])
    assert ticks(again) == {"ticks": [3], "counts": [3, 3], "sample": [3, 3]}


def test_each_segment_knows_the_tick_that_it_found() -> None:
    _, found = NONE.append([segment((3, 0, "a")), segment(), segment((2, 0, "a")), segment((5, 0, "a"))])
    assert found == [
        (BEFORE_ALL, BEFORE_ALL),
        *[(3, 40)] * 3,
    ]


def test_split_is_before_the_newest_tick_and_from_it_on() -> None:
    arrivals, _ = NONE.append([segment((1, 0, "a"), (2, 0, "b"), (3, 0, "a"), (3, 5, "b"))])
    due, left = arrivals.split()
    assert ticks(due) == {"ticks": [1, 2], "counts": [1, 2], "sample": [1, 2]}
    assert ticks(left) == {"ticks": [3], "counts": [3, 3], "sample": [3, 3]}
    assert newest(left) == newest(arrivals) == (3, 40)


def test_nothing_can_be_split() -> None:
    due, left = NONE.split()
    assert ticks(due) == ticks(left) == {"ticks": [], "counts": [], "sample": []}


# tick      [20, 30) is the newest; at 29 the source is in it, at 30 beyond it
def test_a_heartbeat_completes_the_ticks_before_its_own() -> None:
    arrivals, _ = NONE.append([segment((1, 0, "a"), (2, 0, "b"))])
    assert ticks(arrivals.silent({0: 29}, ()).split()[0])["ticks"] == [1]
    due, left = arrivals.silent({0: 30}, ()).split()
    assert (ticks(due)["ticks"], ticks(left)["ticks"]) == ([1, 2], [])
    assert newest(left) == (3, 40)


def test_a_heartbeat_from_before_the_newest_tick_says_nothing() -> None:
    arrivals, _ = NONE.append([segment((3, 0, "a"))])
    assert newest(arrivals.silent({0: 5}, ())) == (3, 40)


def test_a_heartbeat_before_anything_came() -> None:
    assert newest(NONE.silent({0: 57}, ())) == (5, 60)


# heartbeat at 57: the 2 that comes after it belongs to tick 5, with what else comes in it
def test_what_comes_behind_a_heartbeat_joins_its_tick() -> None:
    arrivals, _ = NONE.append([segment((1, 0, "a"))])
    _, left = arrivals.silent({0: 57}, ()).split()
    again, found = restored(left).append([segment((2, 0, "b"), (5, 0, "a"))])
    assert ticks(again) == {"ticks": [5], "counts": [5, 5], "sample": [5, 5]}
    assert again.streams[0].ticks.end.tolist() == [60]
    assert found[0] == (5, 60)


def test_complete_is_all_of_it_and_what_comes_is_later() -> None:
    arrivals, _ = NONE.append([segment((1, 0, "a"), (3, 0, "b"))])
    due, left = arrivals.complete_all(BEFORE_ALL).split()
    assert (ticks(due)["ticks"], ticks(left)["ticks"]) == ([1, 3], [])
    assert newest(left) == (4, 50)
    again, _ = left.append([segment((3, 0, "b"))])
    assert again.streams[0].ticks.tick.tolist() == [4]


def test_complete_is_no_less_than_a_heartbeat() -> None:
    arrivals, _ = NONE.append([segment((1, 0, "a"))])
    assert newest(arrivals.silent({0: 57}, ()).complete_all(BEFORE_ALL)) == (5, 60)


# nothing ever came; a heartbeat alone; a heartbeat after tick 6, which is complete
@pytest.mark.parametrize(
    ("reached", "last_end"), [((BEFORE_ALL, BEFORE_ALL), BEFORE_ALL), ((7, 80), BEFORE_ALL), ((7, 80), 70)]
)
def test_complete_of_nothing_moves_nothing(reached: tuple[int, int], last_end: int) -> None:
    none = replace(NONE, streams=(replace(NONE.streams[0], newest=reached),))
    assert newest(none.complete_all(last_end)) == reached


# tick 0: each tuple is a tick of its own, whatever silence is before it; its end is no less than what had passed
def test_with_tick_0_silence_completes_the_last_tuple_and_joins_no_two() -> None:
    arrivals, _ = NONE_0.append([segment((3, 0, "a"), tick_ms=0)])
    assert ticks(arrivals.split()[1])["ticks"] == [3]
    for passed in (50, 60, 70):
        due, arrivals = restored(arrivals).silent({0: passed}, ()).split()
        assert ticks(due)["ticks"] == ([3] if passed == 50 else [])
    assert newest(arrivals) == (4, 70)
    again, _ = arrivals.append([segment((4, 0, "a"), (5, 0, "a"), (6, 0, "a"), tick_ms=0)])
    assert again.streams[0].ticks.tick.tolist() == [4, 5, 6]
    assert again.streams[0].ticks.end.tolist() == [70, 70, 70]


def test_with_tick_0_complete_is_past_the_last_tuple() -> None:
    arrivals, _ = NONE_0.append([segment((3, 0, "a"), tick_ms=0)])
    assert newest(arrivals.complete_all(BEFORE_ALL)) == (4, 5)
    assert newest(arrivals.silent({0: 50}, ()).complete_all(BEFORE_ALL)) == (4, 50)


# with tick 0 a heartbeat in the ms of the last tuple says no more than its end; that it is complete is 1 ms later
def test_with_tick_0_complete_is_past_the_last_tuple_also_after_a_heartbeat() -> None:
    arrivals, _ = NONE_0.append([segment((3, 0, "a"), tick_ms=0)])
    _, left = arrivals.silent({0: 4}, ()).split()
    assert newest(left) == (4, 4)
    assert newest(left.complete_all(4)) == (4, 5)


def test_what_is_left_through_arrow() -> None:
    arrivals, _ = NONE.append([segment((1, 5, "a"), (2, 6, "b")), segment((2, 7, "c"))])
    _, left = arrivals.split()
    again = restored(left)
    assert ticks(again) == ticks(left)
    assert newest(again) == newest(left)


def test_nothing_through_arrow() -> None:
    again = restored(NONE)
    assert newest(again) == (BEFORE_ALL, BEFORE_ALL)
    assert ticks(again) == ticks(NONE)


# two streams: the left one has reached tick 5, the right one tick 2; what both have passed is complete
BOTH = TickBuffer.empty(10, [pa.string()] * 2, KIND.error_model.sample)
AHEAD = BOTH.append([segment((1, 0, "a"), (2, 0, "a"), (5, 0, "a")), segment((1, 7, "b"), (2, 0, "b"), side=1)])[0]


def complete(buffer: TickBuffer) -> list[int]:
    return buffer.split()[0].ticks.tick.tolist()


def test_a_tick_is_complete_when_both_streams_have_passed_it() -> None:
    due, left = AHEAD.split()
    assert due.ticks.tick.tolist() == [1]
    assert due.ticks.max_event.tolist() == [[0], [7]]
    assert due.cuts == (Cut(2), Cut(2))
    assert (left.newest_tick, left.committed) == (5, 20)


def test_a_stream_that_has_brought_nothing_is_waited_for() -> None:
    alone, _ = BOTH.append([segment((1, 0, "a"), (5, 0, "a"))])
    assert complete(alone) == []
    assert (alone.newest_tick, alone.committed) == (5, None)


@pytest.mark.parametrize(
    ("heartbeats", "ticks_complete"), [({1: 35}, [1, 2]), ({1: 99}, [1, 2]), ({0: 99, 1: 99}, [1, 2, 5])]
)
def test_a_heartbeat_is_of_one_stream(heartbeats: dict[int, int], ticks_complete: list[int]) -> None:
    assert complete(AHEAD.silent(heartbeats, ())) == ticks_complete


def test_nothing_waits_for_an_idle_stream_and_what_it_brings_is_put_after_that() -> None:
    _, left = AHEAD.silent({}, [1]).split()
    assert (left.newest_tick, left.committed) == (5, 50)
    awake, found = TickBuffer.from_arrow(10, *left.to_arrow()).append([segment((3, 0, "b"), side=1)])
    assert found == [(5, 60)]
    assert awake.streams[1].ticks.tick.tolist() == [5]
    assert complete(awake) == []


def test_a_stream_wakes_with_the_batch_that_has_a_segment_of_it() -> None:
    idle = AHEAD.silent({}, [1])
    late, early = segment((8, 0, "a")), segment((6, 0, "b"), side=1)
    for segments in ([late, early], [early, late]):
        awake, found = idle.append(segments)
        assert found == [(5, 60), (5, 60)]
        assert complete(awake) == [1, 2, 5]
    one_by_one = idle.append([late])[0].split()[1]
    assert one_by_one.append([early])[1] == [(8, 90)]


def test_what_was_not_waited_for_stays_behind_when_the_other_stream_falls_idle_too() -> None:
    both = AHEAD.silent({}, [1]).append([segment((8, 0, "a"))])[0].silent({}, [0])
    assert both.append([segment((6, 0, "b"), side=1)])[1] == [(8, 90)]


def test_where_all_are_idle_each_is_waited_for() -> None:
    assert complete(AHEAD.silent({}, [0, 1])) == [1]


def test_complete_is_all_of_both_streams_and_neither_comes_before_it_again() -> None:
    due, left = AHEAD.silent({}, [1]).complete_all(BEFORE_ALL).split()
    assert not left.idle
    assert due.ticks.tick.tolist() == [1, 2, 5]
    assert [stream.newest for stream in left.streams] == [(6, 70), (6, 70)]


# tick 0        left: position 0 at 4, 1 at 6;    right: position 0 at 4, 1 at 4, 2 at 9       (arrival time, ms)
def test_with_tick_0_tuples_are_numbered_by_arrival_then_side_then_position() -> None:
    both = TickBuffer.empty(0, [pa.string()] * 2, KIND.error_model.sample)
    left, right = one_by_one([(0, 4), (1, 6)]), one_by_one([(0, 4), (1, 4), (2, 9)], side=1)
    both, _ = both.append([left, right])
    due, rest = both.split()
    assert numbers(due) == [{0: 0}, {0: 1, 1: 2}]  # the newest of either stream may have one beside it
    assert [cut.bound for cut in due.cuts] == [1, 2]
    assert due.ticks.tick.tolist() == [0, 1, 2]
    assert rest.newest_tick == 4
    due, rest = rest.complete_all(BEFORE_ALL).split()
    assert numbers(due) == [{1: 3}, {2: 4}]
    assert [cut.bound for cut in due.cuts] == [None, None]
    assert due.ticks.tick.tolist() == [3, 4]


def test_with_tick_0_a_stream_that_has_only_passed_a_time_has_numbered_nothing() -> None:
    both = TickBuffer.empty(0, [pa.string()] * 2, KIND.error_model.sample).silent({0: 50}, ())
    assert both.newest_tick == -1
    assert both.append([one_by_one([(0, 4), (1, 4)], side=1)])[0].newest_tick == 1


def one_by_one(tuples: list[tuple[int, int]], side: int = 0) -> tuple[int, dict]:
    """(position, arrival time) of each tuple."""
    position, arrival = zip(*tuples, strict=True)
    _, batches = segment(*((place, 0, "a") for place in position), tick_ms=0)
    ends = np.array(arrival) + 1
    return side, batches | {"ticks": summarise(np.array(position), ends, np.zeros(len(ends), np.int64)).to_arrow()}


def numbers(due: CompleteTicks) -> list[dict[int, int]]:
    """The number of each complete tuple by its position, of each stream."""
    return [dict(zip(*map(list, cut.numbers), strict=True)) for cut in due.cuts]
