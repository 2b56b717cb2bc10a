"""The command line: exit codes, messages of refusals, and no writes by a refused command."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kit.suite.waiting import PATIENCE_S
from tailrace.cli import commands
from tailrace.query.loading import load
from tailrace.spark import session
from tailrace.storage.layout import Layout

ROOT = Path(__file__).parents[3]
ENVIRONMENT = os.environ | {"PYTHONPATH": str(ROOT / "include"), "PYTHONUNBUFFERED": ""}
FLIGHTS = ROOT / "include" / "queries" / "flights.yaml"
COMMANDS = (
    "init",
    "new",
    "doctor",
    "backup",
    "restore",
    "validate",
    "explain",
    "run",
    "correct",
    "results",
    "quality",
    "calibrate",
    "deploy",
    "status",
    "drain",
    "stop",
    "serve",
    "schema",
)


@pytest.mark.needs("process")
@pytest.mark.slow
def test_the_entry_point_runs_in_a_process_of_its_own():
    process = subprocess.run(
        [sys.executable, "-c", "from tailrace.cli.start import main; main()", "validate", str(FLIGHTS)],
        env=os.environ | {"PYTHONPATH": str(ROOT / "include")},
        capture_output=True,
        text=True,
        check=True,
    )
    assert process.stdout == f"{FLIGHTS}: no fault found\n"


@pytest.fixture
def handlers():
    """Restore the signal handlers after the test; a signal that the command leaves unhandled fails the test."""

    def fail(number: int, frame: object) -> None:
        raise AssertionError(f"nobody takes {signal.Signals(number).name}")

    report = sys.unraisablehook
    previous = {number: signal.signal(number, fail) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    yield
    for number, handler in previous.items():
        signal.signal(number, handler)
    sys.unraisablehook = report


RESUMABLE = "interrupted: what is committed stays, and the same command goes on from there\n"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP], ids=lambda number: number.name)
@pytest.mark.parametrize(
    ("command", "message"), [("run", RESUMABLE), ("restore", "interrupted: nothing of it stays\n")]
)
def test_a_signal_interrupts_a_command_and_its_message_says_what_remains(
    tailrace, handlers, monkeypatch, number, command, message
):
    events = []

    def interrupted_app(**_: object) -> None:
        try:
            signal.raise_signal(number)
        finally:
            events.append("cleaned up")

    monkeypatch.setattr(commands, "app", interrupted_app)
    assert tailrace(command, code=130).stderr == message
    assert events == ["cleaned up"]


LOGGED = """
import logging, os, signal, time
from tailrace.cli import commands

def interrupted_app(**_):
    try:
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(30)
    except KeyboardInterrupt:
        logging.exception("KeyboardInterrupt while sending command.")
        logging.getLogger("py4j.clientserver").exception("There was an exception while executing the Python Proxy")
        logging.getLogger("py4j.clientserver").error("Exception occurred while shutting down connection")
        raise

commands.app = interrupted_app
commands.main()
"""
FINALIZED = """
import os, signal, time
from tailrace.cli import commands

class Finalized:
    def __del__(self):
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(30)

def app(**_):
    Finalized()
    time.sleep(90)

commands.app = app
commands.main()
"""


@pytest.mark.needs("process")
@pytest.mark.parametrize("code", [LOGGED, FINALIZED], ids=["py4j logs tracebacks of it", "a finalizer swallows it"])
def test_an_interruption_is_reported_alone_whatever_becomes_of_its_exception(code):
    """Python reports an error of a finalizer, and goes on."""
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=PATIENCE_S, check=False
    )
    assert (result.returncode, result.stderr) == (130, RESUMABLE)


def test_an_interruption_is_reported_though_stdout_is_a_closed_pipe(tailrace, handlers, monkeypatch):
    def interrupted_app(**_: object) -> None:
        read_end, write_end = os.pipe()
        os.close(read_end)
        monkeypatch.setattr(sys, "stdout", os.fdopen(write_end, "w"))
        print("to nobody")
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(commands, "app", interrupted_app)
    assert tailrace("results", code=130).stderr == RESUMABLE


READING_SCRIPT = """
import io, os, signal, threading, time
import pyarrow as pa, pyarrow.dataset as ds, pyarrow.parquet as pq
from tailrace.cli import commands

