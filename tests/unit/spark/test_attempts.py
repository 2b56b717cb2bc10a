"""`Attempts` without Spark: transient failures are reported and retried, and permanent ones end the stream."""

from __future__ import annotations

import errno
import json
from dataclasses import dataclass, replace
from types import SimpleNamespace

import pyarrow as pa
import pytest
from tailrace.spark.attempts import Attempts

from planner_driver import LIVE, STREAM, Driver, Log, rows_read, segments
from tailrace.ground.errors import Busy, Damaged, Problem, SourceChanged, Unfit, refuse
from tailrace.ground.retries import Retries
from tailrace.spark import attempts as module
from tailrace.storage import status as status_module
from tailrace.storage.journal import Journal
from tailrace.storage.layout import Layout
from tailrace.storage.status import Status
from tailrace.stream.failures import Failure
from tailrace.stream.run_options import RunOptions
from tailrace.stream.status_reporter import StatusReporter

METRICS = {"rows": 1, "partials": 1, "answers": 1, "repeats": 0, "late": 0, "k_ms": 0, "coverage": 1.0}
METRICS |= dict.fromkeys(("committed", "frontier", "t_max", "newest_tick", "complete_tick"), 5)
METRICS |= {"flushed": False, "reached": [5], "newest_event": 5, "imbalance": None, "loads": None, "counts": None}
GONE = refuse("/in", "there is no such file or directory", "a directory of files")
FULL = OSError(errno.ENOSPC, "No space left on device")


class ManualClock:
    """A manual clock, in seconds; `Stream` advances it by a second per poll."""

    def __init__(self) -> None:
        self.now_s = 0.0

    def monotonic(self) -> float:
        return self.now_s

    def sleep(self, seconds: float) -> None:
        self.now_s += seconds


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
class Stream:
    """A fake of Spark's query: each poll writes the next planned batch, and a drain is requested when all is read."""

    attempts: Attempts
    clock: ManualClock
    looks: int = 300
    look_s: float = 1.0

    @property
    def isActive(self) -> bool:
        self.clock.now_s += self.look_s
        self.looks -= 1
        layout, next_batch = self.attempts.layout, len(list((self.attempts.layout.checkpoint / "commits").iterdir()))
        if next_batch in Journal(layout.journal):
            (layout.checkpoint / "commits" / str(next_batch)).touch()
            self.attempts.written_batches.put((next_batch, {"metrics": pa.Table.from_pylist([METRICS])}))
        if len(rows_read(layout.journal)) == sum(segment.rows for segment in segments()) or self.looks < 0:
            layout.request_drain()
        return True


@pytest.fixture
def clock(monkeypatch) -> ManualClock:
    manual_clock = ManualClock()
    monkeypatch.setattr(module, "POLL_S", 0)
    monkeypatch.setattr("tailrace.stream.status_reporter.time", manual_clock)
    monkeypatch.setattr(module, "Retries", lambda: Retries(manual_clock.monotonic))
    return manual_clock


def attempts_over(directory, log: Log, plan: RunOptions = LIVE) -> Attempts:
    layout = Layout(directory / "query")
    layout.journal.mkdir(parents=True)
    (layout.checkpoint / "commits").mkdir(parents=True)
    driver = Driver(layout.journal, Log(), plan)
    driver.planner.feeds = {STREAM: log}
    driver.planner.now = lambda: (setattr(driver, "time", driver.time + 1_000), driver.time)[1]
    driver.planner.silence = replace(driver.planner.silence, idle_ms=1 << 40)
    return Attempts(layout, None, driver.planner, StatusReporter(layout), None, None)


@pytest.mark.parametrize(
    "failure", [GONE, FULL, PermissionError(13, "Permission denied")], ids=lambda e: type(e).__name__
)
def test_a_problem_of_a_live_source_is_reported_and_retried_with_growing_pauses(tmp_path, clock, capfd, failure):
    log = FailingLog(dict.fromkeys(range(1, 5), failure))
    attempts = attempts_over(tmp_path, log)
    problems = []
    original = attempts.reporter.report_problem

    def record_and_report(part, problem):
        if problem != (problems or [(None, None)])[-1][1]:
            problems.append((clock.now_s, problem))
        original(part, problem)

    attempts.reporter.report_problem = record_and_report
    assert attempts.run_batches(Stream(attempts, clock), 0)
    assert len(rows_read(attempts.layout.journal)) == 14
    first_s, recovery_s = problems[0][0], problems[1][0]
    assert str(failure) in problems[0][1]
    assert problems[1][1] is None
    assert recovery_s - first_s >= 1 + 2 + 4 + 8 - 1, "pauses grow"
    assert "works again" in capfd.readouterr().err


