"""A run of a stream: transient failures of its source or a batch are reported and retried, permanent ones end it."""

from __future__ import annotations

import errno
import json
from dataclasses import dataclass, field, replace
from threading import Event

import pyarrow as pa
import pytest

from kit.runs.planner_driver import LIVE, METRICS, STREAM, Driver, Log, rows_read, segments
from kit.suite.waiting import PATIENCE_S
from tailrace.delivery.answer_topic import TopicAway
from tailrace.delivery.places import Place
from tailrace.engine.chunk_stores import LostChunk
from tailrace.ground import interruptions
from tailrace.ground.errors import Busy, Damaged, Problem, SourceChanged, Unfit, refuse
from tailrace.ground.retries import Retries
from tailrace.storage import status as status_module
from tailrace.storage.journal import Journal
from tailrace.storage.layout import Layout
from tailrace.storage.status import Status
from tailrace.stream import delivery as delivery_module
from tailrace.stream import retrying
from tailrace.stream import run as module
from tailrace.stream.delivery import Delivery
from tailrace.stream.run import StreamRun
from tailrace.stream.run_options import RunOptions
from tailrace.stream.status_reporter import StatusReporter

BUFFER_FULL = (
    "buffer of reports: it lacked answers for more than 3 s: the stream takes nothing in until that is less than half "
    "of it (answers.buffer)"
)
GONE = refuse("/in", "there is no such file or directory", "a directory of files")
FULL = OSError(errno.ENOSPC, "No space left on device")


class ManualClock:
    """A manual clock, in seconds, which a sleep advances; after so many sleeps a drain is requested."""

    def __init__(self) -> None:
        self.now_s, self.sleeps, self.layout = 0.0, 300, None

    def monotonic(self) -> float:
        return self.now_s

    def sleep(self, seconds: float) -> None:
        self.now_s += seconds
        self.sleeps -= 1
        if self.sleeps < 0:
            self.layout.request_drain()


class FailingLog(Log):
    """A feed that raises at some polls, given by their number."""

    def __init__(self, failures: dict[int, Exception]) -> None:
        super().__init__(*segments())
        self.failures, self.looks = failures, 0

    def fresh(self):
        self.looks += 1
        if self.looks in self.failures:
            raise self.failures[self.looks]
        return super().fresh()


@dataclass
class Engine:
    """An executor and a sink; a drain is requested when all is read. `failures` are raised one after the other."""

    layout: Layout
    failures: list[BaseException] = field(default_factory=list)
    calls: list[tuple[int, int]] = field(default_factory=list)
    answer_topic: object | None = None

    def run(self, header, mine, before):
        self.calls.append((header.batch, before))
        if self.failures:
            raise self.failures.pop(0)
        return {"metrics": pa.Table.from_pylist([METRICS])}

    def cancel(self) -> None:
        self.calls.append("cancel")

    def write(self, rows, batch):
        if len(rows_read(self.layout.journal)) == sum(segment.rows for segment in segments()):
            self.layout.request_drain()
        return rows


@pytest.fixture
def clock(monkeypatch) -> ManualClock:
    manual_clock = ManualClock()
    monkeypatch.setattr(module, "POLL_S", 1.0)
    monkeypatch.setattr(module, "time", manual_clock)
    monkeypatch.setattr("tailrace.stream.status_reporter.time", manual_clock)
    return manual_clock


def run_over(directory, clock: ManualClock, log: Log, plan: RunOptions = LIVE, *failures: BaseException) -> StreamRun:
    layout = Layout(directory / "query")
    layout.journal.mkdir(parents=True)
    driver = Driver(layout.journal, Log(), plan)
    driver.planner.feeds = {STREAM: log}
    driver.planner.now = lambda: (setattr(driver, "time", driver.time + 1_000), driver.time)[1]
    driver.planner.silence = replace(driver.planner.silence, idle_ms=1 << 40)
    clock.layout, engine = layout, Engine(layout, list(failures))
    run = StreamRun(layout, driver.planner, StatusReporter(layout), engine, engine, 0)
    run.batch_retries, run.source_retries = Retries(clock.monotonic), Retries(clock.monotonic)
    return run