written = io.BytesIO()
pq.write_table(pa.table({"a": range(1000)}), written, row_group_size=10)

class Slow(io.BytesIO):
    def read(self, *size):
        time.sleep(0.02)
        return super().read(*size)

def reads(**_):
    form = ds.ParquetFileFormat()
    parts = [form.make_fragment(pa.PythonFile(Slow(written.getvalue()), "r")) for _ in range(20)]
    table = ds.FileSystemDataset(parts, pa.schema({"a": pa.int64()}), form)
    REST

commands.app = reads
commands.main()
"""
INTERRUPTED = READING_SCRIPT.replace(
    "REST",
    """threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
    print("begun")
    while True:
        table.to_table()""",
)
DONE = READING_SCRIPT.replace(
    "REST",
    """commands.batches = table.to_batches()  # Arrow reads ahead of the first one, through Python
    next(commands.batches)
    print("done")""",
)


@pytest.mark.needs("process")
@pytest.mark.slow
@pytest.mark.parametrize(
    ("script", "expected"),
    [(INTERRUPTED, (130, "begun\n", RESUMABLE)), (DONE, (0, "done\n", ""))],
    ids=["interrupted", "done"],
)
def test_reads_in_progress_do_not_abort_a_command(script, expected):
    for _ in range(4):  # without os._exit, the interpreter's shutdown aborts two of three runs, or hangs
        process = subprocess.run(
            [sys.executable, "-c", script],
            env=ENVIRONMENT,
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
            check=False,
        )
        assert (process.returncode, process.stdout, process.stderr) == expected


@pytest.mark.needs("process")
def test_a_command_that_is_done_leaves_as_a_normal_exit_does():
    """Its threads are joined, pools included, and the functions of `atexit` called."""
    code = """
import atexit, threading, time
from concurrent.futures import ThreadPoolExecutor
from tailrace.cli import commands

def app(**_):
    threading.Thread(target=lambda: (time.sleep(0.2), print("joined"))).start()
    ThreadPoolExecutor().submit(print, "in a pool")
    atexit.register(print, "at exit")
    print("to the end")
    return 3