def test_a_problem_of_the_source_is_in_the_status(tmp_path, clock):
    attempts = attempts_over(tmp_path, FailingLog(dict.fromkeys(range(1, 1000), GONE)))
    assert attempts.run_batches(Stream(attempts, clock, looks=40), 0)
    status = Status.read(attempts.layout)
    assert status.problem == f"source: {GONE}"
    assert status.state == "waiting"


@pytest.mark.parametrize("failed", [range(1, 1000), range(1, 6)], ids=["stays", "is put right"])
def test_a_source_that_is_not_fit_may_be_put_right_for_a_while_and_then_ends_the_run(tmp_path, clock, failed):
    unfit = Unfit([Problem("/in/a: column value", "its type is string", "a number")])
    attempts = attempts_over(tmp_path, FailingLog(dict.fromkeys(failed, unfit)))
    if len(failed) < 10:
        assert attempts.run_batches(Stream(attempts, clock), 0)
        assert len(rows_read(attempts.layout.journal)) == 14
        return
    with pytest.raises(Unfit, match="its type is string"):
        attempts.run_batches(Stream(attempts, clock), 0)
    assert module.UNFIT_S <= clock.now_s < 3 * module.UNFIT_S
    assert "its type is string" in Status.read(attempts.layout).problem


def test_a_full_disk_neither_loses_nor_repeats_a_segment(tmp_path, clock, monkeypatch):
    append, calls = Journal.append, []

    def append_every_third_time(journal, record):
        calls.append(record.header.batch)
        if len(calls) % 3:
            raise FULL
        append(journal, record)

    monkeypatch.setattr(Journal, "append", append_every_third_time)
    attempts = attempts_over(tmp_path, Log(*segments()), LIVE)
    assert attempts.run_batches(Stream(attempts, clock), 0)
    rows = rows_read(attempts.layout.journal)
    assert len(rows) == len(set(rows)) == 14
    assert len(calls) > 3


def test_a_change_of_rows_already_read_ends_the_stream(tmp_path, clock):
    attempts = attempts_over(tmp_path, FailingLog({2: SourceChanged(GONE.problems)}))
    with pytest.raises(SourceChanged):
        attempts.run_batches(Stream(attempts, clock), 0)


def test_an_entry_of_another_driver_ends_this_one(tmp_path, clock):
    attempts = attempts_over(tmp_path, Log(*segments()))
    Driver(attempts.layout.journal, Log(*segments()), LIVE).plan()
    with pytest.raises(Busy, match="another driver has planned batch 0 meanwhile"):
        attempts.run_batches(Stream(attempts, clock), 0)
    with pytest.raises(Busy, match="taken over"):
        attempts.raise_unless_retryable(Failure("failed", "why"), 1, Busy([Problem("q", "it was taken over", "none")]))


def test_an_entry_that_spark_has_run_before_it_was_confirmed_is_confirmed_later(tmp_path, clock, monkeypatch):
    append = Journal.append

    def lose_the_reply(journal, entry):
        append(journal, entry)
        monkeypatch.setattr(Journal, "append", append)
        raise OSError(errno.EIO, "the store is away")

    monkeypatch.setattr(Journal, "append", lose_the_reply)
    attempts = attempts_over(tmp_path, Log(*segments()))
    assert attempts.run_batches(Stream(attempts, clock, look_s=0.1), 0), (
        "a batch takes less than the pause before a try"
    )
    assert len(rows_read(attempts.layout.journal)) == attempts.planner.writer.last.position.rows == 14


