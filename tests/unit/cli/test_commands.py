"""The command line: exit codes, refusals that teach, nothing written by what was refused."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tailrace.cli import commands
from tailrace.cli.commands import main
from tailrace.spark import session
from tailrace.storage.layout import Layout

ROOT = Path(__file__).parents[3]
FLIGHTS = ROOT / "include" / "queries" / "flights.yaml"
COMMANDS = (
    "validate",
    "run",
    "correct",
    "results",
    "quality",
    "calibrate",
    "deploy",
    "status",
    "drain",
    "stop",
    "replay",
    "demo",
    "bench",
    "schema",
)


@dataclass
class Done:
    stdout: str
    stderr: str


@pytest.fixture
def tailrace(capsys, monkeypatch):
    """Run the command as a user does, in this process."""

    def run(*arguments: object, code: int = 0) -> Done:
        monkeypatch.setattr(sys, "argv", ["tailrace", *map(str, arguments)])
        monkeypatch.setenv("COLUMNS", "160")
        with pytest.raises(SystemExit) as ended:
            main()
        done = Done(*capsys.readouterr())
        assert (ended.value.code or 0) == code, done
        return done

    return run


def test_the_entry_point_is_there():
    done = subprocess.run(
        [sys.executable, "-c", "from tailrace.cli.commands import main; main()", "validate", str(FLIGHTS)],
        env=os.environ | {"PYTHONPATH": str(ROOT / "include")},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout == f"{FLIGHTS}: right\n"


@pytest.fixture
def handlers():
    """The signals' handlers are as they were afterwards; a signal that nobody takes is a fault."""

    def nobody(number: int, frame: object) -> None:
        raise AssertionError(f"nobody takes {signal.Signals(number).name}")

    before = {number: signal.signal(number, nobody) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


STAYS = "interrupted: what is committed stays, and the same command goes on from there\n"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP], ids=lambda number: number.name)
@pytest.mark.parametrize(("command", "told"), [("run", STAYS), ("demo", "interrupted: nothing of it runs any more\n")])
def test_a_signal_interrupts_and_says_what_is_left(tailrace, handlers, monkeypatch, number, command, told):
    left = []

    def works(**_: object) -> None:
        try:
            signal.raise_signal(number)
        finally:
            left.append("cleaned up")

    monkeypatch.setattr(commands, "app", works)
    monkeypatch.setattr(os, "_exit", sys.exit)
    assert tailrace(command, code=130).stderr == told
    assert left == ["cleaned up"]


def test_an_interruption_whose_output_nobody_reads_is_one(tailrace, handlers, monkeypatch):
    def works(**_: object) -> None:
        reading, writing = os.pipe()
        os.close(reading)
        monkeypatch.setattr(sys, "stdout", os.fdopen(writing, "w"))
        print("to nobody")
        signal.raise_signal(signal.SIGINT)

    monkeypatch.setattr(commands, "app", works)
    monkeypatch.setattr(os, "_exit", sys.exit)
    assert tailrace("results", code=130).stderr == STAYS


READS = """
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
    threading.Timer(0.5, os.kill, (os.getpid(), signal.SIGINT)).start()
    table = ds.FileSystemDataset(parts, pa.schema({"a": pa.int64()}), form)
    print("begun")
    while True:
        table.to_table()

commands.app = reads
commands.main()
"""


def test_what_still_reads_when_a_command_is_interrupted_does_not_abort_it():
    for _ in range(4):  # the interpreter's own end aborts two of three
        done = subprocess.run(
            [sys.executable, "-c", READS],
            env=os.environ | {"PYTHONPATH": str(ROOT / "include"), "PYTHONUNBUFFERED": ""},
            capture_output=True,
            text=True,
            check=False,
        )
        assert (done.returncode, done.stdout, done.stderr) == (130, "begun\n", STAYS)


def test_under_nohup_a_terminal_that_goes_is_no_interruption(tailrace, handlers, monkeypatch):
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    monkeypatch.setattr(commands, "app", lambda **_: signal.raise_signal(signal.SIGHUP))
    assert tailrace("run").stderr == ""


def test_neither_is_it_while_spark_starts(handlers):
    signal.signal(signal.SIGHUP, signal.SIG_IGN)
    done = []
    with suppress(KeyboardInterrupt):  # which would end the tests
        with session._uninterrupted():
            signal.raise_signal(signal.SIGHUP)
        done.append("started")
    assert done == ["started"]


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP], ids=lambda number: number.name)
def test_an_interruption_while_spark_starts_is_put_off_until_it_has(handlers, number):
    done = []

    def start() -> None:
        with session._uninterrupted():
            signal.raise_signal(number)
            done.append("started")

    with pytest.raises(KeyboardInterrupt):
        start()
    assert done == ["started"]


