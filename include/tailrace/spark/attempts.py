"""Attempts to run a stream on Spark: batch by batch, and again from its checkpoint after a transient failure."""

from __future__ import annotations

import queue
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import pyarrow as pa
from deltalake.exceptions import DeltaError
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from tailrace.engine.stage import Stage
from tailrace.ground.errors import Damaged, Problem, Refused, SourceChanged
from tailrace.ground.retries import Retries
from tailrace.spark.group_keys import group_keys
from tailrace.spark.operator import run_tasks
from tailrace.spark.sink import Sink
from tailrace.spark.source import read_journal
from tailrace.storage.checkpoint import committed_batches
from tailrace.storage.layout import Layout
from tailrace.storage.progress import Progress
from tailrace.storage.written_batches import repair
from tailrace.stream.batch_planner import BatchPlanner, Ended
from tailrace.stream.failures import Failure
from tailrace.stream.status_reporter import StatusReporter

OnBatch = Callable[[int, int, dict[str, pa.Table]], None]
"""Called after each batch with its number, the number of rows still to be read, and the rows given to each table."""

LOOK_S = 0.2
"""Seconds between two looks of a live run for new input, and for a request to drain."""

SOURCE = "source"
"""The part of a stream under which problems of its source are reported."""

_DISK, _STREAM = "disk or network", "stream"
_BUSY_TRIES = 5  # how often in a row a Python process may fail to start in time


@dataclass
class Attempts:
    """The attempts to run a query's stream, one after the other, until one comes to its end."""

    layout: Layout
    stage: Stage
    intake: BatchPlanner
    watch: StatusReporter
    sink: Sink
    progress: OnBatch | None
    written: queue.SimpleQueue[tuple[int, dict[str, pa.Table]]] = field(default_factory=queue.SimpleQueue)
    """The rows of each batch that the sink has written; from its thread to this one."""
    seen: int = 0
    """The number of batches whose rows were reported."""

    def run(self, spark: SparkSession) -> None:
        """Run the stream to its end, or until it is asked to drain.

        Raises
        ------
        Damaged
            When Spark can't go on from its checkpoint.
        RuntimeError
            When it fails in a way that no further attempt can help.
        """
        retries, keys = Retries(), group_keys(self.stage.tasks)
        while True:
            committed, error = committed_batches(self.layout), self.attempt(spark, keys)
            if error is None:
                return
            failure = Failure.of(error)
            if committed_batches(self.layout) > committed:
                retries.succeed()
            retries.fail()
            self.refuse(failure, retries.failures, error)
            self.watch.report_problem(_STREAM, f"{failure.reason}; it is tried again")
            while not retries.due:
                if self.watch.drain_requested:
                    return
                self.watch.report("waiting", self.intake.rows_left)
                time.sleep(LOOK_S)

    def refuse(self, failure: Failure, failures: int, error: BaseException) -> None:
        """Raise an error where no further attempt can help.

        After a transient failure a live stream tries again as long as it takes; a bounded one fails, as somebody waits
        for it. After a process that did not start in time both try again, a few times.
        """
        if failure.kind == "checkpoint":
            wrong = f"Spark can't go on from it: {failure.reason}"
            raise Damaged([Problem(str(self.layout.checkpoint), wrong, repair(self.layout))]) from error
        retryable = (failure.kind == "passes" and self.intake.options.live) or (
            failure.kind == "busy" and failures <= _BUSY_TRIES
        )
        if not retryable:
            raise RuntimeError(f"the stream failed: {failure.reason}") from error

    def attempt(self, spark: SparkSession, keys: list[int]) -> BaseException | None:
        """Run the stream until there is no more to do; returns the error with which it failed, else None."""
        sink_errors: list[BaseException] = []

        def write(rows: DataFrame, batch: int) -> None:
            try:
                self.written.put((batch, self.sink.write(rows, batch)))
            except BaseException as error:
                sink_errors.append(error)  # Spark would pass it on only as text, within a trace of its own
                raise

        try:
            rows = read_journal(spark, self.intake.journal, self.stage, keys)
            output = run_tasks(rows, self.stage, keys).writeStream.foreachBatch(write)
            stream = output.option("checkpointLocation", str(self.layout.checkpoint)).start()
        except Exception as error:  # Spark's, or py4j's where Spark has no class for it
            return error
        while not self.written.empty():  # from the attempt before; these batches will come again
            self.written.get()
        try:
            if self.go_on(stream, committed_batches(self.layout)):
                return None
        except (OSError, DeltaError) as error:  # of the warehouse's disk
            return error
        finally:
            stream.stop()
        return sink_errors[0] if sink_errors else stream.exception() or RuntimeError("Spark has stopped it")

    def go_on(self, stream: StreamingQuery, done: int) -> bool:
        """Plan a batch whenever the one before is written, from batch `done` on; returns False if Spark has stopped."""
        stands, retries = Progress.read(self.layout), Retries()
        while stream.isActive:
            idle = done == self.intake.batches
            if idle and not self.watch.drain_requested and self.plan(retries, stands):
                continue
            over = self.watch.drain_requested or self.intake.ended or not self.intake.options.live
            if (idle and over and committed_batches(self.layout) == done) or self.watch.is_overdue:
                return True
            busy_rows = None if idle else self.intake.newest_rows
            self.watch.report(self.intake.state if idle else "streaming", self.intake.rows_left, busy_rows)
            try:
                batch, tables = self.written.get(timeout=0.02 if not self.intake.options.live else LOOK_S)
            except queue.Empty:
                continue
            done = batch + 1
            self.watch.report_problem(_STREAM, None)
            if batch < self.seen:  # reported already: it was written, but not committed, when the attempt before failed
                continue
            self.seen, stands = batch + 1, self.watch.batch_written(batch, tables)
            self.intake.adapt_batch_size(
                *(sum(tables["metrics"][name].to_pylist()) for name in ("rows", "partials", "answers"))
            )
            if self.progress is not None:
                self.progress(batch, self.intake.rows_left, tables)
        return False

    def plan(self, retries: Retries, stands: Progress | None) -> bool:
        """Plan a batch, if there is one to plan and a try is due; returns True if one was planned."""
        if not self.intake.options.live:
            return self.intake.plan(stands) is not None
        planned = False
        if retries.due:
            with retried(retries, self.watch):
                planned = self.intake.plan(stands) is not None
                self.watch.report_problem(SOURCE, self.intake.problem)
        return planned


@contextmanager
def retried(retries: Retries, watch: StatusReporter) -> Iterator[None]:
    """Report a failure of a live source or of the disk in the status, and go on; raise one that no retry can help."""
    try:
        yield
    except (SourceChanged, Ended):
        raise
    except (Refused, OSError, DeltaError) as error:
        retries.fail()
        watch.report_problem(SOURCE if isinstance(error, Refused) else _DISK, str(error))
    else:
        if retries.failures:
            for part in (SOURCE, _DISK):
                watch.report_problem(part, None)
        retries.succeed()
