"""Runs a stream on Spark, batch by batch; after a transient failure again from its checkpoint."""

from __future__ import annotations

import queue
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import pyarrow as pa
from deltalake.exceptions import DeltaError
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

from tailrace.engine.progress import Progress
from tailrace.engine.stage import Stage
from tailrace.ground.errors import Busy, Damaged, Problem, Refused, SourceChanged, Unfit
from tailrace.ground.retries import Retries
from tailrace.ground.times import in_ms
from tailrace.spark.group_keys import group_keys
from tailrace.spark.operator import run_stored_tasks, run_tasks
from tailrace.spark.sink import Sink
from tailrace.spark.source import read_journal
from tailrace.storage.checkpoint import committed_batches
from tailrace.storage.journal import Journal
from tailrace.storage.layout import Layout
from tailrace.storage.progress import read_progress
from tailrace.storage.replay import Replay
from tailrace.storage.written_batches import repair
from tailrace.stream.failures import Failure
from tailrace.stream.planner import Planner
from tailrace.stream.status_reporter import StatusReporter

OnBatch = Callable[[int, int, dict[str, pa.Table]], None]
"""Callback after each batch: its number, the number of rows still to be read, and the rows written to each table."""

POLL_S = 0.2
"""Interval, in s, at which a live run polls for new input and for a drain request."""

SOURCE = "source"
"""Name under which the status reports problems of a stream's source."""

UNFIT_S = 60.0
"""Seconds after which a live run fails whose source has columns or types that don't fit: no retry puts it right."""

_DISK, _STREAM = "disk or network", "stream"
_PROCESS_TRIES = 5  # consecutive attempts in which a Python process may not start in time, or be lost