@pytest.mark.parametrize(
    "failure", [GONE, FULL, PermissionError(13, "Permission denied")], ids=lambda e: type(e).__name__
)
def test_a_problem_of_a_live_source_is_reported_and_retried_with_growing_pauses(tmp_path, clock, capfd, failure):
    log = FailingLog(dict.fromkeys(range(1, 5), failure))
    run = run_over(tmp_path, clock, log)
    problems = []
    original = run.reporter.report_problem

    def record_and_report(part, problem):
        if problem != (problems or [(None, None)])[-1][1]:
            problems.append((clock.now_s, problem))
        original(part, problem)

    run.reporter.report_problem = record_and_report
    run.run()
    assert len(rows_read(run.layout.journal)) == 14
    first_s, recovery_s = problems[0][0], problems[1][0]
    assert str(failure) in problems[0][1]
    assert problems[1][1] is None
    assert recovery_s - first_s >= 1 + 2 + 4 + 8 - 1, "pauses grow"
    assert "works again" in capfd.readouterr().err


@pytest.mark.parametrize("comes_back", [False, True])
def test_a_stream_goes_on_up_to_its_buffer_and_waits_for_a_place_that_hangs(tmp_path, clock, monkeypatch, comes_back):
    monkeypatch.setattr(delivery_module, "time", clock)
    run, answers_go_out, reports = run_over(tmp_path, clock, Log(*segments())), Event(), []
    place = Place("reports", lambda wait_s: answers_go_out.wait(PATIENCE_S))
    run.deliveries = [Delivery(place, run.reporter, buffer_s=3.0)]
    run.on_batch = lambda *batch: clock.sleep(4.0)
    report = run.reporter.report

    def report_and_let_go(state, *rows):
        report(state, *rows)
        reports.append((state, len(rows_read(run.layout.journal)), Status.read(run.layout).problem))
        if state == "held" and comes_back:
            answers_go_out.set()
            running = run.deliveries[0]._running
            assert running is None or running.wait(PATIENCE_S)

    run.reporter.report = report_and_let_go
    run.run_batches()
    answers_go_out.set()
    held = [(rows, problem) for state, rows, problem in reports if state == "held"]
    assert held[0] == (6, BUFFER_FULL)
    assert len(rows_read(run.layout.journal)) == (14 if comes_back else 6)
    assert (reports[-1][-1] is None) == comes_back


def test_a_problem_of_the_source_is_in_the_status(tmp_path, clock):
    run = run_over(tmp_path, clock, FailingLog(dict.fromkeys(range(1, 1000), GONE)))
    clock.sleeps = 40
    run.run()
    status = Status.read(run.layout)
    assert status.problem == f"source: {GONE}"
    assert status.state == "waiting"


@pytest.mark.parametrize("failed", [range(1, 1000), range(1, 6)], ids=["stays", "is put right"])
def test_a_source_that_is_not_fit_may_be_put_right_for_a_while_and_then_ends_the_run(tmp_path, clock, failed):
    unfit = Unfit([Problem("/in/a: column value", "its type is string", "a number")])
    run = run_over(tmp_path, clock, FailingLog(dict.fromkeys(failed, unfit)))
    if len(failed) < 10:
        run.run()
        assert len(rows_read(run.layout.journal)) == 14
        return
    with pytest.raises(Unfit, match="its type is string"):
        run.run()
    assert retrying.UNFIT_S <= clock.now_s < 3 * retrying.UNFIT_S
    assert "its type is string" in Status.read(run.layout).problem
    assert Status.read(run.layout).gives_up_ms is not None


def test_while_a_source_is_not_fit_the_status_has_the_time_at_which_the_driver_ends(tmp_path, clock):
    unfit = Unfit([Problem("/in/a: column value", "its type is string", "a number")])
    run = run_over(tmp_path, clock, FailingLog(dict.fromkeys(range(1, 4), unfit) | {4: GONE}))
    original, ends = run.reporter.report_problem, {}

    def record_and_report(part, problem, *end):
        original(part, problem, *end)
        ends[problem] = run.reporter._status.gives_up_ms
        assert end in [(), (retrying.UNFIT_S - run.source_retries.failing_s,)]

    run.reporter.report_problem = record_and_report
    run.run()
    assert ends[str(unfit)] is not None
    assert (ends[str(GONE)], ends[None]) == (None, None), "another problem, and none, end no driver"


