"""The status reporter: what a driver writes to its status and how often, and whether a drain is requested."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pyarrow as pa
import pytest

from tailrace.drivers.driver_host import Driver
from tailrace.drivers.driver_status import DriverStatus
from tailrace.drivers.fence import MARK
from tailrace.engine.progress import Progress
from tailrace.ground.errors import Problem, SourceChanged
from tailrace.ground.interruptions import forget_interruptions, note_interruption
from tailrace.ground.time_limits import EARLIEST_MS
from tailrace.storage.layout import Layout
from tailrace.storage.status import Status
from tailrace.storage.tables import Tables
from tailrace.stream import status_reporter as module
from tailrace.stream.status_reporter import AWAITED, StatusReporter
from tailrace.tables import stream

METRICS = {"batch": 0, "task": 0, "rows": 4, "partials": 3, "repeats": 0, "late": 1, "answers": 2, "ticks": 1}
METRICS |= {"k_ms": 300, "load": 1.0, "imbalance": 0.0, "threshold": None}
METRICS |= dict.fromkeys(stream.CLASSES, 0)
METRICS |= {
    "t_max": 9_000,
    "newest_event": 9_050,
    "loads": None,
    "counts": None,
    "filtered": 0,
    "frontier": 8_700,
    "committed": 9_100,
    "newest_tick": 91,
    "complete_tick": 90,
    "coverage": 0.75,
    "latency_ms": 1.0,
    "flushed": False,
    "reached": [9_100, None],
}


class Clock:
    """A wall clock (`now`) and a monotonic one (`steady`), in ms; setting the wall clock leaves the other unchanged."""

    now, steady = 1_000_000, 77_000

    def passes(self, ms: int) -> None:
        self.now, self.steady = self.now + ms, self.steady + ms

    def monotonic(self) -> float:
        return self.steady / 1000


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(module, "wall_ms", lambda: clock.now)
    monkeypatch.setattr(module, "time", clock)
    return clock


@pytest.fixture
def layout(tmp_path: Path) -> Layout:
    return Layout(tmp_path / "query")


def metrics_rows(*tasks: dict[str, object]) -> list[dict[str, object]]:
    """The rows of table `metrics` that a batch wrote, one per task; times in ms."""
    return [METRICS | task for task in tasks]


def test_the_first_status_of_a_driver_is_starting(layout: Layout, clock: Clock) -> None:
    StatusReporter(layout)
    assert Status.read(layout) == Status(
        "starting", os.getpid(), clock.now, clock.now, 0, is_idle=True, since_ms=clock.now, away={}
    )


def test_the_status_is_written_once_a_second(layout: Layout, clock: Clock) -> None:
    reporter = StatusReporter(layout)
    statuses = []
    for _ in range(40):
        clock.passes(100)
        reporter.report("waiting", 7)
        status = Status.read(layout)
        statuses.append((status.state, status.at_ms, status.rows_left))
    assert statuses[:9] == [("starting", 1_000_000, 0)] * 9
    assert statuses[9:19] == [("waiting", 1_001_000, 7)] * 10
    assert statuses[-1] == ("waiting", 1_004_000, 7)
    assert Status.read(layout).started_ms == 1_000_000


def test_a_driver_that_is_long_at_one_thing_reports_that_it_lives(layout: Layout, clock: Clock) -> None:
    reporter = StatusReporter(layout)
    clock.passes(1_000)
    reporter.report("streaming", 7)
    before = Status.read(layout)
    times = []
    for _ in range(25):
        clock.passes(100)
        reporter.report_alive()
        times.append(Status.read(layout).at_ms)
    assert times == [1_001_000] * 9 + [1_002_000] * 10 + [1_003_000] * 6
    assert Status.read(layout) == replace(before, at_ms=1_003_000)


@pytest.mark.parametrize("step_ms", [-3_600_000, 3_600_000])
def test_the_status_is_written_once_a_second_though_the_wall_clock_is_set(
    layout: Layout, clock: Clock, step_ms: int
) -> None:
    reporter = StatusReporter(layout)
    clock.passes(1_000)
    reporter.report("streaming")
    clock.now += step_ms
    times = []
    for _ in range(40):
        clock.passes(100)
        reporter.report("waiting")
        times.append(Status.read(layout).at_ms)
    later_times = [clock.now - 3_000, clock.now - 2_000, clock.now - 1_000, clock.now]
    assert times == [1_001_000] * 9 + [time for time in later_times for _ in range(10)][:31]


def test_the_start_of_spark_is_reported_at_once_with_the_number_of_batches(layout: Layout, clock: Clock) -> None:
    """A driver that starts Spark is granted more time, also after it waited for the first record."""
    reporter = StatusReporter(layout)
    clock.passes(1_000)
    reporter.report("waiting")
    clock.passes(1)
    reporter.starting(12)
    status = Status.read(layout)
    assert (status.state, status.at_ms, status.batches) == ("starting", clock.now, 12)
    assert (status.committed_at_ms, status.started_ms) == (None, 1_000_000)
    clock.passes(1_000)
    reporter.report("waiting")
    assert (Status.read(layout).state, Status.read(layout).batches) == ("waiting", 12)


def test_a_stream_that_starts_again_shows_how_far_it_was_before_its_next_batch(layout: Layout, clock: Clock) -> None:
    tables = Tables(layout)
    tables.create({"metrics": stream.METRICS.schema()})
    for batch in range(3):  # the last one was not committed
        at = {"batch": batch, "committed": 9_100 + batch, "frontier": 8_700 + batch, "t_max": 9_000 + batch}
        row = at | {"k_ms": 300 + batch, "coverage": 0.75 + batch / 100}
        tables.append("metrics", stream.METRICS.table(metrics_rows(row, row | {"task": 1})), "app", batch)
    reporter = StatusReporter(layout)
    reporter.starting(2)
    for state in ("starting", "waiting"):
        reporter.report(state)
        clock.passes(1_000)
        status = Status.read(layout)
        assert (status.committed, status.frontier, status.t_max) == (9_101, 8_701, 9_001), state
        assert (status.k_ms, status.coverage, status.committed_at_ms) == (301, 0.76, None), state


def test_counts_are_over_the_life_of_the_stream_and_no_batch_counts_twice(layout: Layout, clock: Clock) -> None:
    """The last batch in the table was not committed by Spark, so it runs again."""
    tables = Tables(layout)
    tables.create({"metrics": stream.METRICS.schema()})
    for batch in range(3):
        tables.append("metrics", stream.METRICS.table(metrics_rows({"batch": batch}, {"batch": batch})), "app", batch)
    reporter = StatusReporter(layout)
    reporter.starting(2)
    status = Status.read(layout)
    assert (status.rows, status.late, status.answers) == (16, 4, 8)
    reporter.batch_written(2, metrics_rows({"batch": 2}, {"batch": 2}), {})
    clock.passes(1_000)
    reporter.report("waiting")
    status = Status.read(layout)
    assert (status.rows, status.late, status.answers) == (24, 6, 12)


def test_a_stream_is_idle_a_minute_after_its_last_rows_and_heartbeats_do_not_change_that(
    layout: Layout, clock: Clock
) -> None:
    """It is idle since those rows, and runs again with the next ones."""
    reporter, phases = StatusReporter(layout), []

    def passes(seconds: int, state: str, rows_left: int = 0, busy_rows: int | None = None) -> None:
        for _ in range(seconds):
            clock.passes(1_000)
            reporter.report(state, rows_left, busy_rows)
            status = Status.read(layout)
            phases.append((status.phase, status.since_ms))

    passes(2, "waiting")
    passes(2, "streaming", 4, 9)
    for _ in range(4):  # a source whose rows come every 20 s
        passes(18, "waiting")
        passes(2, "streaming", 0, 9)
    for _ in range(8):  # a heartbeat every 15 s
        passes(14, "quiet")
        passes(1, "streaming", 0, 0)
    passes(1, "streaming", 0, 9)
    assert list(dict.fromkeys(phases)) == [
        ("idle", 1_001_000),
        ("running", 1_003_000),
        ("idle", 1_084_000),
        ("running", clock.now),
    ]


def test_a_problem_and_each_later_phase_say_since_when(layout: Layout, clock: Clock) -> None:
    reporter = StatusReporter(layout)

    def phase(state: str = "waiting", problem: str | None = None, part: str = "source") -> tuple[str, int | None]:
        clock.passes(1_000)
        reporter.report_problem(part, problem)
        reporter.report(state)
        status = Status.read(layout)
        assert status is not None
        return status.phase, status.since_ms

    assert phase("starting") == ("starting", 1_000_000)
    assert phase() == ("idle", 1_002_000)
    assert [phase(problem="away"), phase(problem="gone")] == [("broken", 1_003_000)] * 2, "another one goes on"
    assert phase() == ("idle", 1_005_000)
    assert phase(problem="cut", part=AWAITED) == ("awaiting", 1_006_000)
    assert phase("held", None, AWAITED) == ("held", 1_007_000)
    assert phase("drained") == ("drained", 1_008_000)


def test_a_place_that_is_away_says_since_when(layout: Layout, clock: Clock) -> None:
    reporter = StatusReporter(layout)
    reporter.place_away("kafka")
    clock.passes(1_000)
    for part, is_away in (("postgres", True), ("kafka", True), ("current", False)):
        reporter.place_away(part, is_away)
        clock.passes(1_000)
    reporter.report("waiting")
    status = Status.read(layout)
    assert status is not None
    assert status.away == {"kafka": 1_000_000, "postgres": 1_001_000}
    reporter.place_away("kafka", False)
    clock.passes(1_000)
    reporter.report("waiting")
    status = Status.read(layout)
    assert status is not None
    assert status.away == {"postgres": 1_001_000}


@pytest.mark.parametrize(("error", "state"), [(KeyboardInterrupt(), "interrupted"), (RuntimeError("broken"), "failed")])
def test_an_end_by_an_exception_is_reported(layout: Layout, clock: Clock, error: BaseException, state: str) -> None:
    reporter = StatusReporter(layout)
    reporter.report("streaming", 3)
    with pytest.raises(type(error)), reporter.until_stopped():
        raise error
    assert Status.read(layout).state == state


def test_the_reason_of_an_end_takes_the_place_of_earlier_problems(layout: Layout, clock: Clock) -> None:
    """A problem that is over, but was not yet seen to be, is not the reason of the end."""
    reporter = StatusReporter(layout)
    reporter.report_problem("source", "in/archive: this is a directory", gives_up_in_s=60)
    reporter.report("waiting")
    reason = SourceChanged(
        [Problem("in/c.csv", "it was changed", "files that stay"), Problem("in/d.csv", "gone", "it")]
    )
    with pytest.raises(SourceChanged), reporter.until_stopped():
        raise reason
    status = Status.read(layout)
    assert (status.problem, status.gives_up_ms, status.is_awaiting) == (str(reason), None, False)
    assert len(status.problems) == 2
    host_view = Driver("query", "starting", None, None, "", log="/programs/query.log")
    shown = DriverStatus(host_view, status, status.at_ms)
    assert "tries again" not in str(shown)
    assert "failed, 0 s ago: in/c.csv: it was changed; its log: /programs/query.log" in shown.facts()
    unknown = DriverStatus(host_view, replace(status, problem=None), status.at_ms)
    assert "failed, 0 s ago: its log: /programs/query.log" in unknown.facts()


def test_an_interruption_keeps_the_problems(layout: Layout, clock: Clock) -> None:
    reporter = StatusReporter(layout)
    reporter.report_problem("source", "it is away")
    with pytest.raises(KeyboardInterrupt), reporter.until_stopped():
        raise KeyboardInterrupt
    assert Status.read(layout).problem == "source: it is away"


def test_an_interruption_that_became_another_error_is_none_the_less_one(layout: Layout, clock: Clock) -> None:
    reporter = StatusReporter(layout)
    note_interruption()
    try:
        with pytest.raises(OSError, match="cancelled"), reporter.until_stopped():
            raise OSError("the commit was cancelled")
    finally:
        forget_interruptions()
    assert Status.read(layout).state == "interrupted"


def test_a_driver_that_another_one_has_replaced_reports_no_end(layout: Layout, clock: Clock) -> None:
    reporter = StatusReporter(layout)
    other = replace(Status.read(layout), pid=os.getpid() + 1, state="streaming")
    other.write(layout)
    with pytest.raises(KeyboardInterrupt), reporter.until_stopped():
        raise KeyboardInterrupt
    assert Status.read(layout) == other


def test_a_run_that_fails_after_it_has_drained_is_drained(layout: Layout, clock: Clock) -> None:
    reporter = StatusReporter(layout)
    reporter.report("drained")
    with pytest.raises(RuntimeError), reporter.until_stopped():
        raise RuntimeError("a place lacks the newest answers")
    assert Status.read(layout).state == "drained"


def test_a_driver_with_the_pid_of_another_container_is_another_one(layout: Layout, clock: Clock) -> None:
    reporter = StatusReporter(layout)
    other = replace(Status.read(layout), started_ms=clock.now + 5_000, state="streaming")
    other.write(layout)
    with pytest.raises(KeyboardInterrupt), reporter.until_stopped():
        raise KeyboardInterrupt
    assert Status.read(layout) == other


def test_a_block_that_ends_reports_nothing(layout: Layout, clock: Clock) -> None:
    reporter = StatusReporter(layout)
    with reporter.until_stopped():
        reporter.report("drained")
    assert Status.read(layout).state == "drained"


@pytest.mark.parametrize("last", ["interrupted", "failed", "drained", "ended"])
def test_the_final_state_is_reported_at_once(layout: Layout, clock: Clock, last: str) -> None:
    reporter = StatusReporter(layout)
    clock.passes(1)
    reporter.report(last, 3)
    status = Status.read(layout)
    assert (status.state, status.at_ms, status.rows_left) == (last, clock.now, 3)


def test_a_drain_request_is_noticed(layout: Layout, clock: Clock) -> None:
    reporter = StatusReporter(layout)
    assert not reporter.drain_requested
    layout.request_drain()
    assert reporter.drain_requested


def test_a_drain_request_from_before_the_start_is_removed(layout: Layout, clock: Clock) -> None:
    layout.request_drain()
    reporter = StatusReporter(layout)
    assert not reporter.drain_requested
    assert not layout.drain.exists()


def test_on_a_driver_host_a_drain_request_outlives_restarts_of_the_driver(
    layout: Layout, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Only a deployment removes the request, so it is not lost when the draining process dies."""
    monkeypatch.setenv(MARK, "of a start")
    layout.request_drain()
    assert StatusReporter(layout).drain_requested