def query(tmp_path: Path, **changes: str) -> Path:
    """The sample query with some of its lines changed."""
    lines = FLIGHTS.read_text().replace("../../samples/flights", str(tmp_path / "in")).splitlines()
    for key, line in changes.items():
        place = next(i for i, old in enumerate(lines) if old.strip().startswith(key))
        indent = lines[place][: len(lines[place]) - len(lines[place].lstrip())]
        lines[place] = indent + line
    file = tmp_path / "query.yaml"
    file.write_text("\n".join(lines))
    return file


def flights(**columns: pa.Array) -> pa.Table:
    time = pa.timestamp("ms", "UTC")
    good = {
        "flight": pa.array([1, 2]),
        "scheduled": pa.array([1_600_000_000_000, 1_600_000_060_000], time),
        "actual": pa.array([1_600_000_000_000, 1_600_000_060_000], time),
        "carrier": pa.array(["AA", "UA"]),
        "delay": pa.array([0.0, 1.0]),
    }
    return pa.table({name: column for name, column in (good | columns).items() if column is not None})


@pytest.mark.parametrize("command", COMMANDS)
def test_help_has_an_example(tailrace, command):
    assert f"Example: tailrace {command}" in tailrace(command, "--help").stdout


def test_validate_tells_right_and_wrong(tailrace, tmp_path):
    assert "right" in tailrace("validate", FLIGHTS).stdout
    wrong = query(tmp_path, window="window: {size: 5, slide: 15 min}")
    done = tailrace("validate", FLIGHTS, wrong, code=2)
    assert f"{wrong}:13: window.size" in done.stderr
    assert "right would be" in done.stderr


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
    done = tailrace("run", query(tmp_path), "--warehouse", tmp_path / "wh", "--bounded", code=2)
    assert all(fragment in done.stderr for fragment in fragments), done.stderr
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
    done = tailrace("run", query(tmp_path), "--warehouse", tmp_path / "wh", "--bounded", code=2)
    assert fragment in done.stderr
    assert not (tmp_path / "wh").exists()


@pytest.mark.parametrize("more", [(), ("--correct",), ("--keep-open", "--correct")])
def test_an_input_without_rows_is_no_fault(tailrace, tmp_path, more):
    (tmp_path / "in").mkdir()
    done = tailrace("run", query(tmp_path), "--warehouse", tmp_path / "wh", "--bounded", *more)
    assert "the input has no rows" in done.stderr
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
        (("replay", "--output", tmp_path / "out", "--model", "game3"), "game3"),
        (("replay", "--output", tmp_path / "out", "--rows", "-1"), "rows is -1"),
        (("nonsense",), "nonsense"),
    ]
    for arguments, fragment in cases:
        assert fragment in tailrace(*arguments, code=2).stderr
    assert not (tmp_path / "wh").exists()
    assert not (tmp_path / "out").exists()


def test_a_lock_that_another_holds_is_no_refusal_for_good(tailrace, tmp_path):
    file = query(tmp_path, source=f"source: {{format: parquet, path: {ROOT / 'samples' / 'flights'}}}")
    with Layout.of(tmp_path / "wh", "flights").lock("stream"):
        busy = tailrace("run", file, "--warehouse", tmp_path / "wh", code=1)  # a supervisor tries again
    assert "another process is the stream" in busy.stderr


@pytest.mark.parametrize("verb", ["deploy", "status", "drain", "stop"])
def test_a_query_that_is_not_declared_has_no_driver(tailrace, tmp_path, monkeypatch, verb):
    monkeypatch.setenv("TAILRACE_QUERIES", str(FLIGHTS.parent))
    assert "right would be: flights" in tailrace(verb, "flight", code=2).stderr
    monkeypatch.setenv("TAILRACE_QUERIES", str(tmp_path / "nowhere"))
    assert "it is no directory" in tailrace(verb, "flights", code=2).stderr


@pytest.mark.parametrize("memory", ["999999g", "2g\n", "400m"])
def test_a_driver_is_given_no_memory_that_none_can_have(tailrace, memory):
    told = tailrace("deploy", "flights", "--driver-memory", memory, code=2)
    assert "right would be: a number and m or g, from 500m to 999g" in told.stderr


def test_results_of_a_query_that_never_ran_are_none(tailrace, tmp_path):
    done = tailrace("results", query(tmp_path), "--warehouse", tmp_path / "wh", "--format", "csv")
    assert done.stdout.strip() == '"key","window_start","window_end","value","tuples","coverage","k_ms","as_of"'


def test_replay_makes_a_stream(tailrace, tmp_path):
    tailrace("replay", "--output", tmp_path / "a", "--rows", 1000, "--files", 3)
    tailrace("replay", "--output", tmp_path / "b", "--rows", 1000, "--files", 3, "--format", "json")
    assert [file.name for file in sorted((tmp_path / "a").iterdir())] == [f"part-0000{i}.parquet" for i in range(3)]
    first = json.loads((tmp_path / "b" / "part-00000.json").read_text().splitlines()[0])
    assert set(first) == {"id", "event_time", "arrival_time", "sensor", "value"}
    again = tailrace("replay", "--output", tmp_path / "a", "--rows", 1000, code=2)
    assert "not empty" in again.stderr