def test_a_full_disk_neither_loses_nor_repeats_a_segment(tmp_path, clock, monkeypatch):
    append, calls = Journal.append, []

    def append_every_third_time(journal, record):
        calls.append(record.header.batch)
        if len(calls) % 3:
            raise FULL
        append(journal, record)

    monkeypatch.setattr(Journal, "append", append_every_third_time)
    run = run_over(tmp_path, clock, Log(*segments()), LIVE)
    run.run()
    rows = rows_read(run.layout.journal)
    assert len(rows) == len(set(rows)) == 14
    assert len(calls) > 3


def test_a_change_of_rows_already_read_ends_the_stream(tmp_path, clock):
    run = run_over(tmp_path, clock, FailingLog({2: SourceChanged(GONE.problems)}))
    with pytest.raises(SourceChanged):
        run.run()


def test_an_entry_of_another_driver_ends_this_one(tmp_path, clock):
    run = run_over(tmp_path, clock, Log(*segments()))
    Driver(run.layout.journal, Log(*segments()), LIVE).plan()
    with pytest.raises(Busy, match="another driver has planned batch 0 meanwhile"):
        run.run()


def test_a_batch_that_another_driver_has_written_ends_this_one(tmp_path, clock):
    taken_over = Busy([Problem("q", "it was taken over", "none")])
    with pytest.raises(Busy, match="taken over"):
        run_over(tmp_path, clock, Log(*segments()), LIVE, taken_over).run()


def test_an_entry_whose_writing_was_not_confirmed_is_confirmed_later(tmp_path, clock, monkeypatch):
    append = Journal.append

    def lose_the_reply(journal, entry):
        append(journal, entry)
        monkeypatch.setattr(Journal, "append", append)
        raise OSError(errno.EIO, "the store is away")

    monkeypatch.setattr(Journal, "append", lose_the_reply)
    run = run_over(tmp_path, clock, Log(*segments()))
    run.run()
    assert len(rows_read(run.layout.journal)) == run.planner.writer.last.position.rows == 14


def test_a_batch_that_fails_for_now_is_run_again_from_the_same_states(tmp_path, clock):
    run = run_over(tmp_path, clock, Log(*segments()), LIVE, FULL, FULL)
    run.run()
    numbers = [batch for batch, _ in run.executor.calls]
    assert numbers == [0, 0, 0, *range(1, run.planner.batches)]
    assert all(before == batch - 1 for batch, before in run.executor.calls)
    assert clock.now_s >= 1 + 2
    assert run.done == run.planner.batches


def test_a_topic_that_takes_no_answers_is_away_until_it_has_taken_a_batch(tmp_path, clock):
    """Also after a restart, before the batch has failed again."""
    run = run_over(tmp_path, clock, Log(*segments()), LIVE, FULL, *[TopicAway("Kafka at b:1: no answer")] * 10_000)
    clock.sleeps = 10
    run.run()
    status = Status.read(run.layout)
    assert list(status.away) == ["stream"]
    assert status.away_problems(0) == ["stream: Kafka at b:1: no answer; it is tried again"]
    run.layout.drain.unlink()
    run.executor.failures, run.executor.answer_topic = [], object()
    run.reporter, run.batch_retries, clock.sleeps = StatusReporter(run.layout), Retries(clock.monotonic), 100
    execute, away = run.executor.run, []

    def execute_and_look(*batch):
        away.append([*run.reporter._status.away])
        return execute(*batch)

    run.executor.run = execute_and_look
    run.run()
    assert away == [["stream"], *[[]] * (run.planner.batches - 1)]
    assert run.planner.batches > 1


