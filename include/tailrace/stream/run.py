"""The loop of a stream: it plans a batch, executes it, writes it, notes it as written, and reports it."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field

import pyarrow as pa

from tailrace.engine.executor import Executor
from tailrace.engine.progress import Progress
from tailrace.ground.background import Background
from tailrace.ground.errors import Damaged, Problem, Refused
from tailrace.ground.retries import Retries
from tailrace.ground.times import in_ms
from tailrace.storage.journal import BatchRecord
from tailrace.storage.layout import Layout
from tailrace.storage.progress import read_progress
from tailrace.storage.written_batches import repair
from tailrace.stream.failures import Failure
from tailrace.stream.planner import Planner
from tailrace.stream.retrying import POLL_S, retried
from tailrace.stream.sink import Sink
from tailrace.stream.status_reporter import AWAITED, StatusReporter

OnBatch = Callable[[int, int, dict[str, pa.Table]], None]
"""Callback after each batch: its number, the number of rows still to be read, and the rows written to each table."""

_STREAM = "stream"  # name under which the status reports problems of its batches
_BUSY_POLL_S = 0.02  # of a bounded run, for whose status nobody waits
_INTERRUPTED_S = 30.0  # for the running batch to end after Ctrl-C


@dataclass
class StreamRun:
    """A run of a stream's batches, from the first entry that is not committed.

    Attributes
    ----------
    done : int
        The number of the journal's entries that are committed.
    process_tries : int
        The number of consecutive attempts in which a Python process may not start, or be lost.
    """

    layout: Layout
    planner: Planner
    reporter: StatusReporter
    sink: Sink
    executor: Executor
    done: int
    on_batch: OnBatch | None = None
    process_tries: int = 5
    batch_retries: Retries = field(default_factory=Retries)
    source_retries: Retries = field(default_factory=Retries)
    running: Background[dict[str, pa.Table]] | None = None

    def run(self) -> None:
        """Run the stream to its end, or until it is asked to drain.

        Raises
        ------
        Busy
            When another driver has taken over.
        Damaged
            When a state is lost or damaged.
        RuntimeError
            When it fails in a way that no further attempt can help.
        """
        try:
            self.run_batches()
        except BaseException:
            if self.running is not None:
                self.executor.cancel()
                self.running.wait(_INTERRUPTED_S)  # nothing is written once another driver may start
            raise

    def run_batches(self) -> None:
        """Run one batch after the other; after a failure that may be transient, go on with the batch that failed."""
        progress: Progress | None = None
        is_known = False
        while True:
            try:
                if not is_known:
                    progress, is_known = read_progress(self.layout), True
                if self.done < self.planner.batches:
                    record = self.planner.record(self.done)
                    if (rows := self.run_batch(record)) is None:
                        return
                    progress = self.finish(record, rows)
                elif not self.plan_batch(progress):
                    if self.reporter.drain_requested or not self.planner.options.live:
                        return
                    self.reporter.report(self.planner.state, self.planner.rows_left)
                    time.sleep(self.planner.wait_s if self.source_retries.due else POLL_S)
            except Refused:
                raise
            except Exception as error:
                self.require_retryable(error)
                if not self.await_retry():
                    return

    def run_batch(self, record: BatchRecord) -> dict[str, pa.Table] | None:
        """Execute and write a batch; returns its rows by table, or None where it hangs and a drain was requested."""

        def execute_and_write() -> dict[str, pa.Table]:
            rows = self.executor.run(record.header, record.segments, self.done - 1)
            return self.sink.write(rows, record.header.batch)

        rows_read = sum(segment.rows for segment in record.segments)
        self.reporter.report("streaming", self.planner.rows_left, rows_read)
        if self.running is None:  # else the status could not be written while it ran
            self.running = Background(execute_and_write, f"batch {record.header.batch}")
        batch = self.running
        while not batch.wait(POLL_S if self.planner.options.live else _BUSY_POLL_S):
            if self.reporter.is_overdue:
                return None
            self.reporter.report("streaming", self.planner.rows_left, rows_read)
        self.running = None
        return batch.result()

    def finish(self, record: BatchRecord, rows: dict[str, pa.Table]) -> Progress:
        """Report a batch that was written; returns the progress of the stream after it."""
        batch = record.header.batch
        self.done = batch + 1
        self.batch_retries.succeed()
        self.reporter.report_problem(_STREAM, None)
        progress = self.reporter.batch_written(batch, rows)
        self.planner.observe(in_ms(rows["metrics"]).to_pylist())
        if self.on_batch is not None:
            self.on_batch(batch, self.planner.rows_left, rows)
        return progress

    def plan_batch(self, progress: Progress | None) -> bool:
        """Plan the next batch if there is input and no retry is pending; returns True if one was planned."""
        if self.reporter.drain_requested:
            return False
        if not self.planner.options.live:
            return self.planner.plan_batch(progress) is not None
        planned = False
        if self.source_retries.due:
            with retried(self.source_retries, self.reporter):
                planned = self.planner.plan_batch(progress) is not None
                self.reporter.report_problem(AWAITED, self.planner.problem)
        return planned

    def require_retryable(self, error: Exception) -> None:
        """Raise an error unless the failure may be transient; one that may be is reported.

        After a transient failure a live stream tries again as long as it takes; a bounded one fails, as somebody waits
        for it. After a process that did not start in time, or was killed, both try again, a few times.
        """
        failure = Failure.of(error)
        self.batch_retries.fail()
        if failure.kind == "checkpoint":
            fault = f"the stream can't go on from it: {failure.reason}"
            raise Damaged([Problem(str(self.layout.checkpoint), fault, repair(self.layout))]) from error
        retryable = (failure.kind == "transient" and self.planner.options.live) or (
            failure.kind == "process" and self.batch_retries.failures <= self.process_tries
        )
        if not retryable:
            raise RuntimeError(f"the stream failed: {failure.reason}") from error
        self.reporter.report_problem(_STREAM, f"{failure.reason}; it is tried again")

    def await_retry(self) -> bool:
        """Wait until the next try is due; returns False where a drain is requested before."""
        while not self.batch_retries.due:
            if self.reporter.drain_requested:
                return False
            self.reporter.report("waiting", self.planner.rows_left)
            time.sleep(POLL_S)
        return True
