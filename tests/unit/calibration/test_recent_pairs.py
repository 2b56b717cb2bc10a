"""The recall that a calibration measures of a duration is that of the stream with this K, pair by pair."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.fakes.toy_join import ToyJoin
from kit.oracles.pair_oracle import LEFT, RIGHT, Item, Join, Read, batch_in_windows, batch_pairs, in_windows, joined
from kit.suite.examples import drawn
from tailrace.calibration.measure import EventTimeCourse
from tailrace.calibration.recent_pairs import RecentPairs
from tailrace.calibration.recent_windows import NotReady, RecentTuples
from tailrace.ground.arrow.times import EVENT_US
from tailrace.kind.explanation import KindExplanation
from tailrace.spatial_join.geometry.metrics import Planar
from tailrace.spatial_join.geometry_input import GeometryInput
from tailrace.spatial_join.search.condition import Condition
from tailrace.spatial_join.streams.stream_join import StreamJoin
from tailrace.spatial_join.streams.window_join import SpatialWindowJoin
from tailrace.windows.sliding import Sliding

REACH, TICK = 50, 10
TOY = ToyJoin(REACH)
FOREVER = 10**12
MEASURED: list[bool] = []


@dataclass(frozen=True)
class MemoryHistory:
    """The tuples of one stream, each with the tick of its arrival."""

    items: list[Item]
    column: str = "value"
    content: Callable[[str], str] = str

    def span(self) -> tuple[int, int]:
        times = [item.event_time for item in self.items]
        return min(times), max(times)

    def since(self, low: int) -> RecentTuples:
        items = [item for item in self.items if item.event_time >= low]
        event, tick = (np.array(column, np.int64) for column in ([i.event_time for i in items], ticks(items)))
        course = EventTimeCourse.from_tuples(tick, event)
        columns = {
            "event_time": event,
            EVENT_US: np.zeros(len(event), np.int64),
            "tick": tick,
            "id": [i.id for i in items],
            self.column: [self.content(i.value) for i in items],
        }
        tuples = pa.RecordBatch.from_pydict({name: pa.array(column) for name, column in columns.items()})
        return RecentTuples(low, tuples, course, course.delays(tick, event))


def ticks(items: list[Item]) -> list[int]:
    return [item.arrival_time // TICK for item in items]


@st.composite
def stream(draw: st.DrawFn, side: int) -> list[Item]:
    items, now = [], draw(st.integers(0, 30))
    for number in range(draw(st.integers(20, 60))):
        now += draw(st.integers(0, 20))
        delay = draw(st.sampled_from([0, 0, 0, 5, 40, 90, 200]))
        items.append(Item(10**6 + now - delay, 10**6 + now, f"{'lr'[side]}{number}", draw(st.sampled_from("ab"))))
    return items


@drawn(60)
@given(
    left=stream(LEFT),
    right=stream(RIGHT),
    durations=st.sets(st.integers(0, 200), min_size=1, max_size=3),
    n=st.integers(1, 3),
    interval=st.none() | st.sampled_from([(-20, REACH), (20, REACH), (-REACH, -10)]),
)
def test_recall_by_duration_is_that_of_streams_with_this_k(left, right, durations, n, interval):
    log = [Read(LEFT, item) for item in left] + [Read(RIGHT, item) for item in right]
    kind, join, waits = ToyJoin(REACH, interval=interval), Join(REACH, TICK, interval=interval), sorted(durations)
    true = batch_pairs(log, join)
    sides = MemoryHistory(left), MemoryHistory(right)
    newest = min(side.span()[1] for side in sides)
    try:
        found = RecentPairs(kind, sides, n, 0.9, kind.answers.shortest_wait).measure(np.array(waits)).measured
    except NotReady:
        MEASURED.append(False)
        return
    MEASURED.append(True)
    ends = found.ends.tolist()
    assert len(ends) == n
    assert max(ends) <= newest - waits[-1]
    times = {item.id: item.event_time for item in left + right}
    of_stretch = {
        end: {pair for pair in true if end - REACH <= max(times[pair[0]], times[pair[1]]) < end} for end in ends
    }
    for duration, quality in zip(waits, found.quality.tolist(), strict=True):
        streamed = joined(log, replace(join, k=duration, idle=FOREVER)).pairs.keys()
        for end, share in zip(ends, quality, strict=True):
            assert share == pytest.approx(len(of_stretch[end] & streamed) / len(of_stretch[end]))


SIZE, SLIDE = 60, 20
OF_WINDOWS: list[bool] = []


@drawn(60)
@given(
    left=stream(LEFT),
    right=stream(RIGHT),
    durations=st.sets(st.integers(0, 200), min_size=1, max_size=3),
    n=st.integers(1, 3),
)
def test_recall_of_pairs_in_windows_is_that_of_streams_with_this_k(left, right, durations, n):
    """Each value is a point; a pair counts once in each window that holds it."""
    log, waits = [Read(LEFT, item) for item in left] + [Read(RIGHT, item) for item in right], sorted(durations)
    inputs = GeometryInput({"wkt": "value"}), GeometryInput({"wkt": "value"})
    join = StreamJoin(inputs, Condition("equals", None, Planar()))
    kind = SpatialWindowJoin(SIZE - 1, join=join, explanation=KindExplanation("", "", ""), sliding=Sliding(SIZE, SLIDE))
    point = {"a": "POINT (0 0)", "b": "POINT (1 1)"}.__getitem__
    sides = MemoryHistory(left, "wkt", point), MemoryHistory(right, "wkt", point)
    try:
        found = RecentPairs(kind, sides, n, 0.9, kind.answers.shortest_wait).measure(np.array(waits)).measured
    except NotReady:
        OF_WINDOWS.append(False)
        return
    OF_WINDOWS.append(True)
    times = {item.id: item.event_time for item in left + right}
    windowed = Join(SIZE, TICK, windows=(SIZE, SLIDE))
    of_stretch = {
        end: {
            pair
            for pair in batch_in_windows(log, windowed)
            if end - SIZE <= max(times[pair.left_id], times[pair.right_id]) < end
        }
        for end in found.ends.tolist()
    }
    for duration, quality in zip(waits, found.quality.tolist(), strict=True):
        streamed = in_windows(log, replace(windowed, k=duration, idle=FOREVER))[0].keys()
        for end, share in zip(found.ends.tolist(), quality, strict=True):
            assert share == pytest.approx(len(of_stretch[end] & streamed) / len(of_stretch[end]))


def test_enough_of_the_generated_streams_were_measured():
    assert sum(MEASURED) >= len(MEASURED) / 4
    assert sum(OF_WINDOWS) >= len(OF_WINDOWS) / 4


def test_a_calibration_ends_though_the_delays_of_what_it_reads_change_to_and_fro():
    """No pair for long, and one tuple that is very late at the end: the range that is read only grows."""
    items = [Item(10**6 + 100 * number, 10**6 + 100 * number, f"x{number}", "a") for number in range(300)]
    late = [Item(10**6 + 100 * number, 10**6 + 100 * number, f"y{number}", "b") for number in range(300, 400)]
    late.append(Item(10**6 + 35_000, 10**6 + 40_000, "late", "c"))
    sides = MemoryHistory(items + late), MemoryHistory([*items, *(item._replace(value="z") for item in late)])
    measured = RecentPairs(TOY, sides, 2, 0.9, TOY.answers.shortest_wait).measure(np.array([10])).measured
    assert len(measured.ends) == 2
    assert max(measured.ends) <= 10**6 + 30_000 + 2 * REACH


def test_too_few_stretches_are_told():
    items = [Item(10**6 + 100 * number, 10**6 + 100 * number, f"x{number}", "a") for number in range(10)]
    with pytest.raises(NotReady, match="stretches of time with pairs"):
        RecentPairs(TOY, (MemoryHistory(items),) * 2, 30, 0.9, TOY.answers.shortest_wait).measure(np.array([10]))