def test_a_topic_is_not_away_while_a_batch_fails_for_another_reason(tmp_path, clock):
    failures = [TopicAway("Kafka at b:1: no answer"), *[OSError(errno.ENOSPC, "No space left on device")] * 10_000]
    run = run_over(tmp_path, clock, Log(*segments()), LIVE, FULL, *failures)
    clock.sleeps = 10
    run.run()
    status = Status.read(run.layout)
    assert (status.away_problems(0), status.away) == ([], {})
    assert "No space left" in status.problem


def test_a_warehouse_that_is_away_at_the_start_is_waited_for(tmp_path, clock, monkeypatch):
    outcomes = [FULL, FULL, RuntimeError("enough")]
    monkeypatch.setattr(module, "read_progress", lambda layout: (_ for _ in ()).throw(outcomes.pop(0)))
    run = run_over(tmp_path, clock, Log())
    with pytest.raises(RuntimeError, match="the stream failed: enough"):
        run.run()
    assert "No space left" in Status.read(run.layout).problem


LOST = RuntimeError("Python worker exited unexpectedly (crashed)")


@pytest.mark.parametrize(
    ("failure", "live", "limit"), [(FULL, True, 40), (LOST, False, 5), (LOST, True, 5)], ids=["disk", "run", "live"]
)
def test_a_failure_is_retried_up_to_its_limit(tmp_path, clock, failure, live, limit):
    clock.sleeps = 10_000
    plan = LIVE if live else RunOptions(4)
    run = run_over(tmp_path, clock, Log(*segments()), plan, *([failure] * limit))
    run.run()
    assert run.done == run.planner.batches > 0
    assert not run.executor.failures
    if failure is LOST:
        (tmp_path / "more").mkdir()
        with pytest.raises(RuntimeError, match=r"^the stream failed: a Python process of Spark's was lost$"):
            run_over(tmp_path / "more", clock, Log(*segments()), plan, *([failure] * (limit + 1))).run()


def test_a_lost_process_after_a_long_outage_is_retried(tmp_path, clock):
    """Only failures of processes count towards their limit."""
    clock.sleeps = 10_000
    run = run_over(tmp_path, clock, Log(*segments()), LIVE, *([FULL] * 40), *([LOST] * 5), FULL, *([LOST] * 5))
    run.run()
    assert run.done == run.planner.batches > 0


@pytest.mark.parametrize(
    ("failure", "live", "reason"),
    [
        (FULL, False, r"\[Errno 28\] No space left on device"),
        (RuntimeError("why"), True, "why"),
        (RuntimeError("why"), False, "why"),
    ],
    ids=["disk", "live", "run"],
)
def test_a_failure_that_is_not_transient_ends_the_stream(tmp_path, clock, failure, live, reason):
    run = run_over(tmp_path, clock, Log(*segments()), LIVE if live else RunOptions(4), failure)
    with pytest.raises(RuntimeError, match=rf"^the stream failed: {reason}$"):
        run.run()
    assert run.done == 0


def test_a_state_that_is_lost_is_refused_with_the_repair(tmp_path, clock):
    run = run_over(tmp_path, clock, Log(*segments()), LIVE, LostChunk("why"))
    with pytest.raises(Damaged, match=f"why\n.*mv {run.layout.checkpoint} "):
        run.run()


def test_a_failed_batch_is_retried_until_a_drain_is_requested(tmp_path, clock):
    run = run_over(tmp_path, clock, Log(*segments()), LIVE, *([FULL] * 10_000))
    clock.sleeps = 10
    run.run()
    assert run.done == 0
    assert "No space left" in Status.read(run.layout).problem


def of_batch(directory, clock):
    return run_over(directory, clock, Log(*segments()), LIVE, *([FULL] * 10_000))


def of_source(directory, clock):
    return run_over(directory, clock, FailingLog(dict.fromkeys(range(1, 10_000), FULL)))


