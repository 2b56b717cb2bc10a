"""Segments put in order at a task, and cut where ticks are complete."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from tailrace.aggregate.kind import Aggregate
from tailrace.arrivals import Arrivals
from tailrace.disorder.clock import NEVER
from tailrace.disorder.ticks import summarise
from tailrace.windows.sliding import Sliding

KIND = Aggregate(Sliding(10, 10), "sum", {"value": "value"}, pa.string())
NONE = Arrivals.none(KIND)


def segment(ordinal: int, *rows: tuple[int, int, str]) -> tuple[dict, dict]:
    """(tick, event time, key) of each tuple; a tick is 10 ms."""
    tick, event, key = (list(column) for column in zip(*rows, strict=True)) if rows else ([], [], [])
    columns = {"key": pa.array(key, pa.string()), "event_time": pa.array(event, pa.int64())}
    columns |= {"tick": pa.array(tick, pa.int64()), "value": pa.array([1.0] * len(rows), pa.float64())}
    ticks, event = np.array(tick, np.int64), np.array(event, np.int64)
    counts = {"tick": pa.array(ticks), "pane": pa.array(event // 10 * 10), "count": pa.array(np.ones_like(ticks))}
    return {
        "partials": KIND.combine(pa.RecordBatch.from_pydict(columns)),
        "ticks": summarise(ticks, (ticks + 1) * 10, event).to_arrow(),
        "counts": pa.RecordBatch.from_pydict(counts),
    }, {"ordinal": ordinal}


def ticks(arrivals: Arrivals) -> dict[str, list[int]]:
    """The ticks that each of the three parts speaks of."""
    return {
        "partials": sorted(arrivals.partials.column("tick").to_pylist()),
        "ticks": arrivals.ticks.tick.tolist(),
        "counts": sorted(arrivals.counts.column("tick").to_pylist()),
    }


def test_nothing_has_no_newest_tick() -> None:
    assert NONE.newest == (NEVER, NEVER)
    assert ticks(NONE) == {"partials": [], "ticks": [], "counts": []}


def test_the_newest_tick_and_its_end() -> None:
    arrivals, _ = NONE.follow([segment(0, (1, 0, "a"), (3, 0, "a"))])
    assert arrivals.newest == (3, 40)


# segment   0: ticks 1 3     1: ticks 2 4      the 2 came after 3: it is 3 too
def test_a_segment_that_lies_before_the_newest_tick_moves_to_it() -> None:
    arrivals, _ = NONE.follow([segment(0, (1, 0, "a"), (3, 0, "a")), segment(1, (2, 0, "b"), (4, 0, "a"))])
    assert ticks(arrivals) == {"partials": [1, 3, 3, 4], "ticks": [1, 3, 4], "counts": [1, 3, 3, 4]}
    assert arrivals.ticks.count.tolist() == [1, 2, 1]


def test_it_moves_also_when_what_came_before_was_in_an_earlier_batch() -> None:
    arrivals, _ = NONE.follow([segment(0, (3, 0, "a"))])
    again, _ = Arrivals.from_arrow(arrivals.to_arrow()).follow([segment(1, (2, 0, "b"))])
    assert ticks(again) == {"partials": [3, 3], "ticks": [3], "counts": [3, 3]}


def test_each_segment_knows_the_tick_that_it_found() -> None:
    _, places = NONE.follow([segment(0, (3, 0, "a")), segment(1), segment(2, (2, 0, "a")), segment(3, (5, 0, "a"))])
    assert [(place["before_tick"], place["before_end"]) for place in places] == [(NEVER, NEVER), *[(3, 40)] * 3]
    assert [place["ordinal"] for place in places] == [0, 1, 2, 3]


def test_split_is_before_a_tick_and_from_it_on() -> None:
    arrivals, _ = NONE.follow([segment(0, (1, 0, "a"), (2, 0, "b"), (3, 0, "a"))])
    due, left = arrivals.split(2)
    assert ticks(due) == {"partials": [1], "ticks": [1], "counts": [1]}
    assert ticks(left) == {"partials": [2, 3], "ticks": [2, 3], "counts": [2, 3]}


def test_what_is_left_through_arrow() -> None:
    arrivals, _ = NONE.follow([segment(0, (1, 5, "a"), (2, 6, "b")), segment(1, (2, 7, "c"))])
    _, left = arrivals.split(2)
    again = Arrivals.from_arrow(left.to_arrow())
    assert ticks(again) == ticks(left)
    assert again.partials.column("key").to_pylist() == ["b", "c"]
    assert again.newest == left.newest


def test_only_keys_still_in_use_are_kept() -> None:
    arrivals, _ = NONE.follow([segment(0, (1, 5, "a"), (2, 6, "b"))])
    kept = arrivals.split(2)[1].to_arrow()["partials"].column("key")
    assert kept.dictionary.to_pylist() == ["b"]


def test_nothing_through_arrow() -> None:
    again = Arrivals.from_arrow(NONE.to_arrow())
    assert again.newest == (NEVER, NEVER)
    assert again.partials.schema == NONE.partials.schema