def test_an_entry_that_could_not_be_copied_for_spark_fails_the_attempt(tmp_path, clock, monkeypatch):
    attempts = attempts_over(tmp_path, Log(*segments()))
    attempts.entries = Journal(tmp_path / "full disk")  # there is no such directory
    with pytest.raises(OSError, match="full disk"):
        attempts.run_batches(Stream(attempts, clock), 0)
    assert attempts.planner.batches == 1, "the next attempt copies what is planned"


def test_a_warehouse_that_is_away_at_the_start_of_an_attempt_fails_that_one_only(tmp_path, clock, monkeypatch):
    attempts = attempts_over(tmp_path, Log())
    monkeypatch.setattr(module, "time", SimpleNamespace(sleep=lambda _: clock.sleep(0.5)))
    outcomes = iter([FULL, FULL, RuntimeError("enough")])

    def away(layout):
        raise next(outcomes)

    monkeypatch.setattr(module, "committed_batches", away)
    attempts.stage = type("Stage", (), {"tasks": 1})
    with pytest.raises(RuntimeError, match="the stream failed: enough"):
        attempts.run(None)
    assert "No space left" in Status.read(attempts.layout).problem


@pytest.mark.parametrize(
    ("kind", "live", "limit"), [("transient", True, 1000), ("process", False, 5), ("process", True, 5)]
)
def test_a_failure_is_retried_up_to_its_limit(tmp_path, clock, kind, live, limit):
    attempts = attempts_over(tmp_path, Log(), LIVE if live else RunOptions(4))
    failure = Failure(kind, "why")
    attempts.raise_unless_retryable(failure, limit, OSError())
    if kind == "process":
        with pytest.raises(RuntimeError, match=r"^the stream failed: why$"):
            attempts.raise_unless_retryable(failure, limit + 1, OSError())


@pytest.mark.parametrize(("kind", "live"), [("transient", False), ("failed", True), ("failed", False)])
def test_a_failure_that_is_not_transient_ends_the_stream(tmp_path, clock, kind, live):
    attempts = attempts_over(tmp_path, Log(), LIVE if live else RunOptions(4))
    with pytest.raises(RuntimeError, match=r"^the stream failed: why$"):
        attempts.raise_unless_retryable(Failure(kind, "why"), 1, OSError())


def test_a_checkpoint_that_spark_cannot_read_is_refused_with_the_repair(tmp_path, clock):
    attempts = attempts_over(tmp_path, Log())
    with pytest.raises(Damaged, match=f"why\n.*mv {attempts.layout.checkpoint} "):
        attempts.raise_unless_retryable(Failure("checkpoint", "why"), 1, OSError())


def test_a_failed_attempt_is_retried_until_a_drain_is_requested(tmp_path, clock, monkeypatch):
    attempts = attempts_over(tmp_path, Log())
    outcomes = [FULL, FULL, None, FULL]
    monkeypatch.setattr(module, "time", SimpleNamespace(sleep=lambda _: clock.sleep(0.5)))
    monkeypatch.setattr(Attempts, "attempt", lambda self, spark, keys: outcomes.pop(0))
    attempts.stage = type("Stage", (), {"tasks": 1})
    attempts.run(None)
    assert outcomes == [FULL]
    assert clock.now_s >= 1 + 2
    attempts.layout.request_drain()
    attempts.run(None)  # fails, and is not retried since a drain is requested
    assert not outcomes
    assert "No space left" in Status.read(attempts.layout).problem


def test_an_interruption_silences_sparks_log_before_the_stream_is_stopped(tmp_path, clock, monkeypatch):
    """Each of its threads would log a trace of how it is interrupted."""
    calls = []
    stream = SimpleNamespace(stop=lambda: calls.append("stop"))
    spark = SimpleNamespace(sparkContext=SimpleNamespace(setLogLevel=calls.append))

    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr(module, "committed_batches", lambda layout: 0)
    monkeypatch.setattr(Attempts, "output", lambda *_: SimpleNamespace(start=lambda: stream))
    monkeypatch.setattr(Attempts, "run_batches", interrupted)
    with pytest.raises(KeyboardInterrupt):
        attempts_over(tmp_path, Log()).attempt(spark, [])
    assert calls == ["OFF", "stop"]


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
