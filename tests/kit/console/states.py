"""Streams that ran in this process, left in the states in which the console's numbers are held against their tables.

Each state is a function that fills a directory with a source and a warehouse. `run_in` gives the stream in a state with
the time at which one looks at it; what `plain` and `source_rows` say of it shares no code with the console.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kit.fakes.fake_host import FakeHost
from kit.oracles.oracle import Settings
from kit.runs.local_driver import correct_here, one_by_one
from kit.runs.panel_stream import BATCH_ROWS, PanelStream, query_over, run_stream
from kit.runs.warehouse import even, make_query, make_stream, tables_of, write_files
from kit.suite.waiting import until
from tailrace.calibration.calibrate import calibrate
from tailrace.console.declared_queries import QueryCatalogue
from tailrace.console.stream_rows import Hosted, StreamRow, with_tables
from tailrace.console.table_facts import TableFacts
from tailrace.correction.correction_range import CorrectionRange
from tailrace.correction.quality import Promise
from tailrace.engine.batch_header import BatchHeader
from tailrace.engine.executor import Executor
from tailrace.engine.pipeline import Pipeline
from tailrace.engine.task_states import TaskStates
from tailrace.ground.errors import Refused
from tailrace.sources.segments import Segment
from tailrace.storage.status import Status, wall_ms
from tailrace.stream import app
from tailrace.stream.app import OpenExecutor
from tailrace.stream.run_options import RunOptions

ADAPTIVE, FIXED = {"policy": "mp_k_slack"}, {"policy": "k_slack", "k": "300 ms"}
LOST_BATCHES = 2  # of the running driver: those it has committed since its report
_TABLES = ("metrics", "segments", "late", "results", "quarantine", "corrections", "correction_runs", "quality")
_TABLES += ("proposals", "facts", "activity")


@dataclass(frozen=True)
class StreamInState(PanelStream):
    """A stream with the time at which one looks at it (ms); `is_driven`: its driver has just reported."""

    now_ms: int
    is_driven: bool


def backlog(directory: Path) -> PanelStream:
    """One batch took in all files, which arrived years ago."""
    tuples = make_stream(2_000, seed=7)
    write_files(tuples, directory / "in", even(2_000, 4))
    stream = PanelStream(query_over(directory, FIXED), directory / "wh", tuples)
    stream.driver.run()
    return stream


def adaptive(directory: Path) -> PanelStream:
    return run_stream(directory, ADAPTIVE, corrects=False)


def drained(directory: Path) -> PanelStream:
    """Files came after the driver's end."""
    stream = run_stream(directory, FIXED, corrects=False)
    write_files(make_stream(500, seed=9), directory / "in", even(500, 5), first=50)
    return stream


def corrected(directory: Path) -> PanelStream:
    """A part was corrected, and then everything, some of it again."""
    stream = run_stream(directory, FIXED, corrects=False)
    committed = max(row["committed"] for row in stream.rows("metrics"))
    correct_here(stream.query, stream.warehouse, CorrectionRange(committed - 20_000, committed - 10_000, arrival=True))
    correct_here(stream.query, stream.warehouse)
    correct_here(stream.query, stream.warehouse)
    return stream