@pytest.mark.parametrize("failing", [of_batch, of_source])
def test_an_interruption_that_became_another_error_is_not_retried(tmp_path, clock, failing):
    """deltalake and PyArrow make an error of their own of a KeyboardInterrupt that Python raises within them."""
    run = failing(tmp_path, clock)
    interruptions.note_interruption()
    try:
        with pytest.raises(KeyboardInterrupt):
            run.run()
        assert clock.now_s < 2
    finally:
        interruptions.forget_interruptions()
    run.reporter.layout.request_drain()
    run.run()


def test_a_batch_whose_status_cannot_be_written_is_not_run_twice_at_once(tmp_path, clock, monkeypatch):
    run, goes_on = run_over(tmp_path, clock, Log(*segments())), Event()
    execute, report, failed = run.executor.run, run.reporter.report, []

    def wait_for_it(*batch):
        goes_on.wait(PATIENCE_S)
        return execute(*batch)

    def fail_once(state, *more):
        if state == "streaming" and run.running is not None and not failed:
            failed.append(state)
            raise FULL
        if failed:
            goes_on.set()
        report(state, *more)

    monkeypatch.setattr(module, "POLL_S", 0.01)
    monkeypatch.setattr(run.executor, "run", wait_for_it)
    monkeypatch.setattr(run.reporter, "report", fail_once)
    run.run()
    assert failed
    assert [batch for batch, _ in run.executor.calls] == list(range(run.planner.batches))


@pytest.mark.parametrize(("error", "plan"), [(KeyboardInterrupt(), LIVE), (FULL, RunOptions(4))], ids=["^C", "disk"])
def test_a_run_that_ends_cancels_its_batch_and_waits_for_it(tmp_path, clock, monkeypatch, error, plan):
    """Nothing is written once another driver may start."""
    run, ended = run_over(tmp_path, clock, Log(*segments()), plan), Event()

    def until_cancelled(*batch):
        while "cancel" not in run.executor.calls:
            ended.wait(0.01)
        ended.set()
        raise RuntimeError("cancelled")

    def interrupt(state, *more):
        if run.running is not None:
            raise error

    monkeypatch.setattr(module, "POLL_S", 0.01)
    monkeypatch.setattr(run.executor, "run", until_cancelled)
    monkeypatch.setattr(run.reporter, "report", interrupt)
    with pytest.raises((KeyboardInterrupt, RuntimeError)):
        run.run()
    assert ended.is_set()


def test_a_batch_that_hangs_is_left_behind_once_a_drain_is_overdue(tmp_path, clock, monkeypatch):
    run, released = run_over(tmp_path, clock, Log(*segments())), Event()
    monkeypatch.setattr(module, "POLL_S", 0.01)
    monkeypatch.setattr(run.executor, "run", lambda *batch: released.wait(PATIENCE_S))
    monkeypatch.setattr(type(run.reporter), "is_overdue", True)
    run.run()
    released.set()
    assert run.done == 0


def test_the_status_is_overwritten_in_place_on_a_full_disk(tmp_path, monkeypatch):
    layout = Layout(tmp_path)
    layout.stream.mkdir()
    first_status = Status("starting", 7, 1, 1, 0, problem="a long problem " * 9)
    first_status.write(layout)

    def fail(*_):
        raise FULL

    monkeypatch.setattr(status_module, "write_atomically", fail)
    Status("waiting", 7, 1, 2, 0).write(layout)
    assert Status.read(layout) == Status("waiting", 7, 1, 2, 0)
    assert json.loads(layout.status.read_text())["at_ms"] == 2
    layout.status.unlink()
    Status("waiting", 7, 1, 3, 0).write(layout)  # no file to overwrite: nothing is written or raised
    assert Status.read(layout) is None


def test_a_status_that_is_longer_than_the_last_one_fits_too_on_a_full_disk(tmp_path, monkeypatch):
    layout = Layout(tmp_path)
    layout.stream.mkdir()
    Status("waiting", 7, 1, 1, 0).write(layout)
    monkeypatch.setattr(status_module, "write_atomically", lambda *_: (_ for _ in ()).throw(FULL))
    longer = Status("waiting", 7, 1, 2, 0, rows_left=1_000_000, problem=f"disk or network: {FULL}")
    longer.write(layout)
    assert Status.read(layout) == longer
