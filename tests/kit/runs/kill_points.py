"""Points of a driver's life at which a kill does most harm, what it leaves there, and drivers that are killed there.

Of a batch, in the order of its writes: its entry is in the journal; the states of the tasks; the tables; the note.

before states   the entry is planned, nothing of it was executed; the batch before it is committed
between states  one task has written its state, the other one has not
K2              all states are written; a file of the first table is staged, before the Delta commit
K4              between two tables
K12             between the compaction of two tables, which have the batch; the note names the one before it
before note     all tables have the batch, the note names the one before it
after note      the batch is committed, the next one is not planned

K6 is a correction between its reads and its write, K7 after its write, before its ledger. `silent`: a live driver has
read all there is, before the stream is quiet. Nothing in tailrace knows of them.

Of the points that Spark's checkpoint had, K1 (after its offsets) is `before states`; K3 (after the last table, before
Spark's commits) is `before note`; K3p (that, and the next entry is planned) is `before states` of the next batch, as an
entry is planned after the note of the one before it; K5 (after the upload of the states) is `between states` and K2.

As a program: a driver that kills itself, given a JSON of where and when.
"""

from __future__ import annotations

import dataclasses
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

import psutil
import pyarrow.parquet as pq
import pytest
from deltalake.table import TableOptimizer

from kit.oracles.oracle import Settings
from kit.runs.gated_states import GatedStates
from kit.runs.warehouse import even, make_query, make_stream, propose, write_files
from kit.suite.waiting import PATIENCE_S
from tailrace.correction.correction_range import CorrectionRange
from tailrace.engine.local_executor import LocalExecutor
from tailrace.ground.files.atomic_files import new_file
from tailrace.query.query import Query
from tailrace.spark import app
from tailrace.spark.distributed_correction import correct
from tailrace.spark.executor import SparkExecutor
from tailrace.storage import tables
from tailrace.stream import sink, status_reporter
from tailrace.stream.run_options import RunOptions
from tailrace.stream.sink import Sink

TUPLES = make_stream(600, seed=5)
SETTINGS = Settings(500, 100, 100, "sum", ("k_slack", 300))
BATCH_ROWS = 100
TESTS = Path(__file__).parents[2]

OF_A_BATCH = ("before states", "between states", "K2", "K4", "K12", "before note", "after note")


def write_input(directory: Path) -> None:
    write_files(TUPLES, directory / "in", even(len(TUPLES), 12))


def kill(directory: Path, point: str, batch: int, **more: object) -> None:
    """Run a driver in a process of its own that dies by kill -9 at the point, and check that it did."""
    task = {"point": point, "batch": batch, "in": str((directory / "in").resolve()), "wh": str(directory / "wh")}
    task |= {"settings": dataclasses.asdict(SETTINGS)} | more
    victim = subprocess.run(
        [sys.executable, "-m", "kit.runs.kill_points", json.dumps(task)],
        env=os.environ | {"PYTHONPATH": f"{TESTS}{os.pathsep}{TESTS.parent / 'include'}"},
        capture_output=True,
        text=True,
        timeout=2 * PATIENCE_S,
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


def _before_states(patch, point, batch, reached):
    for engine in (SparkExecutor, LocalExecutor):

        def run(self, header, *more, execute=engine.run):
            if header.batch == batch:
                reached()
            return execute(self, header, *more)

        patch.setattr(engine, "run", run)


def _between_states(patch, point, batch, reached):
    for engine in (SparkExecutor, LocalExecutor):

        def run(self, header, *more, execute=engine.run):
            if header.batch != batch:
                return execute(self, header, *more)
            states = self.states
            with tempfile.TemporaryDirectory() as gate:
                self.states = GatedStates(states.directory, Path(gate))
                waits = threading.Thread(target=_await_gate, args=(Path(gate), reached), daemon=True)
                waits.start()
                try:
                    rows = execute(self, header, *more)
                    waits.join(PATIENCE_S)
                    return rows
                finally:
                    self.states = states

        patch.setattr(engine, "run", run)


def _await_gate(gate: Path, reached: Callable[[], None]) -> None:
    while not (gate / "reached").exists():
        if not gate.exists():
            return
        time.sleep(0.02)
    try:
        reached()
    finally:
        (gate / "go").touch()


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


def _note(patch, point, batch, reached):
    record = sink.record_written

    def before_or_after_it(layout, names, number):
        if number == batch and point == "before note":
            reached()
        record(layout, names, number)
        if number == batch and point == "after note":
            reached()

    patch.setattr(sink, "record_written", before_or_after_it)


def _compaction(patch, point, batch, reached):
    write, compact = Sink.write, TableOptimizer.compact
    compacted = {}

    def compacting(self, rows, number):
        compacted.setdefault(number, 0)
        return write(dataclasses.replace(self, compact_every=1), rows, number)

    def in_the_middle(self, *arguments, **named):
        if batch in compacted and batch + 1 not in compacted:
            compacted[batch] += 1
            if compacted[batch] == 3:
                reached()
        return compact(self, *arguments, **named)

    patch.setattr(Sink, "write", compacting)
    patch.setattr(TableOptimizer, "compact", in_the_middle)


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
    "before states": _before_states,
    "between states": _between_states,
    "K2": _append,
    "K4": _append,
    "K12": _compaction,
    "before note": _note,
    "after note": _note,
    "K6": _correction,
    "K7": _correction,
    "silent": _silence,
}


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
