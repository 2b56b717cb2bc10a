"""What a driver says of itself, how often, and whether it is asked to drain."""

from __future__ import annotations

import os
from pathlib import Path

import pyarrow as pa
import pytest

from tailrace.drivers.fence import MARK
from tailrace.storage.layout import Layout
from tailrace.storage.progress import Progress
from tailrace.storage.status import Status
from tailrace.storage.table_schemas import CLASSES, schemas
from tailrace.storage.tables import with_times
from tailrace.stream import status_reporter as watching
from tailrace.stream.status_reporter import StatusReporter

ANSWER = pa.schema([("key", pa.string()), ("window_start", pa.int64()), ("window_end", pa.int64())])
METRICS = {"batch": 0, "task": 0, "rows": 4, "partials": 3, "late": 1, "answers": 2, "ticks": 1}
METRICS |= {"k_ms": 300, "load": 1.0}
METRICS |= dict.fromkeys(CLASSES, 0)
METRICS |= {
    "t_max": 9_000,
    "frontier": 8_700,
    "committed": 9_100,
    "newest_tick": 91,
    "coverage": 0.75,
    "latency_ms": 1.0,
    "flushed": False,
}


class Clock:
    """The wall clock, in ms, and a steady one; set back and forth, the wall clock alone changes."""

    now, steady = 1_000_000, 77_000

    def passes(self, ms: int) -> None:
        self.now, self.steady = self.now + ms, self.steady + ms

    def monotonic(self) -> float:
        return self.steady / 1000


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(watching, "wall_ms", lambda: clock.now)
    monkeypatch.setattr(watching, "time", clock)
    return clock


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    return Layout(tmp_path / "query")


def written(*tasks: dict[str, object]) -> dict[str, pa.Table]:
    """What a batch gave to the tables, in their types."""
    rows = pa.Table.from_pylist([METRICS | task for task in tasks])
    return {"metrics": with_times(rows, schemas(ANSWER)["metrics"])}


def test_a_driver_says_that_it_starts(layout: Layout, clock: Clock) -> None:
    StatusReporter(layout)
    assert Status.read(layout) == Status("starting", os.getpid(), clock.now, clock.now, 0)


def test_it_says_that_it_lives_each_second(layout: Layout, clock: Clock) -> None:
    watch = StatusReporter(layout)
    said = []
    for _ in range(40):
        clock.passes(100)
        watch.report("waiting", 7)
        status = Status.read(layout)
        said.append((status.state, status.at_ms, status.rows_left))
    assert said[:9] == [("starting", 1_000_000, 0)] * 9
    assert said[9:19] == [("waiting", 1_001_000, 7)] * 10
    assert said[-1] == ("waiting", 1_004_000, 7)
    assert Status.read(layout).started_ms == 1_000_000


@pytest.mark.parametrize("back", [-3_600_000, 3_600_000])
def test_a_wall_clock_that_is_set_does_not_silence_it(layout: Layout, clock: Clock, back: int) -> None:
    watch = StatusReporter(layout)
    clock.passes(1_000)
    watch.report("streaming")
    clock.now += back
    said = []
    for _ in range(40):
        clock.passes(100)
        watch.report("waiting")
        said.append(Status.read(layout).at_ms)
    later = [clock.now - 3_000, clock.now - 2_000, clock.now - 1_000, clock.now]
    assert said == [1_001_000] * 9 + [time for time in later for _ in range(10)][:31]


def test_it_says_at_once_that_spark_starts_and_how_many_batches_there_are(layout: Layout, clock: Clock) -> None:
    """Who watches it grants it more time then, also if it has waited for the first record before."""
    watch = StatusReporter(layout)
    clock.passes(1_000)
    watch.report("waiting")
    clock.passes(1)
    watch.starting(12)
    status = Status.read(layout)
    assert (status.state, status.at_ms, status.batches) == ("starting", clock.now, 12)
    assert (status.committed_at_ms, status.started_ms) == (None, 1_000_000)
    clock.passes(1_000)
    watch.report("waiting")
    assert (Status.read(layout).state, Status.read(layout).batches) == ("waiting", 12)


@pytest.mark.parametrize("last", ["drained", "ended"])
def test_the_last_words_are_said_at_once(layout: Layout, clock: Clock, last: str) -> None:
    watch = StatusReporter(layout)
    clock.passes(1)
    watch.report(last, 3)
    status = Status.read(layout)
    assert (status.state, status.at_ms, status.rows_left) == (last, clock.now, 3)


def test_a_wish_to_drain_is_seen(layout: Layout, clock: Clock) -> None:
    watch = StatusReporter(layout)
    assert not watch.drain_requested
    layout.request_drain()
    assert watch.drain_requested


