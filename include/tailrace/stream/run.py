"""The loop of a stream, which plans a batch, executes it, writes it, notes it as written, and reports it."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, Protocol

import pyarrow as pa

from tailrace.delivery.answer_topic import TopicAway
from tailrace.engine.executor import Executor
from tailrace.engine.progress import Progress
from tailrace.ground.background import Background
from tailrace.ground.errors import Damaged, Problem, Refused
from tailrace.ground.facts import TASKS, newest
from tailrace.ground.interruptions import raise_if_interrupted
from tailrace.ground.retries import Retries
from tailrace.storage.journal import BatchRecord, Journal
from tailrace.storage.layout import Layout
from tailrace.storage.progress import read_progress
from tailrace.storage.tables import Tables
from tailrace.storage.written_batches import repair
from tailrace.stream.delivery import Delivery
from tailrace.stream.failures import Failure
from tailrace.stream.retrying import POLL_S, retried
from tailrace.stream.run_options import RunOptions
from tailrace.stream.sink import Sink
from tailrace.stream.status_reporter import AWAITED, StatusReporter
from tailrace.tables.every import in_ms


class Planner(Protocol):
    """Protocol of a planner of batches."""

    @property
    def journal(self) -> Journal:
        """The journal of the batches."""

    @property
    def options(self) -> RunOptions:
        """The options of the run."""

    @property
    def batches(self) -> int:
        """The number of planned batches."""

    @property
    def rows_left(self) -> int:
        """The number of known rows that are still unread."""

    @property
    def state(self) -> Literal["streaming", "waiting", "quiet"]:
        """The activity of a stream between batches."""

    @property
    def wait_s(self) -> float:
        """The time to wait before the next call of `plan_batch`, after one that has planned nothing."""

    @property
    def problem(self) -> str | None:
        """The reasons why nothing more comes for now; None without any."""

    def record(self, entries: int) -> BatchRecord:
        """Return the batch that follows the journal's first `entries`: an entry, or several merged into one."""

    def observe(self, metrics: Sequence[Mapping[str, Any]]) -> None:
        """Observe the newest batch by its rows in `metrics`, times in ms."""

    def plan_batch(self, progress: Progress | None = None, takes_rows: bool = True) -> BatchRecord | None:
        """Write the next entry, with rows if these may be taken; return None when there is nothing to do now."""


OnBatch = Callable[[int, int, dict[str, pa.Table]], None]
"""Callback after each batch: its number, the number of unread rows, and the rows written to each table."""

_STREAM = "stream"  # name under which the status reports problems of its batches
_BUSY_POLL_S = 0.02  # for a bounded run, whose status nobody waits for
_INTERRUPTED_S = 30.0  # for the running batch to end after Ctrl-C