def killed(directory: Path) -> PanelStream:
    """The last report is of a batch before the last one."""
    stream = run_stream(directory, ADAPTIVE, corrects=False)
    layout, rows = stream.view.layout, stream.rows("metrics")
    before = next(row for row in rows if row["batch"] == rows[-1]["batch"] // 2)
    old = {name: before[name] for name in ("committed", "frontier", "k_ms", "coverage")}
    replace(Status.read(layout), state="streaming", at_ms=wall_ms() - 120_000, rows=1, **old).write(layout)
    return stream


def partitioned(directory: Path) -> PanelStream:
    """The files of a partition share ticks."""
    tuples = make_stream(1_200, seed=5)
    for number in range(3):
        write_files(tuples[number * 400 :][:400], directory / "in" / f"day={number}", even(400, 8))
    stream = PanelStream(query_over(directory, FIXED), directory / "wh", tuples)
    stream.driver.run(BATCH_ROWS)
    return stream


def rejected(directory: Path) -> PanelStream:
    """No record has an event time."""
    write_files(make_stream(7, seed=5), directory / "in", [0, 7])
    (file,) = (directory / "in").glob("*.parquet")
    rows = pq.read_table(file)
    at = rows.schema.get_field_index("event_time")
    pq.write_table(rows.set_column(at, "event_time", pa.nulls(7, rows.schema.field(at).type)), file)
    stream = PanelStream(query_over(directory, FIXED), directory / "wh", [])
    stream.driver.run()
    return stream


def running(directory: Path) -> PanelStream:
    """The driver has reported in the middle of its stream, and committed further batches since."""
    return _reported_after(directory, 3, LOST_BATCHES)


def finishing(directory: Path) -> PanelStream:
    """The driver has reported in its last batch."""
    return _reported_after(directory, 5, 0)


def _reported_after(directory: Path, batches: int, lost: int) -> PanelStream:
    """Run a driver to its report with so many batches, and to the commit of some more."""
    stream = _unread(directory)
    opened = list[_Dying]()

    @contextmanager
    def open_executor(pipeline: Pipeline, states: TaskStates) -> Iterator[Executor]:
        with one_by_one(pipeline, states) as executor:
            opened.append(_Dying(executor, stream.view.layout.status, batches, batches + lost))
            yield opened[0]

    with pytest.raises(RuntimeError, match="it is enough"), reports_at_once():
        drive(stream, open_executor=open_executor)
    stream.view.layout.status.write_bytes(opened[0].reported)
    return stream


def idle(directory: Path) -> PanelStream:
    """The driver waits: it has read everything."""
    stream = _unread(directory)
    drive(stream)
    with _live(stream):
        _until_reported(stream, lambda status: status.state == "waiting")
    return stream


def broken_column(directory: Path) -> PanelStream:
    """A new file lacks a column that the query names, and the driver tries again and again."""
    stream = _unread(directory)
    drive(stream)
    with _live(stream):
        _until_reported(stream, lambda status: status.state == "waiting")
        write_without(directory, "key")
        _until_reported(stream, lambda status: "no column 'key'" in (status.problem or ""))
    return stream


def failed_column(directory: Path) -> PanelStream:
    """A driver that started with such a file failed."""
    stream = _unread(directory)
    drive(stream)
    write_without(directory, "key")
    with pytest.raises(Refused, match="no column 'key'"):
        drive(stream)
    return stream


def proposed(directory: Path) -> PanelStream:
    """A calibration has proposed a K that no batch has yet."""
    tuples, settings = make_stream(2_000, seed=6), Settings(1_000, 500, 100, "sum", ("k_slack", 60))
    write_files(tuples[:1_600], directory / "in", even(1_600, 4))
    query = make_query(directory / "in", settings, calibrated=True)
    stream = PanelStream(query, directory / "wh", tuples)
    stream.driver.run(BATCH_ROWS)
    calibrate(query, directory / "wh")
    return stream


def calibrated(directory: Path) -> PanelStream:
    """The driver has taken up the K of a calibration."""
    stream = proposed(directory)
    write_files(stream.tuples[1_600:], directory / "in", [0, 200, 400], first=4)
    stream.driver.run(BATCH_ROWS)
    return stream


STATES = (backlog, adaptive, drained, corrected, killed, partitioned, rejected)
STATES += (running, idle, broken_column, failed_column, proposed, calibrated)
_DRIVEN = (running, idle, broken_column)
_REPORTED = (*_DRIVEN, killed, failed_column)  # the others' drivers, in this process, write no last report
_RAN: dict[str, StreamInState] = {}


def run_in(state: Callable[[Path], PanelStream], directories: pytest.TempPathFactory) -> StreamInState:
    """Return the stream in a state, which all tests of a process share."""
    if state.__name__ not in _RAN:
        ran = state(directories.mktemp(state.__name__))
        layout = ran.view.layout
        if state in _DRIVEN:  # it reports each second
            replace(Status.read(layout), at_ms=wall_ms()).write(layout)
        elif state not in _REPORTED:
            replace(Status.read(layout), state="drained", at_ms=wall_ms(), rows_left=0).write(layout)
        _RAN[state.__name__] = StreamInState(ran.query, ran.warehouse, ran.tuples, wall_ms(), state in _DRIVEN)
    return _RAN[state.__name__]


def _unread(directory: Path) -> PanelStream:
    tuples = make_stream(1_500, seed=5)
    write_files(tuples, directory / "in", even(1_500, 6))
    return PanelStream(query_over(directory, FIXED), directory / "wh", tuples)


def write_without(directory: Path, column: str) -> None:
    """Put a further file into the source, which lacks a column."""
    write_files(make_stream(90, seed=3), directory / "new", [0, 90], first=90)
    (file,) = (directory / "new").iterdir()
    pq.write_table(pq.read_table(file).drop_columns([column]), file)
    (directory / "in").mkdir(exist_ok=True)
    file.rename(directory / "in" / file.name)


def drive(stream: PanelStream, live: bool = False, open_executor: OpenExecutor = one_by_one) -> None:
    """Run the product's driver, with its reports."""
    app.run(stream.query, stream.warehouse, RunOptions(BATCH_ROWS, live=live, flush=False), None, open_executor)


@contextmanager
def reports_at_once() -> Iterator[None]:
    """Write each report, not only one a second."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("tailrace.stream.status_reporter.WRITE_EVERY_S", 0.0)
        yield


@contextmanager
def _live(stream: PanelStream) -> Iterator[None]:
    """Run a live driver meanwhile; its report is in the end what it is at the end of the block."""
    layout = stream.view.layout
    with reports_at_once():
        driver = threading.Thread(target=drive, args=(stream, True))
        driver.start()
        try:
            yield
            reported = layout.status.read_bytes()
        finally:
            layout.drain.touch()
            driver.join()
    layout.drain.unlink()
    layout.status.write_bytes(reported)


def _until_reported(stream: PanelStream, is_so: Callable[[Status], bool]) -> None:
    def is_reported() -> bool:
        status = Status.read(stream.view.layout)
        return status is not None and is_so(status)

    until(is_reported)


@dataclass
class _Dying:
    """An executor that keeps the report at the beginning of a batch, and fails in that or a later one."""

    executor: Executor
    status: Path
    reported_in: int
    fails_in: int
    reported: bytes = b""

    def run(self, header: BatchHeader, segments: Sequence[Segment], before: int) -> dict[str, pa.Table]:
        if header.batch == self.reported_in:
            self.reported = self.status.read_bytes()
        if header.batch == self.fails_in:
            raise ValueError("it is enough")
        return self.executor.run(header, segments, before)

    def cancel(self) -> None:
        self.executor.cancel()


@contextmanager
def _clock_at(now_ms: int) -> Iterator[None]:
    """Set the console's clock."""
    with pytest.MonkeyPatch.context() as patch:
        for module in ("stream_rows", "stream_state", "table_facts"):
            patch.setattr(f"tailrace.console.{module}.wall_ms", lambda: now_ms)
        yield


def bare_row(stream: PanelStream, now_ms: int) -> StreamRow:
    """Return the row of a stream before its tables were read; no driver host knows its driver."""
    with _clock_at(now_ms):
        unpromised = frozenset(() if Promise.of_policy(stream.query.policy).is_given else (stream.view.name,))
        known = QueryCatalogue(views={}, kinds={}, faults={}, problems=[], unpromised=unpromised)
        return Hosted(FakeHost(), [])._row(stream.view, known, None)


def looked_at(stream: PanelStream, now_ms: int) -> StreamRow:
    """Return the row of a stream, or the head of its page, as one sees it at a time."""
    with _clock_at(now_ms):
        return with_tables(bare_row(stream, now_ms), TableFacts.read(stream.view.layout))


def is_in(stream: StreamInState, state: Callable[[Path], PanelStream]) -> bool:
    """Test whether a stream is in a state."""
    return _RAN.get(state.__name__) is stream


def head(stream: StreamInState) -> StreamRow:
    """Return the row of a stream as one sees it when it has come into its state."""
    return looked_at(stream, stream.now_ms)


@cache
def _connection(warehouse: Path) -> duckdb.DuckDBPyConnection:
    tables, connection = tables_of(warehouse), duckdb.connect()
    for name in _TABLES:
        if tables.has(name):
            connection.register(name, tables.read(name))
    return connection


def rows_by(stream: PanelStream, sql: str) -> list[tuple[Any, ...]]:
    """Return the rows of a query over the tables' rows, with times in ms; the tables must not change any more."""
    return _connection(stream.warehouse).sql(sql).fetchall()


def plain(stream: PanelStream, sql: str) -> Any:
    """Return the only value of a query over the tables' rows."""
    ((value,),) = rows_by(stream, sql)
    return value


def source_rows(stream: PanelStream) -> dict[str, int]:
    """Return the number of rows of each file of the source, by its path."""
    files = (stream.warehouse.parent / "in").glob("**/*.parquet")
    return {str(file): pq.read_metadata(file).num_rows for file in files}
