"""Points of a driver's life at which a kill does most harm, what it leaves there, and drivers that are killed there.

K1 after the offset log; K2 files staged, before the Delta commit; K3 after the last table, before Spark's commit log
(K3p: the next entry is planned already); K4 between two tables; K5 after the upload of the tasks' states, before
anything of the batch is written; K6 a correction between its reads and its write;
K7 after its write, before its ledger; K12 between the compaction of two tables. `silent`: a live driver has read all
there is, before the stream is quiet. Nothing in tailrace knows of them.

As a program: a driver that kills itself, given a JSON of where and when.
"""

from __future__ import annotations

import dataclasses
import json
import os
import queue
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import psutil
import pyarrow.parquet as pq
import pytest
from tailrace.spark.sink import Sink

from oracle import Settings
from tailrace.correction.correction_range import CorrectionRange
from tailrace.ground.files import new_file
from tailrace.query.query import Query
from tailrace.spark import app, attempts, sink
from tailrace.spark.correct import correct
from tailrace.storage import tables
from tailrace.storage.journal import Journal
from tailrace.stream import status_reporter
from tailrace.stream.run_options import RunOptions
from warehouse import even, make_query, make_stream, propose, write_files

TUPLES = make_stream(600, seed=5)
SETTINGS = Settings(500, 100, 100, "sum", ("k_slack", 300))
BATCH_ROWS = 100
TESTS = Path(__file__).parent


def write_input(directory: Path) -> None:
    write_files(TUPLES, directory / "in", even(len(TUPLES), 12))


def kill(directory: Path, point: str, batch: int, **more: object) -> None:
    """Run a driver in a process of its own that dies by kill -9 at the point, and check that it did."""
    task = {"point": point, "batch": batch, "in": str((directory / "in").resolve()), "wh": str(directory / "wh")}
    task |= {"settings": dataclasses.asdict(SETTINGS)} | more
    victim = subprocess.run(
        [sys.executable, __file__, json.dumps(task)],
        env=os.environ | {"PYTHONPATH": f"{TESTS}{os.pathsep}{TESTS.parent / 'include'}"},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert victim.returncode == -signal.SIGKILL, victim.stderr[-3000:]


def leave(warehouse: Path, target: Path) -> None:
    """Copy a warehouse as a kill -9 of its driver would leave it now: Spark and its workers are stopped meanwhile."""
    processes = psutil.Process().children(recursive=True)
    try:
        for process in processes:
            with suppress(psutil.NoSuchProcess):  # Spark ends workers that it needs no more
                process.suspend()
        shutil.copytree(warehouse, target, ignore=shutil.ignore_patterns(".status.json.new"))  # comes and goes
    finally:
        for process in processes:
            with suppress(psutil.NoSuchProcess):
                process.resume()


def arm(patch: pytest.MonkeyPatch, point: str, batch: int, reached: Callable[[], None]) -> None:
    """Call `reached` when the driver comes to the point; several may be armed, one after the other."""
    _ARM[point](patch, point, batch, reached)


def _execute(patch, point, batch, reached):
    execute, calls = Sink.execute, iter(range(10**6))

    def at_once(self, rows):
        if next(calls) == batch:
            reached()
        return execute(self, rows)

    patch.setattr(Sink, "execute", at_once)


def _executed(patch, point, batch, reached):
    balance, calls = Sink.balance, iter(range(10**6))

    def after_execution(self, table_rows):
        if next(calls) == batch:
            reached()
        balance(self, table_rows)

    patch.setattr(Sink, "balance", after_execution)


def _append(patch, point, batch, reached):
    append = tables.Tables.append

    def before(self, name, rows, app, number):
        if (point, name, number) == ("K2", "results", batch):
            staged = self.layout.table(name) / "part-staged-and-lost.parquet"
            with new_file(staged) as file:
                pq.write_table(rows, file)
            reached()
            staged.unlink()
        if (point, name, number) == ("K4", "segments", batch):
            reached()
        return append(self, name, rows, app, number)

    patch.setattr(tables.Tables, "append", before)


def _written(patch, point, batch, reached):
    write = Sink.write

    def at_the_end(self, rows, number):
        written = write(self, rows, number)
        if number == batch:
            reached()
        return written

    patch.setattr(Sink, "write", at_the_end)


def _planned_next(patch, point, batch, reached):
    attempt = attempts.Attempts.attempt

    def with_its_queue(self, *more):
        self.written_batches = PlannedNext(self.written_batches, batch, Journal(self.layout.journal), reached)
        return attempt(self, *more)

    patch.setattr(attempts.Attempts, "attempt", with_its_queue)


def _compaction(patch, point, batch, reached):
    optimize, accesses = tables.DeltaTable.optimize.fget, iter(range(10**6))

    def in_the_middle(self):
        if next(accesses) == 5 * batch + 3:
            reached()
        return optimize(self)

    patch.setattr(sink, "COMPACT_EVERY", 1)
    patch.setattr(tables.DeltaTable, "optimize", property(in_the_middle))


def _silence(patch, point, batch, reached):
    report = status_reporter.StatusReporter.report

    def when_nothing_comes(self, state, *more):
        report(self, state, *more)
        if state == "waiting" and self._status.batches > batch:
            reached()

    patch.setattr(status_reporter.StatusReporter, "report", when_nothing_comes)


def _correction(patch, point, batch, reached):
    replace = tables.Tables.replace

    def before_or_after_it(self, *rows):
        if point == "K7":
            replace(self, *rows)
        reached()

    patch.setattr(tables.Tables, "replace", before_or_after_it)


_ARM = {
    "K1": _execute,
    "K2": _append,
    "K3": _written,
    "K3p": _planned_next,
    "K4": _append,
    "K5": _executed,
    "K6": _correction,
    "K7": _correction,
    "K12": _compaction,
    "silent": _silence,
}


class PlannedNext:
    """A queue of the batches that were written; waits after `batch` until the next one is planned, and tells."""

    def __init__(self, inner: queue.SimpleQueue, batch: int, journal: Journal, reached: Callable[[], None]) -> None:
        self.inner, self.batch, self.journal, self.reached = inner, batch, journal, reached

    def __getattr__(self, name):
        return getattr(self.inner, name)

    def put(self, item) -> None:
        self.inner.put(item)
        if item[0] == self.batch:
            while self.batch + 1 not in self.journal:
                time.sleep(0.01)
            self.reached()


def calibrate(patch: pytest.MonkeyPatch, query: Query, warehouse: Path, found: dict[int, int]) -> None:
    """Propose a K while a batch is written, as a calibration does: {batch: ms}."""
    write = Sink.write

    def meanwhile(self, rows, number):
        if number in found:
            propose(query, warehouse, found[number])
        return write(self, rows, number)

    patch.setattr(Sink, "write", meanwhile)


def main(task: dict) -> None:
    point, warehouse = task["point"], task["wh"]
    arm(pytest.MonkeyPatch(), point, task["batch"], lambda: os.kill(os.getpid(), signal.SIGKILL))
    settings = Settings(**task["settings"] | {"policy": tuple(task["settings"]["policy"])})
    query = make_query(Path(task["in"]), settings, idle=task.get("idle", "1 min"))
    if "span" in task:
        correct(query, warehouse, CorrectionRange(*task["span"], arrival=True))
    else:
        app.run(query, warehouse, RunOptions(BATCH_ROWS, live=point == "silent"))


if __name__ == "__main__":
    main(json.loads(sys.argv[1]))