def test_a_foreground_run_abandons_its_batch_a_minute_after_a_drain_request(
    layout: Layout, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nothing else would end a foreground run with a hanging batch."""
    reporter = StatusReporter(layout)
    clock.passes(3_600_000)
    assert not reporter.is_overdue
    layout.request_drain()
    assert not reporter.is_overdue
    clock.passes(59_900)
    assert not reporter.is_overdue
    clock.passes(100)
    assert reporter.is_overdue
    monkeypatch.setenv(MARK, "of a start")
    reporter = StatusReporter(layout)
    for _ in range(2):
        assert not reporter.is_overdue, "on a driver host, whoever requests the drain kills the driver after a deadline"
        clock.passes(3_600_000)


def test_a_run_may_give_its_running_batch_less_time_to_drain(layout: Layout, clock: Clock) -> None:
    reporter = StatusReporter(layout, grace_s=1.0)
    layout.request_drain()
    assert not reporter.is_overdue
    clock.passes(1_000)
    assert reporter.is_overdue


def test_counts_of_batches_add_up_and_their_state_is_that_of_the_last_one(layout: Layout, clock: Clock) -> None:
    reporter = StatusReporter(layout)
    clock.passes(5_000)
    assert reporter.batch_written(
        6, metrics_rows({"task": 0, "rows": 1}, {"task": 1, "rows": 2, "late": 0}), {}
    ) == Progress(9_100, 8_700, False, 91, 90, (9_100, None), 9_050)
    clock.passes(1)
    later_metrics = {"frontier": 9_000, "t_max": 9_300, "committed": 9_400, "k_ms": 310, "coverage": 0.5}
    assert reporter.batch_written(7, metrics_rows(later_metrics, later_metrics | {"task": 1}), {}) == Progress(
        9_400, 9_000, False, 91, 90, (9_100, None), 9_050
    )
    clock.passes(1_000)
    reporter.report("streaming", 9)
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
        repeats=0,
        quarantined=0,
        recent_rows=1 + 2 + 4 + 4,
        is_idle=False,
        since_ms=1_006_001,
        away={},
    )


@pytest.mark.parametrize("step_ms", [-86_400_000, 86_400_000])
def test_the_age_of_the_last_commit_is_measured_steadily(layout: Layout, clock: Clock, step_ms: int) -> None:
    reporter, ages = StatusReporter(layout), []
    reporter.batch_written(0, metrics_rows({}), {})
    for step in (0, step_ms, -step_ms):
        clock.now += step
        clock.passes(2_000)
        reporter.report("waiting")
        status = Status.read(layout)
        ages.append(DriverStatus(Driver("readings", "running", 1, None, ""), status, clock.now).commit_age_ms)
    assert ages == [2_000, 4_000, 6_000]


def segments_read(*max_events: int | None) -> pa.Table:
    rows = [
        {"stream": "readings", "path": f"in/{i}", "first_row": 10 * i, "rows": 10, "max_event": max_event}
        for i, max_event in enumerate(max_events)
    ]
    nothing = dict.fromkeys(("quarantined", "filtered", "unmatched"), 0)
    return pa.Table.from_pylist([row | nothing for row in rows])


# arrival has come to 9.1 s; 23 h beyond it
def test_an_event_time_far_ahead_of_arrival_is_reported_with_its_place_until_arrival_has_come_there(
    layout: Layout, clock: Clock
) -> None:
    reporter, far = StatusReporter(layout), 9_100 + 23 * 3_600_000

    def ahead(newest_event: int | None, reached: list[int | None], segments: pa.Table | None = None) -> str | None:
        rows = metrics_rows({"newest_event": newest_event, "reached": reached})
        reporter.batch_written(0, rows, {} if segments is None else {"segments": segments})
        reporter.report("drained")
        return Status.read(layout).ahead

    assert ahead(69_099, [9_100, None], segments_read(9_000, 69_099)) is None, "clocks differ by so much"
    assert ahead(None, [None, None]) is None
    assert ahead(far, [9_100, 5_000], segments_read(9_000, far, None)) == (
        "an event time of 1970-01-01T23:00:09.100Z (stream readings, rows 10 to 19 of in/1) is 23 h ahead of arrival, "
        "which has reached 1970-01-01T00:00:09.100Z: it moves the frontier no further than arrival comes"
    )
    assert "rows 10 to 19 of in/1) is 22 h ahead" in ahead(far, [9_100 + 3_600_000], segments_read(9_200))
    assert ahead(far, [far]) is None
    restarted = StatusReporter(layout)
    assert restarted.batch_written(0, metrics_rows({"newest_event": far}), {}) is not None
    restarted.report("drained")
    assert "an event time of 1970-01-01T23:00:09.100Z is 23 h ahead" in Status.read(layout).ahead
    said = DriverStatus(Driver("readings", "running", 1, None, ""), Status.read(layout), 0)
    assert Status.read(layout).ahead in str(said)


def test_each_problem_is_in_the_status_and_the_time_at_which_the_driver_ends_by_one(
    layout: Layout, clock: Clock
) -> None:
    reporter = StatusReporter(layout)

    def problems_after(part: str, problem: str | None, *end_s: float) -> tuple[list[str], int | None, bool]:
        reporter.report_problem(part, problem, *end_s)
        clock.passes(1_000)
        reporter.report("waiting")
        status = Status.read(layout)
        assert status is not None
        return status.problems, status.gives_up_ms, status.is_awaiting

    wrong, due_ms = (
        "a: no column 'v'\n    right would be: w\nb: no column 'v'\n    right would be: w",
        clock.now + 60_000,
    )
    first, second = "source: a: no column 'v'\n    right would be: w", "b: no column 'v'\n    right would be: w"
    assert problems_after("source", wrong, 60.0) == ([first, second], due_ms, False)
    assert problems_after("source", wrong, 9.0)[1] == due_ms, "the time does not move while the problem goes on"
    assert problems_after("stream", "full") == ([first, second, "stream: full"], due_ms, False)
    assert problems_after("source", "away") == (["source: away", "stream: full"], None, False)
    problems_after("source", wrong, 60.0)
    problems_after("source", None)
    assert problems_after("stream", None) == ([], None, False)
    assert problems_after(AWAITED, "its last line is cut") == ([f"{AWAITED}: its last line is cut"], None, True)


def test_the_status_has_the_reasons_for_which_records_were_rejected(layout: Layout, clock: Clock) -> None:
    reporter = StatusReporter(layout)
    reporter.starting(0)
    quarantine = pa.table({"reason": ["v is NaN", "v is null", "v is NaN"], "position": ["in/a#1", "in/a#2", "in/a#3"]})
    reporter.batch_written(0, metrics_rows({"task": 0}), {"quarantine": quarantine})
    reporter.batch_written(1, metrics_rows({"task": 0}), {})
    clock.passes(1_000)
    reporter.report("streaming")
    assert Status.read(layout).rejected == "2 × v is NaN, as a, record 2; 1 × v is null, as a, record 3"


def test_the_status_has_the_age_of_the_current_batch_and_the_time_of_recent_ones(layout: Layout, clock: Clock) -> None:
    """This shows that a batch hangs although the driver itself is alive."""
    reporter = StatusReporter(layout)

    def report_and_read(busy_rows: int | None) -> tuple[int | None, int, int]:
        clock.passes(1_000)
        reporter.report("streaming" if busy_rows is not None else "waiting", 0, busy_rows)
        status = Status.read(layout)
        assert status is not None
        return status.busy_ms, status.busy_rows, status.batch_ms

    assert report_and_read(None) == (None, 0, 0)
    assert [report_and_read(4), report_and_read(4), report_and_read(4)] == [(0, 4, 0), (1_000, 4, 0), (2_000, 4, 0)]
    reporter.batch_written(0, metrics_rows({}), {})
    assert report_and_read(7) == (0, 7, 2_000), "the next batch has begun"
    assert report_and_read(7) == (1_000, 7, 2_000)
    reporter.batch_written(1, metrics_rows({}), {})
    assert report_and_read(None) == (None, 0, 2_000)
    for batch in range(2, 2 + module._RECENT):
        assert report_and_read(1)[0] == 0
        reporter.batch_written(batch, metrics_rows({}), {})
    assert report_and_read(None) == (None, 0, 0), "the long batches are no longer recent"


def test_before_a_tick_is_complete_there_is_no_frontier(layout: Layout, clock: Clock) -> None:
    reporter = StatusReporter(layout)
    nulls = dict.fromkeys(("t_max", "frontier", "committed", "newest_tick", "complete_tick", "coverage"))
    assert reporter.batch_written(0, metrics_rows(nulls, nulls | {"task": 1}), {}) == Progress(
        0, EARLIEST_MS, False, None, None, (9_100, None), 9_050
    )
    reporter.report("drained")
    status = Status.read(layout)
    assert (status.t_max, status.frontier, status.committed, status.coverage) == (None, None, None, None)
    assert (status.batches, status.k_ms, status.committed_at_ms) == (1, 300, 1_000_000)


@pytest.mark.parametrize("time", [-62_135_596_800_000, 0, 253_402_300_799_999])  # the years 1, 1970 and 9999
def test_any_time_that_a_tuple_can_have_is_reported(layout: Layout, clock: Clock, time: int) -> None:
    reporter = StatusReporter(layout)
    progress = reporter.batch_written(0, metrics_rows({"t_max": time, "frontier": time, "committed": time}), {})
    assert progress == Progress(time, time, False, 91, 90, (9_100, None), 9_050)
    reporter.report("drained")
    status = Status.read(layout)
    assert (status.t_max, status.frontier, status.committed) == (time, time, time)