def test_a_wish_to_drain_from_before_is_none(layout: Layout, clock: Clock) -> None:
    layout.request_drain()
    watch = StatusReporter(layout)
    assert not watch.drain_requested
    assert not layout.drain.exists()


def test_on_a_driver_host_a_wish_to_drain_outlives_the_restarts_of_the_driver(
    layout: Layout, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A deployment takes it away: so the wish of one who died while he drained is not lost."""
    monkeypatch.setenv(MARK, "of a start")
    layout.request_drain()
    assert StatusReporter(layout).drain_requested


def test_a_run_in_the_foreground_gives_up_its_batch_a_while_after_a_wish_to_drain(
    layout: Layout, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody else would end one whose batch hangs."""
    watch = StatusReporter(layout)
    clock.passes(3_600_000)
    assert not watch.is_overdue
    layout.request_drain()
    assert not watch.is_overdue
    clock.passes(59_900)
    assert not watch.is_overdue
    clock.passes(100)
    assert watch.is_overdue
    monkeypatch.setenv(MARK, "of a start")
    watch = StatusReporter(layout)
    for _ in range(2):
        assert not watch.is_overdue, "on a driver host who asks has a deadline of his own, and stops it by force"
        clock.passes(3_600_000)


def test_what_batches_did_adds_up_and_how_they_stand_is_the_last_ones(layout: Layout, clock: Clock) -> None:
    watch = StatusReporter(layout)
    clock.passes(5_000)
    assert watch.batch_written(6, written({"task": 0, "rows": 1}, {"task": 1, "rows": 2, "late": 0})) == Progress(
        9_100, 8_700, False, 91
    )
    clock.passes(1)
    later = {"frontier": 9_000, "t_max": 9_300, "committed": 9_400, "k_ms": 310, "coverage": 0.5}
    assert watch.batch_written(7, written(later, later | {"task": 1})) == Progress(9_400, 9_000, False, 91)
    clock.passes(1_000)
    watch.report("streaming", 9)
    assert Status.read(layout) == Status(
        state="streaming",
        pid=os.getpid(),
        started_ms=1_000_000,
        at_ms=1_006_001,
        batches=8,
        committed_at_ms=1_005_001,
        rows_left=9,
        committed=9_400,
        frontier=9_000,
        t_max=9_300,
        k_ms=310,
        coverage=0.5,
        rows=1 + 2 + 4 + 4,
        late=1 + 0 + 1 + 1,
        answers=8,
    )


def test_it_tells_how_long_it_is_at_a_batch_and_how_long_batches_took(layout: Layout, clock: Clock) -> None:
    """By this whoever watches it sees that no batch ends, though the driver itself lives."""
    watch = StatusReporter(layout)

    def say(busy_rows: int | None) -> tuple[int | None, int, int]:
        clock.passes(1_000)
        watch.report("streaming" if busy_rows is not None else "waiting", 0, busy_rows)
        said = Status.read(layout)
        assert said is not None
        return said.busy_ms, said.busy_rows, said.batch_ms

    assert say(None) == (None, 0, 0)
    assert [say(4), say(4), say(4)] == [(0, 4, 0), (1_000, 4, 0), (2_000, 4, 0)]
    watch.batch_written(0, written({}))
    assert say(7) == (0, 7, 2_000), "at the next one already"
    assert say(7) == (1_000, 7, 2_000)
    watch.batch_written(1, written({}))
    assert say(None) == (None, 0, 2_000)
    for batch in range(2, 2 + watching._RECENT):
        assert say(1)[0] == 0
        watch.batch_written(batch, written({}))
    assert say(None) == (None, 0, 0), "the long ones are long ago"


def test_before_anything_is_complete_nothing_is_known(layout: Layout, clock: Clock) -> None:
    watch = StatusReporter(layout)
    none = dict.fromkeys(("t_max", "frontier", "committed", "newest_tick", "coverage"))
    assert watch.batch_written(0, written(none, none | {"task": 1})) == Progress(0, 0, False)
    watch.report("drained")
    status = Status.read(layout)
    assert (status.t_max, status.frontier, status.committed, status.coverage) == (None, None, None, None)
    assert (status.batches, status.k_ms, status.committed_at_ms) == (1, 300, 1_000_000)


@pytest.mark.parametrize("time", [-62_135_596_800_000, 0, 253_402_300_799_999])  # the years 1, 1970 and 9999
def test_any_time_that_a_tuple_can_have_is_told(layout: Layout, clock: Clock, time: int) -> None:
    watch = StatusReporter(layout)
    progress = watch.batch_written(0, written({"t_max": time, "frontier": time, "committed": time}))
    assert progress == Progress(time, time, False, 91)
    watch.report("drained")
    status = Status.read(layout)
    assert (status.t_max, status.frontier, status.committed) == (time, time, time)
