"""A driver that kills itself: run as a process with a JSON of where and when. Nothing in tailrace knows of it.

K1 after the offset log; K2 files staged, before the Delta commit; K3 after the last table, before Spark's commit log
(K3p: the next entry is planned already); K4 between two tables; K6 a correction between its reads and
its write; K7 after its write, before its ledger; K12 between the compaction of two tables. `silent`: a
live one that has read all there is, before the stream is quiet.
"""

from __future__ import annotations

import json
import os
import queue
import signal
import sys
import time
from pathlib import Path

import pyarrow.parquet as pq

from oracle import Settings
from tailrace.correction.affected_windows import CorrectionRange
from tailrace.query.query import Query
from tailrace.spark import app, attempts, sink
from tailrace.spark.correct import correct
from tailrace.spark.sink import Sink
from tailrace.storage import tables
from tailrace.storage.journal import Journal
from tailrace.stream import status_reporter
from tailrace.stream.batch_planner import RunOptions
from warehouse import make_query, propose


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def arm(point: str, batch: int) -> None:
    """Put the death in its place."""
    if point == "K1":
        execute, seen = Sink.execute, iter(range(10**6))

        def at_once(self, rows):
            return die() if next(seen) == batch else execute(self, rows)

        Sink.execute = at_once
    elif point in ("K2", "K4"):
        append = tables.Tables.append

        def before_or_after(self, name, rows, app, number):
            if (point, name, number) == ("K2", "results", batch):
                pq.write_table(rows, self.layout.table(name) / "part-staged-and-lost.parquet")
                die()
            if (point, name, number) == ("K4", "late", batch):
                die()
            return append(self, name, rows, app, number)

        tables.Tables.append = before_or_after
    elif point == "K12":
        optimize = tables.DeltaTable.optimize.fget
        compacted = iter(range(10**6))

        def in_the_middle(self):
            return optimize(self) if next(compacted) <= 5 * batch + 2 else die()

        sink.COMPACT_EVERY = 1
        tables.DeltaTable.optimize = property(in_the_middle)
    elif point == "silent":
        say = status_reporter.StatusReporter.report

        def when_nothing_comes(self, state, *more):
            say(self, state, *more)
            if state == "waiting" and self._status.batches > batch:
                die()

        status_reporter.StatusReporter.report = when_nothing_comes
    elif point in ("K6", "K7"):
        replace = tables.Tables.replace

        def before_or_after_it(self, *rows):
            if point == "K7":
                replace(self, *rows)
            die()

        tables.Tables.replace = before_or_after_it
    elif point == "K3p":
        attempt = attempts.Attempts.attempt

        def told_of_it(self, *more):
            self.written = DeathAfter(batch, Journal(self.layout.journal))
            return attempt(self, *more)

        attempts.Attempts.attempt = told_of_it
    elif point == "K3":
        write = Sink.write

        def at_the_end(self, rows, number):
            written = write(self, rows, number)
            return die() if number == batch else written

        Sink.write = at_the_end
    else:
        raise ValueError(f"no point {point}")


class DeathAfter(queue.SimpleQueue):
    """Takes the batches that were written; dies once the one after `batch` is planned, before Spark commits it."""

    def __init__(self, batch: int, journal: Journal) -> None:
        self.batch, self.journal = batch, journal

    def put(self, item, *more, **named) -> None:
        super().put(item, *more, **named)
        if item[0] == self.batch:
            while self.batch + 1 not in self.journal:
                time.sleep(0.01)
            die()


def calibrate(query: Query, warehouse: Path, found: dict[str, int]) -> None:
    """While a batch is written, a calibration proposes a K: {batch: ms}."""
    write = Sink.write

    def meanwhile(self, rows, number):
        if str(number) in found:
            propose(query, warehouse, found[str(number)])
        return write(self, rows, number)

    Sink.write = meanwhile


if __name__ == "__main__":
    told = json.loads(sys.argv[1])
    arm(told["point"], told["batch"])
    settings = Settings(**told["settings"] | {"policy": tuple(told["settings"]["policy"])})
    found = told.get("calibrations", {})
    query = make_query(Path(told["in"]), settings, idle=told.get("idle", "1 min"), calibrated=bool(found))
    calibrate(query, Path(told["wh"]), found)
    app.run(query, Path(told["wh"]), RunOptions(100, live=told["point"] == "silent"))
    correct(query, Path(told["wh"]), CorrectionRange(*told["span"], arrival=True))
