"""A stream's query as it runs on Spark: batch by batch, and again from its checkpoint after a failure that passes."""

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

from tailrace.errors import Damaged, Problem, Refused, SourceChanged
from tailrace.retries import Retries
from tailrace.spark.checkpoint import committed_batches
from tailrace.spark.commits import committed_until
from tailrace.spark.failures import Failure
from tailrace.spark.intake import Ended, Intake
from tailrace.spark.layout import Layout
from tailrace.spark.operator import labels, run_tasks
from tailrace.spark.sink import Sink
from tailrace.spark.source import read_journal
from tailrace.spark.watch import Watch
from tailrace.spark.written import remake
from tailrace.stage import Stage

Progress = Callable[[int, int, dict[str, pa.Table]], None]
"""Told after each batch: its number, how many rows are still to be read, and the rows it gave to each table."""

LOOK_S = 0.2
"""Seconds from look to look of a live run: for what is new, and for a wish to drain."""

SOURCE = "source"
"""Names the source among the problems that a stream's status reports."""

_DISK, _STREAM = "disk or network", "stream"
_BUSY_TRIES = 5  # how often in a row a Python process may not start in time


@dataclass
class Attempts:
    """The attempts to run a query's stream, one after the other, until one comes to its end."""

    layout: Layout
    stage: Stage
    intake: Intake
    watch: Watch
    sink: Sink
    progress: Progress | None
    written: queue.SimpleQueue[tuple[int, dict[str, pa.Table]]] = field(default_factory=queue.SimpleQueue)
    """The rows of each batch that the sink has written; from its thread to this one."""
    seen: int = 0
    """The number of batches whose rows were told."""

    def run(self, spark: SparkSession) -> None:
        """Run the stream to its end, or until it is asked to drain.

        Raises
        ------
        Damaged
            When Spark can't go on from its checkpoint.
        RuntimeError
            When it fails of what no further attempt helps against.
        """
        retries, groups = Retries(), labels(spark, self.stage.tasks)
        while True:
            before, error = committed_batches(self.layout), self.attempt(spark, groups)
            if error is None:
                return
            failure = Failure.of(error)
            if committed_batches(self.layout) > before:
                retries.succeed()
            retries.fail()
            self.refuse(failure, retries.failures, error)
            self.watch.tell(_STREAM, f"{failure.reason}; it is tried again")
            while not retries.due:
                if self.watch.drains:
                    return
                self.watch.say("waiting", self.intake.rows_left)
                time.sleep(LOOK_S)

    def refuse(self, failure: Failure, failures: int, error: BaseException) -> None:
        """Raise what no further try helps against.

        A live stream waits for what comes back as long as it takes, a bounded one has somebody who waits for it.
        """
        if failure.kind == "checkpoint":
            wrong = f"Spark can't go on from it: {failure.reason}"
            raise Damaged([Problem(str(self.layout.checkpoint), wrong, remake(self.layout))]) from error
        again = (failure.kind == "passes" and self.intake.plan_as.live) or (
            failure.kind == "busy" and failures <= _BUSY_TRIES
        )
        if not again:
            raise RuntimeError(f"the stream failed: {failure.reason}") from error

    def attempt(self, spark: SparkSession, groups: list[int]) -> BaseException | None:
        """Run the stream until there is no more to do; returns what it failed of."""
        raised: list[BaseException] = []

        def write(rows: DataFrame, batch: int) -> None:
            try:
                self.written.put((batch, self.sink.write(rows, batch)))
            except BaseException as error:
                raised.append(error)  # Spark would tell it as text, within a trace of its own
                raise

        try:
            rows = read_journal(spark, self.intake.journal, self.stage, groups)
            output = run_tasks(rows, self.stage, groups).writeStream.foreachBatch(write)
            stream = output.option("checkpointLocation", str(self.layout.checkpoint)).start()
        except Exception as error:  # Spark's, or py4j's for what Spark gives no name
            return error
        while not self.written.empty():  # by the attempt before, which will come again
            self.written.get()
        try:
            if self.go_on(stream, committed_batches(self.layout)):
                return None
        except (OSError, DeltaError) as error:  # of the warehouse
            return error
        finally:
            stream.stop()
        return raised[0] if raised else stream.exception() or RuntimeError("Spark has stopped it")

    def go_on(self, stream: StreamingQuery, done: int) -> bool:
        """Plan a batch whenever the one before is written; `done` are written. False: Spark does not go on."""
        committed, retries = committed_until(self.layout), Retries()
        while stream.isActive:
            idle = done == self.intake.batches
            if idle and not self.watch.drains and self.plan(retries, committed):
                continue
            over = self.watch.drains or self.intake.ended or not self.intake.plan_as.live
            if (idle and over and committed_batches(self.layout) == done) or self.watch.is_overdue:
                return True
            busy_rows = None if idle else self.intake.newest_rows
            self.watch.say(self.intake.state if idle else "streaming", self.intake.rows_left, busy_rows)
            try:
                batch, tables = self.written.get(timeout=0.02 if not self.intake.plan_as.live else LOOK_S)
            except queue.Empty:
                continue
            done = batch + 1
            self.watch.tell(_STREAM, None)
            if batch < self.seen:  # it was written already, and not committed when the attempt before failed
                continue
            self.seen, committed = batch + 1, self.watch.see(batch, tables)
            self.intake.learn(*(sum(tables["metrics"][name].to_pylist()) for name in ("rows", "partials", "answers")))
            if self.progress is not None:
                self.progress(batch, self.intake.rows_left, tables)
        return False

    def plan(self, retries: Retries, committed: int | None) -> bool:
        """Plan a batch, if there is one to plan and its try is due."""
        if not self.intake.plan_as.live:
            return self.intake.plan(committed) is not None
        planned = False
        if retries.due:
            with retried(retries, self.watch):
                planned = self.intake.plan(committed) is not None
                self.watch.tell(SOURCE, self.intake.feed.problem)
        return planned


@contextmanager
def retried(retries: Retries, watch: Watch) -> Iterator[None]:
    """Tell what is wrong with a live source or with the disk in the status, and go on; not what no retry helps."""
    try:
        yield
    except (SourceChanged, Ended):
        raise
    except (Refused, OSError, DeltaError) as error:
        retries.fail()
        watch.tell(SOURCE if isinstance(error, Refused) else _DISK, str(error))
    else:
        if retries.failures:
            for part in (SOURCE, _DISK):
                watch.tell(part, None)
        retries.succeed()