commands.app = app
commands.main()
"""
    result = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=PATIENCE_S, check=False, env=ENVIRONMENT
    )
    assert (result.returncode, result.stderr) == (3, "")
    assert sorted(result.stdout.splitlines()) == ["at exit", "in a pool", "joined", "to the end"]


def test_under_nohup_a_hangup_is_ignored(tailrace, handlers, monkeypatch):
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    monkeypatch.setattr(commands, "app", lambda **_: signal.raise_signal(signal.SIGHUP))
    assert tailrace("run").stderr == ""


def test_under_nohup_a_hangup_is_ignored_while_spark_starts(handlers):
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    steps = []
    with suppress(KeyboardInterrupt):  # an interruption would end the whole test run
        with session._uninterrupted():
            signal.raise_signal(signal.SIGHUP)
        steps.append("started")
    assert steps == ["started"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP], ids=lambda number: number.name)
def test_an_interruption_while_spark_starts_is_deferred_until_it_has_started(handlers, number):
    steps = []

    def start() -> None:
        with session._uninterrupted():
            signal.raise_signal(number)
            steps.append("started")

    with pytest.raises(KeyboardInterrupt):
        start()
    assert steps == ["started"]


def query(tmp_path: Path, **changes: str) -> Path:
    """The sample query with some of its lines changed."""
    lines = FLIGHTS.read_text().replace("../../samples/flights", str(tmp_path / "in")).splitlines()
    for key, line in changes.items():
        number = next(i for i, text in enumerate(lines) if text.strip().startswith(key))
        indent = lines[number][: len(lines[number]) - len(lines[number].lstrip())]
        lines[number] = indent + line
    file = tmp_path / "query.yaml"
    file.write_text("\n".join(lines))
    return file


def flights(**columns: pa.Array) -> pa.Table:
    time = pa.timestamp("ms", "UTC")
    defaults = {
        "flight": pa.array([1, 2]),
        "scheduled": pa.array([1_600_000_000_000, 1_600_000_060_000], time),
        "actual": pa.array([1_600_000_000_000, 1_600_000_060_000], time),
        "carrier": pa.array(["AA", "UA"]),
        "delay": pa.array([0.0, 1.0]),
    }
    return pa.table({name: column for name, column in (defaults | columns).items() if column is not None})


@pytest.mark.parametrize("command", COMMANDS)
def test_help_has_an_example(tailrace, command):
    assert f"Example: tailrace {command}" in tailrace(command, "--help").stdout


def test_validate_accepts_a_right_file_and_refuses_a_wrong_one(tailrace, tmp_path):
    checked = tailrace("validate", FLIGHTS)
    assert checked.stderr == "the sources were not looked at: --source does that\n"
    assert checked.stdout.endswith("flights.yaml: no fault found\n")
    wrong_file = query(tmp_path, window="window: {size: 5, slide: 15 min}")
    output = tailrace("validate", FLIGHTS, wrong_file, code=2)
    assert f"{wrong_file}:13: window.size" in output.stderr
    assert "right would be" in output.stderr


def test_explain_tells_how_a_query_is_run_and_why(tailrace):
    plan, _, forms = tailrace("explain", FLIGHTS).stdout.partition("\n\n")
    lines = dict(line.split(maxsplit=1) for line in plan.splitlines())
    assert lines["kind"] == "aggregate"
    assert lines["partition"] == "by the hash of the key, over 2 tasks"
    assert lines["method"] == "avg of panes of 1 h, 6 to a window"
    assert lines["lineage"] == "key ← carrier; value ← delay; which answers ← carrier, scheduled"
    assert lines.keys() == {"query", "kind", "streams", "partition", "method", "why", "null", "policy", "lineage"}
    assert "aggregate: {function: avg, column: delay}" in forms
    assert "FROM HOP(TABLE departures, DESCRIPTOR(scheduled), INTERVAL '1' HOUR, INTERVAL '6' HOUR)" in forms


@pytest.mark.parametrize(
    ("table", "fragments"),
    [
        (flights(carrier=None), ["no column 'carrier'", "key", "one of actual"]),
        (flights(delay=pa.array(["late", "early"])), ["delay", "string", "integer, float or decimal"]),
        (flights(scheduled=pa.array(["2020", "2021"])), ["scheduled", "string", "timestamp"]),
        (flights(flight=pa.array([1.5, 2.5])), ["flight", "double", "string or an integer"]),
    ],
)
def test_a_source_that_does_not_fit_is_refused_and_nothing_written(tailrace, tmp_path, table, fragments):
    (tmp_path / "in").mkdir()
    pq.write_table(table, tmp_path / "in" / "part-0.parquet")
    output = tailrace("run", query(tmp_path), "--warehouse", tmp_path / "wh", "--bounded", code=2)
    assert all(fragment in output.stderr for fragment in fragments), output.stderr
    assert not (tmp_path / "wh").exists()


@pytest.mark.parametrize(
    ("make", "fragment"),
    [
        (lambda path: None, "no such file or directory"),
        (lambda path: (path.mkdir(), (path / "part-0.parquet").write_bytes(b"PAR1 not")), "can't be read as Parquet"),
        (lambda path: (path.mkdir(), (path / "notes.txt").write_text("x")), "no parquet file by its name"),
    ],
)
def test_a_missing_or_unreadable_source_is_refused(tailrace, tmp_path, make, fragment):
    make(tmp_path / "in")
    output = tailrace("run", query(tmp_path), "--warehouse", tmp_path / "wh", "--bounded", code=2)
    assert fragment in output.stderr
    assert not (tmp_path / "wh").exists()


def test_validate_looks_at_the_source(tailrace, tmp_path):
    file, source = query(tmp_path), tmp_path / "in" / "a.parquet"
    assert "no such file" in tailrace("validate", file, "--source", code=2).stderr
    source.parent.mkdir()
    assert "no record yet" in tailrace("validate", file, "--source").stdout
    seconds = pa.array([1_600_000_000, 1_600_000_060])
    pq.write_table(flights(scheduled=seconds, actual=seconds), source)
    output = tailrace("validate", file, "--source", code=2)
    assert "of 2 records that were looked at 0 fit, 2 do not" in output.stdout
    assert "looks like epoch seconds" in output.stderr
    pq.write_table(flights(delay=pa.array([0.0, float("nan")])), source)
    output = tailrace("validate", file, "--source").stdout
    assert "1 × delay is NaN, as a.parquet, row 2: " in output
    assert f"{file}: no fault found" in output
    pq.write_table(flights(delay=None), source)
    assert "no column 'delay'" in tailrace("validate", file, "--source", code=2).stderr
    assert not (tmp_path / "wh").exists()


def test_validate_refuses_files_that_share_a_name(tailrace, tmp_path):
    copy = tmp_path / "copy.yaml"
    copy.write_text(FLIGHTS.read_text())
    output = tailrace("validate", FLIGHTS, copy, FLIGHTS, code=2)
    assert output.stdout == f"{FLIGHTS}: no fault found\n" * 2
    assert f"{copy}: name: flights is declared in {FLIGHTS}, too" in output.stderr


@pytest.mark.parametrize("more", [(), ("--correct",), ("--keep-open", "--correct")])
def test_an_input_without_rows_is_no_fault(tailrace, tmp_path, more):
    (tmp_path / "in").mkdir()
    output = tailrace("run", query(tmp_path), "--warehouse", tmp_path / "wh", "--bounded", *more)
    assert "the input has no rows" in output.stderr
    assert not (tmp_path / "wh").exists()


def test_options_that_do_not_fit_are_refused(tailrace, tmp_path):
    file = query(tmp_path)
    cases = [
        (("run", file, "--warehouse", tmp_path / "wh", "--keep-open"), "--bounded"),
        (("run", file, "--warehouse", tmp_path / "wh", "--correct"), "--bounded"),
        (("run", file, "--warehouse", tmp_path / "wh", "--bounded", "--input", "nothing=x"), "names no stream"),
        (("correct", file, "--warehouse", tmp_path / "wh"), "never run"),
        (("correct", file, "--warehouse", tmp_path / "wh", "--from", "yesterday"), "is no time"),
        (("correct", file, "--warehouse", tmp_path / "wh", "--from", "2020-01-01", "--arrived-to", "2020"), "exclude"),
        (("results", file, "--warehouse", tmp_path / "wh", "--format", "parquet"), "--output"),
        (("results", file, "--warehouse", tmp_path / "wh", "--format", "xml"), "--format"),
        (("nonsense",), "nonsense"),
    ]
    for arguments, fragment in cases:
        assert fragment in tailrace(*arguments, code=2).stderr
    assert not (tmp_path / "wh").exists()


@pytest.mark.parametrize(("command", "writer"), [("run", "stream"), ("rebuild", "correction")])
def test_a_query_that_another_process_is_at_is_refused(tailrace, tmp_path, command, writer):
    file = query(tmp_path, source=f"source: {{format: parquet, path: {ROOT / 'samples' / 'flights'}}}")
    with Layout.for_query(tmp_path / "wh", "flights").lock(writer):
        output = tailrace(command, file, "--warehouse", tmp_path / "wh", code=2)
    assert "another process" in output.stderr


def test_a_query_in_use_fails_in_a_supervised_driver_so_that_it_is_tried_again(monkeypatch, tmp_path):
    file = query(tmp_path, source=f"source: {{format: parquet, path: {ROOT / 'samples' / 'flights'}}}")
    monkeypatch.setattr(sys, "argv", ["tailrace", "run", str(file), "--warehouse", str(tmp_path / "wh")])
    with Layout.for_query(tmp_path / "wh", "flights").lock("stream"), pytest.raises(SystemExit) as ended:
        commands.main(retried=True)
    assert ended.value.code == 1
    apps = sorted((ROOT / "spark_apps").glob("*.py"))
    retried = [app.stem for app in apps if "main(retried=True)" in app.read_text()]
    assert retried == ["calibrate", "correct", "rebuild", "stream"]


def test_a_changed_query_that_its_checkpoint_does_not_fit_is_refused_with_its_file(tailrace, tmp_path):
    layout = Layout.for_query(tmp_path / "wh", "flights")
    layout.create_checkpoint(load(query(tmp_path)).structure(), {}, {})
    file = query(tmp_path, window="window: {size: 5 h, slide: 1 h}")
    output = tailrace("run", file, "--warehouse", tmp_path / "wh", code=2)
    line = 1 + file.read_text().splitlines().index("window: {size: 5 h, slide: 1 h}")
    assert f"{file}:{line}: window.size: it is '5 h', but the stream in" in " ".join(output.stderr.split())
    assert not (tmp_path / "wh" / "flights" / ".stream.lock").exists(), "no run began"


@pytest.mark.parametrize("verb", ["deploy", "status", "drain", "stop"])
def test_a_query_that_is_not_declared_has_no_driver(tailrace, tmp_path, monkeypatch, verb):
    monkeypatch.setenv("TAILRACE_QUERIES", str(FLIGHTS.parent))
    assert "right would be: flights" in tailrace(verb, "flight", code=2).stderr
    monkeypatch.setenv("TAILRACE_QUERIES", str(tmp_path / "nowhere"))
    assert "it is no directory" in tailrace(verb, "flights", code=2).stderr


@pytest.mark.parametrize("memory", ["999999g", "2g\n", "400m"])
def test_an_invalid_driver_memory_is_refused(tailrace, memory):
    output = tailrace("deploy", "flights", "--driver-memory", memory, code=2)
    assert "right would be: a number and m or g, from 500m to 999g" in output.stderr


@pytest.mark.parametrize("command", ["results", "quality"])
def test_a_query_that_never_ran_has_nothing_to_read(tailrace, tmp_path, command):
    output = tailrace(command, query(tmp_path), "--warehouse", tmp_path / "wh", "--format", "csv", code=2)
    assert "the query has never run in this warehouse" in output.stderr
    assert not output.stdout


def test_a_range_of_answers_that_is_none_is_refused(tailrace, tmp_path):
    for options, fragment in {
        ("--from", "yesterday"): "--from: 'yesterday' is no time",
        ("--to", "2013-02-30"): "--to: '2013-02-30' is no time",
        ("--from", "2013-02-02", "--to", "2013-02-01"): "is not after 2013-02-02",
    }.items():
        output = tailrace("results", query(tmp_path), "--warehouse", tmp_path / "wh", *options, code=2)
        assert fragment in output.stderr


@pytest.mark.parametrize("names", ["flights", "its file"])
def test_a_query_is_backed_up_by_its_name_or_file_and_restored(tailrace, tmp_path, names):
    layout, file = Layout.for_query(tmp_path / "wh", "flights"), query(tmp_path)
    layout.create_checkpoint(load(file).structure(), {}, {})
    named = file if names == "its file" else names
    warehouse, output = ("--warehouse", tmp_path / "wh"), ("--output", tmp_path / "backup")
    assert "backed up flights: 0 batches, 2 files" in tailrace("backup", named, *warehouse, *output).stderr
    assert "not empty" in tailrace("backup", named, *warehouse, *output, code=2).stderr
    assert "restored flights" in tailrace("restore", tmp_path / "backup", "--warehouse", tmp_path / "other").stderr
    assert Layout.for_query(tmp_path / "other", "flights").manifest() == layout.manifest()
    assert "has this query already" in tailrace("restore", tmp_path / "backup", *warehouse, code=2).stderr
    for nothing, wrong in {"nobody": "never run", "no.yaml": "No such file"}.items():
        assert wrong in tailrace("backup", nothing, *warehouse, "--output", tmp_path / "none", code=2).stderr
    assert sorted(path.name for path in (tmp_path / "wh").iterdir()) == ["flights"]
