"""Segments put in order at a task, cut where ticks are complete, and what silence says of them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest

from tailrace.aggregate.kind import Aggregate
from tailrace.disorder.ticks import summarise
from tailrace.engine.tick_buffer import TickBuffer
from tailrace.ground.time_limits import BEFORE_ALL
from tailrace.windows.sliding import Sliding

KIND = Aggregate(Sliding(10, 10), "sum", {"value": "value"}, pa.string())
NONE = TickBuffer.empty(KIND)


def segment(ordinal: int, *rows: tuple[int, int, str], tick_ms: int = 10) -> tuple[dict, dict]:
    """(tick, event time, key) of each tuple; a tick is 10 ms, or one tuple that came in the ms of its number."""
    tick, event, key = (list(column) for column in zip(*rows, strict=True)) if rows else ([], [], [])
    columns = {"key": pa.array(key, pa.string()), "event_time": pa.array(event, pa.int64())}
    columns |= {"tick": pa.array(tick, pa.int64()), "value": pa.array([1.0] * len(rows), pa.float64())}
    ticks, event = np.array(tick, np.int64), np.array(event, np.int64)
    counts = {"tick": pa.array(ticks), "pane": pa.array(event // 10 * 10), "count": pa.array(np.ones_like(ticks))}
    tuples = pa.RecordBatch.from_pydict(columns)
    return {
        "partials": KIND.combine(tuples),
        "ticks": summarise(ticks, (ticks + 1) * max(tick_ms, 1), event).to_arrow(),
        "counts": pa.RecordBatch.from_pydict(counts),
        "sample": KIND.sample(tuples),
    }, {"ordinal": ordinal}


def restored(arrivals: TickBuffer) -> TickBuffer:
    return TickBuffer.from_arrow(arrivals.to_arrow(), arrivals.newest)


def ticks(arrivals: TickBuffer) -> dict[str, list[int]]:
    """The ticks that each of the parts speaks of."""
    return {
        "partials": sorted(arrivals.partials.column("tick").to_pylist()),
        "ticks": arrivals.ticks.tick.tolist(),
        "counts": sorted(arrivals.counts.column("tick").to_pylist()),
        "sample": sorted(arrivals.sample.column("tick").to_pylist()),
    }


def test_nothing_has_no_newest_tick() -> None:
    assert NONE.newest == (BEFORE_ALL, BEFORE_ALL)
    assert ticks(NONE) == {"partials": [], "ticks": [], "counts": [], "sample": []}


def test_the_newest_tick_and_its_end() -> None:
    arrivals, _ = NONE.append([segment(0, (1, 0, "a"), (3, 0, "a"))])
    assert arrivals.newest == (3, 40)


def test_a_segment_without_tuples_moves_nothing() -> None:
    arrivals, _ = NONE.append([segment(0, (3, 0, "a")), segment(1)])
    assert arrivals.newest == (3, 40)


# segment   0: ticks 1 3     1: ticks 2 4      the 2 came after 3: it is 3 too
def test_a_segment_that_lies_before_the_newest_tick_moves_to_it() -> None:
    arrivals, _ = NONE.append([segment(0, (1, 0, "a"), (3, 0, "a")), segment(1, (2, 0, "b"), (4, 0, "a"))])
    rows = [1, 3, 3, 4]
    assert ticks(arrivals) == {"partials": rows, "ticks": [1, 3, 4], "counts": rows, "sample": rows}
    assert arrivals.ticks.count.tolist() == [1, 2, 1]


def test_it_moves_also_when_what_came_before_was_in_an_earlier_batch() -> None:
    arrivals, _ = NONE.append([segment(0, (3, 0, "a"))])
    again, _ = restored(arrivals).append([segment(1, (2, 0, "b"))])
    assert ticks(again) == {"partials": [3, 3], "ticks": [3], "counts": [3, 3], "sample": [3, 3]}


def test_each_segment_knows_the_tick_that_it_found() -> None:
    _, places = NONE.append([segment(0, (3, 0, "a")), segment(1), segment(2, (2, 0, "a")), segment(3, (5, 0, "a"))])
    assert [(place["before_tick"], place["before_end"]) for place in places] == [
        (BEFORE_ALL, BEFORE_ALL),
        *[(3, 40)] * 3,
    ]
    assert [place["ordinal"] for place in places] == [0, 1, 2, 3]


def test_split_is_before_the_newest_tick_and_from_it_on() -> None:
    arrivals, _ = NONE.append([segment(0, (1, 0, "a"), (2, 0, "b"), (3, 0, "a"), (3, 5, "b"))])
    due, left = arrivals.split()
    assert ticks(due) == {"partials": [1, 2], "ticks": [1, 2], "counts": [1, 2], "sample": [1, 2]}
    assert ticks(left) == {"partials": [3, 3], "ticks": [3], "counts": [3, 3], "sample": [3, 3]}
    assert left.newest == arrivals.newest == (3, 40)


def test_nothing_can_be_split() -> None:
    due, left = NONE.split()
    assert ticks(due) == ticks(left) == {"partials": [], "ticks": [], "counts": [], "sample": []}


# tick      [20, 30) is the newest; at 29 the source is in it, at 30 beyond it
def test_a_heartbeat_completes_the_ticks_before_its_own() -> None:
    arrivals, _ = NONE.append([segment(0, (1, 0, "a"), (2, 0, "b"))])
    assert ticks(arrivals.heartbeat(29, 10).split()[0])["ticks"] == [1]
    due, left = arrivals.heartbeat(30, 10).split()
    assert (ticks(due)["ticks"], ticks(left)["ticks"]) == ([1, 2], [])
    assert left.newest == (3, 40)


def test_a_heartbeat_from_before_the_newest_tick_says_nothing() -> None:
    arrivals, _ = NONE.append([segment(0, (3, 0, "a"))])
    assert arrivals.heartbeat(5, 10).newest == (3, 40)


def test_a_heartbeat_before_anything_came() -> None:
    assert NONE.heartbeat(57, 10).newest == (5, 60)


# heartbeat at 57: the 2 that comes after it belongs to tick 5, with what else comes in it
def test_what_comes_behind_a_heartbeat_joins_its_tick() -> None:
    arrivals, _ = NONE.append([segment(0, (1, 0, "a"))])
    _, left = arrivals.heartbeat(57, 10).split()
    again, places = restored(left).append([segment(1, (2, 0, "b"), (5, 0, "a"))])
    assert ticks(again) == {"partials": [5, 5], "ticks": [5], "counts": [5, 5], "sample": [5, 5]}
    assert again.ticks.end.tolist() == [60]
    assert (places[0]["before_tick"], places[0]["before_end"]) == (5, 60)


def test_complete_is_all_of_it_and_what_comes_is_later() -> None:
    arrivals, _ = NONE.append([segment(0, (1, 0, "a"), (3, 0, "b"))])
    due, left = arrivals.complete_all(10, BEFORE_ALL).split()
    assert (ticks(due)["ticks"], ticks(left)["ticks"]) == ([1, 3], [])
    assert left.newest == (4, 50)
    again, _ = left.append([segment(1, (3, 0, "b"))])
    assert again.ticks.tick.tolist() == [4]


def test_complete_is_no_less_than_a_heartbeat() -> None:
    arrivals, _ = NONE.append([segment(0, (1, 0, "a"))])
    assert arrivals.heartbeat(57, 10).complete_all(10, BEFORE_ALL).newest == (5, 60)


# nothing ever came; a heartbeat alone; a heartbeat after tick 6, which is complete
@pytest.mark.parametrize(
    ("newest", "last_end"), [((BEFORE_ALL, BEFORE_ALL), BEFORE_ALL), ((7, 80), BEFORE_ALL), ((7, 80), 70)]
)
def test_complete_of_nothing_moves_nothing(newest: tuple[int, int], last_end: int) -> None:
    none = replace(NONE, newest=newest)
    assert none.complete_all(10, last_end).newest == newest


# tick 0: each tuple is a tick of its own, whatever silence is before it; its end is no less than what had passed
def test_with_tick_0_silence_completes_the_last_tuple_and_joins_no_two() -> None:
    arrivals, _ = NONE.append([segment(0, (3, 0, "a"), tick_ms=0)])
    assert ticks(arrivals.split()[1])["ticks"] == [3]
    for passed in (50, 60, 70):
        due, arrivals = restored(arrivals).heartbeat(passed, 0).split()
        assert ticks(due)["ticks"] == ([3] if passed == 50 else [])
    assert arrivals.newest == (4, 70)
    again, _ = arrivals.append([segment(1, (4, 0, "a"), (5, 0, "a"), (6, 0, "a"), tick_ms=0)])
    assert again.ticks.tick.tolist() == [4, 5, 6]
    assert again.ticks.end.tolist() == [70, 70, 70]


def test_with_tick_0_complete_is_past_the_last_tuple() -> None:
    arrivals, _ = NONE.append([segment(0, (3, 0, "a"), tick_ms=0)])
    assert arrivals.complete_all(0, BEFORE_ALL).newest == (4, 5)
    assert arrivals.heartbeat(50, 0).complete_all(0, BEFORE_ALL).newest == (4, 50)


# with tick 0 a heartbeat in the ms of the last tuple says no more than its end; that it is complete is 1 ms later
def test_with_tick_0_complete_is_past_the_last_tuple_also_after_a_heartbeat() -> None:
    arrivals, _ = NONE.append([segment(0, (3, 0, "a"), tick_ms=0)])
    _, left = arrivals.heartbeat(4, 0).split()
    assert left.newest == (4, 4)
    assert left.complete_all(0, 4).newest == (4, 5)


def test_what_is_left_through_arrow() -> None:
    arrivals, _ = NONE.append([segment(0, (1, 5, "a"), (2, 6, "b")), segment(1, (2, 7, "c"))])
    _, left = arrivals.split()
    again = restored(left)
    assert ticks(again) == ticks(left)
    assert again.partials.column("key").to_pylist() == ["b", "c"]
    assert again.newest == left.newest


def test_only_keys_still_in_use_are_kept() -> None:
    arrivals, _ = NONE.append([segment(0, (1, 5, "a"), (2, 6, "b"))])
    kept = arrivals.split()[1].to_arrow()["partials"].column("key")
    assert kept.dictionary.to_pylist() == ["b"]


def test_nothing_through_arrow() -> None:
    again = restored(NONE)
    assert again.newest == (BEFORE_ALL, BEFORE_ALL)
    assert again.partials.schema == NONE.partials.schema
