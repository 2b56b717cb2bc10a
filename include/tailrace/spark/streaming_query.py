"""A live stream as a Structured Streaming query, in which each batch runs the job of the stream's next batch."""

from __future__ import annotations

import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from queue import Empty, SimpleQueue
from threading import Event
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql.streaming.query import StreamingQuery

from tailrace.engine.batch_header import BatchHeader
from tailrace.ground.background import Background
from tailrace.sources.segments import Segment
from tailrace.spark.executor import SparkExecutor

_POLL_S = 0.2
_STOP_S = 10.0


class Job:
    """A batch that waits for Spark's next one; afterwards it has its rows by table, or its error."""

    def __init__(self, run: partial[dict[str, pa.Table]]) -> None:
        self._run, self.ended = run, Event()
        self._rows, self._error = dict[str, pa.Table](), list[BaseException]()

    def run(self) -> None:
        try:
            self._rows = self._run()
        except BaseException as error:  # Spark would pass it on only as text, within its own trace
            self._error.append(error)
        finally:
            self.ended.set()

    def rows(self) -> dict[str, pa.Table]:
        for error in self._error:
            raise error
        return self._rows


@dataclass
class StreamingQueryExecutor:
    """Runs each batch inside a batch of a Structured Streaming query, which waits if there is none.

    So a deployed stream appears in Spark's UI, and to listeners of streaming queries. The query has no state, and its
    own checkpoint is useless afterwards.

    Attributes
    ----------
    wait_s : float
        The longest wait for a job, as Spark ends a query only between two of its batches.
    """

    inner: SparkExecutor
    wait_s: float = 10.0
    jobs: SimpleQueue[Job] = field(default_factory=SimpleQueue)
    closed: Event = field(default_factory=Event)
    query: StreamingQuery | None = None

    def run(self, header: BatchHeader, segments: Sequence[Segment], before: int) -> dict[str, pa.Table]:
        """Run a batch in the query's next one, see `Executor.run`."""
        job = Job(partial(self.inner.run, header, segments, before))
        self.jobs.put(job)
        while not job.ended.wait(_POLL_S):
            if self.query is None or not self.query.isActive:
                error = self.query and self.query.exception()
                raise RuntimeError(f"Spark has stopped the stream: {error or 'somebody has asked it to'}")
        return job.rows()

    def cancel(self) -> None:
        """Cancel the job of the running batch."""
        self.inner.cancel()

    def next_batch(self, rows: DataFrame, number: int) -> None:
        """Run the next job, waiting for one; Spark calls this for each of its batches."""
        end_s = time.monotonic() + self.wait_s
        while not self.closed.is_set() and time.monotonic() < end_s:
            try:
                self.jobs.get(timeout=_POLL_S).run()
            except Empty:
                continue
            return

    def close(self) -> None:
        """End the query, whose batch waits for a job; if it does not end, it ends with its JVM."""
        self.closed.set()
        query: Any = self.query
        Background(query.stop, "stop the query").wait(_STOP_S)


@contextmanager
def in_streaming_query(executor: SparkExecutor) -> Iterator[StreamingQueryExecutor]:
    """Start a Structured Streaming query that runs the batches of an executor, and stop it at the end of the block."""
    live = StreamingQueryExecutor(executor)
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as scratch:
        ticks = executor.spark.readStream.format("rate-micro-batch").option("rowsPerBatch", 1).load()
        output = ticks.writeStream.queryName(executor.name).foreachBatch(live.next_batch)
        live.query = output.option("checkpointLocation", Path(scratch).as_uri()).start()
        try:
            yield live
        finally:
            live.close()