@dataclass
class StreamRun:
    """A run of a stream's batches, from the first uncommitted entry on.

    Attributes
    ----------
    done : int
        The number of committed entries of the journal.
    process_tries : int
        The number of consecutive attempts that may fail because a Python process does not start or is lost; failures
        of other kinds are not counted.
    deliveries : sequence of Delivery
        The deliveries of a live stream, one for each target.
    """

    layout: Layout
    planner: Planner
    reporter: StatusReporter
    sink: Sink
    executor: Executor
    done: int
    on_batch: OnBatch | None = None
    deliveries: Sequence[Delivery] = ()
    process_tries: int = 5
    batch_retries: Retries = field(default_factory=Retries)
    process_failures: int = 0
    source_retries: Retries = field(default_factory=Retries)
    running: Background[dict[str, pa.Table]] | None = None

    def run(self) -> None:
        """Run the stream to its end, or until a drain is requested.

        Raises
        ------
        Busy
            When another driver has taken over.
        Damaged
            When a state is lost or damaged.
        RuntimeError
            When it fails in a way that no retry can solve.
        """
        try:
            self.run_batches()
            for delivery in self.deliveries:
                delivery.finish(self.done)
        except BaseException:
            if self.running is not None:
                self.executor.cancel()
                self.running.wait(_INTERRUPTED_S)  # nothing is written once another driver may start
            raise

    def run_batches(self) -> None:
        """Run one batch after the other; after a failure that may be transient, repeat the failed batch."""
        progress: Progress | None = None
        is_known = False
        if self.sink.answer_topic is not None and self.done < self.planner.batches:
            self.reporter.place_away(_STREAM)  # an earlier driver may have failed to send this batch's answers
        while True:
            try:
                if not is_known:
                    progress, is_known = read_progress(Tables(self.layout)), True
                self.advance_deliveries()
                if self.done < self.planner.batches:
                    record = self.planner.record(self.done)
                    if (rows := self.run_batch(record)) is None:
                        return
                    progress = self.finish(record, rows)
                elif not self.plan_batch(progress):
                    if self.reporter.drain_requested or not self.planner.options.live:
                        return
                    left = self.planner.rows_left
                    is_held = self.is_held and left > 0
                    self.reporter.report("held" if is_held else self.planner.state, left)
                    time.sleep(POLL_S if is_held or not self.source_retries.due else self.planner.wait_s)
            except Refused:
                raise
            except Exception as error:
                raise_if_interrupted()  # an extension may have raised this error for it
                self.require_retryable(error)
                if not self.await_retry():
                    return

    def advance_deliveries(self) -> None:
        """Begin due deliveries, and handle the outcome of finished ones."""
        for delivery in self.deliveries:
            delivery.advance(self.done)

    @property
    def is_held(self) -> bool:
        """Whether a target has lacked answers for so long that the stream takes no rows until it has them."""
        holds = [delivery.holds(self.done) for delivery in self.deliveries]  # each of them reports it
        return any(holds)

    def run_batch(self, record: BatchRecord) -> dict[str, pa.Table] | None:
        """Execute and write a batch; return its rows by table, or None if it hangs and a drain was requested."""

        def execute_and_write() -> dict[str, pa.Table]:
            rows = self.executor.run(record.header, record.segments, self.done - 1)
            return self.sink.write(rows, record.header.batch)

        rows_read = sum(segment.rows for segment in record.segments)
        self.reporter.report("streaming", self.planner.rows_left, rows_read)
        if self.running is None:  # otherwise the status could not be written while it ran
            self.running = Background(execute_and_write, f"batch {record.header.batch}")
        batch = self.running
        while not batch.wait(POLL_S if self.planner.options.live else _BUSY_POLL_S):
            if self.reporter.is_overdue:
                return None
            self.reporter.report("streaming", self.planner.rows_left, rows_read)
            self.advance_deliveries()
        self.running = None
        return batch.result()

    def finish(self, record: BatchRecord, rows: dict[str, pa.Table]) -> Progress:
        """Report a written batch; return the progress of the stream after it."""
        batch = record.header.batch
        self.done = batch + 1
        self.batch_retries.succeed()
        self.process_failures = 0
        self.reporter.report_problem(_STREAM, None)
        self.reporter.place_away(_STREAM, False)
        is_rescaled = newest(record.header.facts, TASKS) is not None
        metrics = in_ms(rows["metrics"], "metrics").to_pylist()
        progress = self.reporter.batch_written(batch, metrics, rows, len(metrics) if is_rescaled else 0)
        self.planner.observe(metrics)
        if self.on_batch is not None:
            self.on_batch(batch, self.planner.rows_left, rows)
        return progress

    def plan_batch(self, progress: Progress | None) -> bool:
        """Plan the next batch if there is input and no retry is pending; return whether one was planned."""
        if self.reporter.drain_requested:
            return False
        if not self.planner.options.live:
            return self.planner.plan_batch(progress) is not None
        planned = False
        if self.source_retries.due:
            with retried(self.source_retries, self.reporter):
                planned = self.planner.plan_batch(progress, takes_rows=not self.is_held) is not None
                self.reporter.report_problem(AWAITED, self.planner.problem)
        return planned

    def require_retryable(self, error: Exception) -> None:
        """Raise the error unless the failure may be transient; report one that may be.

        After a transient failure a live stream retries as long as it takes; a bounded one fails, as somebody waits for
        it. After a process that did not start in time, or was killed, both retry a few times.
        """
        failure = Failure.classify(error)
        self.batch_retries.fail()
        self.process_failures = self.process_failures + 1 if failure.kind == "process" else 0
        if failure.kind == "checkpoint":
            fault = f"the stream can't go on from it: {failure.reason}"
            raise Damaged([Problem(str(self.layout.checkpoint), fault, repair(self.layout))]) from error
        retryable = (failure.kind == "transient" and self.planner.options.live) or (
            failure.kind == "process" and self.process_failures <= self.process_tries
        )
        if not retryable:
            raise RuntimeError(f"the stream failed: {failure.reason}") from error
        self.reporter.report_problem(_STREAM, f"{failure.reason}; it is tried again")
        self.reporter.place_away(_STREAM, isinstance(error, TopicAway))

    def await_retry(self) -> bool:
        """Wait until the next try is due; return False if a drain is requested before."""
        while not self.batch_retries.due:
            if self.reporter.drain_requested:
                return False
            self.reporter.report("waiting", self.planner.rows_left)
            time.sleep(POLL_S)
        return True