@dataclass
class Attempts:
    """Attempts to run a query's stream, one after the other, until one completes."""

    layout: Layout
    stage: Stage
    planner: Planner
    reporter: StatusReporter
    sink: Sink
    on_batch: OnBatch | None
    written_batches: queue.SimpleQueue[tuple[int, dict[str, pa.Table]]] = field(default_factory=queue.SimpleQueue)
    """The number of each batch that the sink has written, and its rows by table; filled by the sink's thread."""
    reported_batches: int = 0
    """The number of batches whose rows were reported."""
    entries: Journal | None = None
    """The copy of the journal that Spark reads, where it does not read the journal itself."""
    until: int | None = None
    """The number of the journal's entries that are run, where others follow them."""

    def run(self, spark: SparkSession) -> None:
        """Run the stream to its end, or until it is asked to drain.

        Raises
        ------
        Busy
            When another driver has taken over.
        Damaged
            When Spark can't go on from its checkpoint.
        RuntimeError
            When it fails in a way that no further attempt can help.
        """
        retries, keys = Retries(), group_keys(self.stage.tasks)
        while True:
            reported, error = self.reported_batches, self.attempt(spark, keys)
            if error is None:
                return
            failure = Failure.of(error)
            if self.reported_batches > reported:
                retries.succeed()
            retries.fail()
            self.raise_unless_retryable(failure, retries.failures, error)
            self.reporter.report_problem(_STREAM, f"{failure.reason}; it is tried again")
            while not retries.due:
                if self.reporter.drain_requested:
                    return
                self.reporter.report("waiting", self.planner.rows_left)
                time.sleep(POLL_S)

    def raise_unless_retryable(self, failure: Failure, failures: int, error: BaseException) -> None:
        """Raise an error unless the failure may be transient.

        After a transient failure a live stream tries again as long as it takes; a bounded one fails, as somebody waits
        for it. After a process that did not start in time, or was killed, both try again, a few times.
        """
        if isinstance(error, Busy):  # another driver has taken over
            raise error
        if failure.kind == "checkpoint":
            wrong = f"Spark can't go on from it: {failure.reason}"
            raise Damaged([Problem(str(self.layout.checkpoint), wrong, repair(self.layout))]) from error
        retryable = (failure.kind == "transient" and self.planner.options.live) or (
            failure.kind == "process" and failures <= _PROCESS_TRIES
        )
        if not retryable:
            raise RuntimeError(f"the stream failed: {failure.reason}") from error

    def attempt(self, spark: SparkSession, keys: list[int]) -> BaseException | None:
        """Run the stream until it completes or fails; returns the error with which it failed, else None."""
        sink_errors = list[BaseException]()

        def write(rows: DataFrame, batch: int) -> None:
            try:
                self.written_batches.put((batch, self.sink.write(rows, batch)))
            except BaseException as error:
                sink_errors.append(error)  # Spark would pass it on only as text, within a trace of its own
                # A long text would overflow the stack in a regular expression of Spark's.
                raise RuntimeError("the sink failed") from None

        with ExitStack() as resources:
            try:
                committed = committed_batches(self.layout)
                stream = self.output(spark, keys, resources, committed, write).start()
            except Exception as error:  # Spark's, or py4j's where Spark has no class for it
                return error
            while not self.written_batches.empty():  # from the attempt before; these batches will come again
                self.written_batches.get()
            try:
                if self.run_batches(stream, committed):
                    return None
            except (OSError, DeltaError) as error:  # of the warehouse's disk
                return error
            except KeyboardInterrupt:
                spark.sparkContext.setLogLevel("OFF")  # its threads would log that they are interrupted
                raise
            finally:
                stream.stop()
        return sink_errors[0] if sink_errors else stream.exception() or RuntimeError("Spark has stopped it")

    def output(
        self,
        spark: SparkSession,
        keys: list[int],
        resources: ExitStack,
        committed: int,
        write: Callable[[DataFrame, int], None],
    ) -> DataStreamWriter:
        """The stream's output, ready to be started.

        With the tasks' states in an object store, Spark has no state. Then its checkpoint lies in a scratch directory,
        like a copy of the journal's newest entries, for Spark asks for the next one all the time.
        """
        if self.stage.states is None:
            replay = Replay.read(self.layout.checkpoint)
            messages = read_journal(spark, self.planner.journal, self.stage, keys, replay, self.until)
            rows = run_tasks(messages, self.stage, keys)
            output = rows.writeStream.foreachBatch(lambda rows, batch: write(rows, replay.entries(batch + 1) - 1))
            return output.option("checkpointLocation", str(self.layout.checkpoint))
        scratch = Path(resources.enter_context(tempfile.TemporaryDirectory(ignore_cleanup_errors=True)))
        run = partial(run_stored_tasks, stage=self.stage, states=self.stage.states, keys=keys)
        self.entries = Journal(scratch / "journal")
        (scratch / "journal").mkdir()
        for batch in range(committed, self.planner.batches):
            self.entries.copy(self.planner.journal[batch])
        messages = read_journal(spark, self.entries, self.stage, keys, first=committed)
        output = messages.writeStream.foreachBatch(lambda rows, batch: write(run(rows), committed + batch))
        return output.option("checkpointLocation", (scratch / "checkpoint").as_uri())

    def run_batches(self, stream: StreamingQuery, done: int) -> bool:
        """Plan a batch when the one before is written, from batch `done` on; returns False if Spark has stopped."""
        progress, retries = read_progress(self.layout), Retries()
        while stream.isActive:
            idle = done >= self.planner.batches  # Spark may have run an entry whose writing is not confirmed yet
            if idle and not self.reporter.drain_requested and self.plan_batch(retries, progress):
                continue
            ends = self.reporter.drain_requested or not self.planner.options.live
            if (idle and ends and committed_batches(self.layout) == done) or self.reporter.is_overdue:
                return True
            busy_rows = None if idle else self.planner.newest_rows
            self.reporter.report(self.planner.state if idle else "streaming", self.planner.rows_left, busy_rows)
            try:
                batch, tables = self.written_batches.get(timeout=0.02 if not self.planner.options.live else POLL_S)
            except queue.Empty:
                continue
            done = batch + 1
            if self.entries is not None:
                self.entries.drop_copy(batch - 1)
            self.reporter.report_problem(_STREAM, None)
            if batch < self.reported_batches:  # written, but not committed, when the attempt before failed
                continue
            self.reported_batches, progress = batch + 1, self.reporter.batch_written(batch, tables)
            self.planner.observe(in_ms(tables["metrics"]).to_pylist())
            if self.on_batch is not None:
                self.on_batch(batch, self.planner.rows_left, tables)
        return False

    def plan_batch(self, retries: Retries, progress: Progress | None) -> bool:
        """Plan the next batch if there is input and no retry is pending; returns True if one was planned."""
        entry = None
        if not self.planner.options.live:
            entry = self.planner.plan(progress)
        elif retries.due:
            with retried(retries, self.reporter):
                entry = self.planner.plan(progress)
                self.reporter.report_problem(SOURCE, self.planner.problem)
        if entry is not None and self.entries is not None:
            self.entries.copy(entry)  # where this fails, so does the attempt: the next one copies all that is planned
        return entry is not None


@contextmanager
def retried(retries: Retries, reporter: StatusReporter) -> Iterator[None]:
    """Report a failure of a live source or of the disk in the status, and go on; raise one that no retry can help.

    A source that is not fit may be put right for `UNFIT_S` seconds.
    """
    try:
        yield
    except (SourceChanged, Busy):
        raise
    except (Refused, OSError, DeltaError) as error:
        retries.fail()
        if isinstance(error, Unfit) and retries.failing_s >= UNFIT_S:
            reporter.report_problem(SOURCE, str(error))
            reporter.report("waiting")
            raise
        is_source = isinstance(error, Refused)
        reporter.report_problem(SOURCE if is_source else _DISK, str(error) if is_source else Failure.of(error).reason)
    else:
        if retries.failures:
            for part in (SOURCE, _DISK):
                reporter.report_problem(part, None)
        retries.succeed()
