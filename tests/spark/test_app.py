"""What a Ctrl-C leaves behind, and the commands end to end; `unit/stream/test_app.py` has what a run refuses."""

from __future__ import annotations

import csv
import json
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pyarrow.parquet as pq
import pytest

from kit.oracles.oracle import Settings, stream
from kit.oracles.oracle_assertions import assert_streamed
from kit.runs.warehouse import even, make_query, make_stream, rows_of, write_files
from kit.suite.waiting import PATIENCE_S, until
from tailrace.spark import app

ROOT = Path(__file__).parents[2]
FLIGHTS = ROOT / "include" / "queries" / "flights.yaml"
TUPLES = make_stream(400, seed=21)
SETTINGS = Settings(500, 100, 100, "sum", ("k_slack", 300))
BOUNDS = even(len(TUPLES), 8)


def command(*arguments: object) -> subprocess.Popen[str]:
    """The command line as a process group of its own, as a terminal starts it."""
    return subprocess.Popen(
        [sys.executable, "-u", "-c", "from tailrace.cli.commands import main; main()", *map(str, arguments)],
        env=os.environ | {"PYTHONPATH": str(ROOT / "include"), "COLUMNS": "200"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def group(leader: int) -> list[psutil.Process]:
    """What still runs of a process group."""
    found = []
    for process in psutil.process_iter():
        try:
            if os.getpgid(process.pid) == leader and process.status() != psutil.STATUS_ZOMBIE:
                found.append(process)
        except (ProcessLookupError, psutil.NoSuchProcess):
            continue
    return found


def over_sample(directory: Path, files: int) -> tuple[object, ...]:
    """The command that runs and corrects the sample query over the first files of its sample."""
    (directory / "in").mkdir()
    for file in sorted((ROOT / "samples" / "flights").iterdir())[:files]:
        shutil.copy(file, directory / "in")
    places = ("--input", f"departures={directory / 'in'}", "--warehouse", directory / "wh")
    return ("run", FLIGHTS, *places, "--bounded", "--correct")


@pytest.mark.parametrize(("batches", "bounded"), [(0, ["--bounded"]), (2, ["--bounded"]), (2, [])])
def test_ctrl_c_leaves_nothing_running_and_the_next_run_goes_on(tmp_path, spark, batches, bounded):
    write_files(TUPLES, tmp_path / "in", even(len(TUPLES), 40))
    file = tmp_path / "query.yaml"
    file.write_text(
        "name: readings\nkind: aggregate\n"
        f"streams:\n  readings:\n    source: {{format: parquet, path: {tmp_path / 'in'}}}\n"
        "    event_time: event_time\n    arrival_time: arrival_time\n    id: id\n    key: key\n"
        "window: {size: 500 ms, slide: 100 ms}\ndisorder: {policy: k_slack, k: 300 ms, tick: 100 ms}\n"
        "aggregate: {function: sum, column: value}\n"
    )
    running = command("run", file, "--warehouse", tmp_path / "wh", *bounded, "--batch-rows", 1)
    assert running.stderr is not None
    for line in running.stderr:  # after so many batches; before the first one: while Spark starts
        first = line.split(maxsplit=1)[0] if line.strip() else ""
        if (first.isdigit() and int(first) >= batches) or (not batches and "WARNING" in line):
            break
    os.killpg(running.pid, signal.SIGINT)
    _, stderr = running.communicate(timeout=PATIENCE_S)
    assert running.returncode == 130, stderr
    assert "Traceback" not in stderr
    assert "Exception" not in stderr
    until(lambda: not group(running.pid), "nothing of the group runs", every_s=0.1, seen=lambda: group(running.pid))
    app.run(make_query(tmp_path / "in", SETTINGS), tmp_path / "wh")
    assert_streamed(rows_of(tmp_path / "wh"), stream(TUPLES, SETTINGS))


def test_ctrl_c_while_correcting_and_the_same_command_goes_on(tmp_path):
    line = over_sample(tmp_path, files=1)
    running = command(*line)
    until((tmp_path / "wh" / "flights" / ".correction.lock").exists)
    os.killpg(running.pid, signal.SIGINT)
    _, stderr = running.communicate(timeout=PATIENCE_S)
    assert running.returncode == 130, stderr
    assert "interrupted" in stderr
    again = command(*line)
    _, stderr = again.communicate(timeout=PATIENCE_S)
    assert again.returncode == 0, stderr
    assert "corrected all event times" in stderr


def test_the_commands_end_to_end(tmp_path):
    run = command(*over_sample(tmp_path, files=4))
    _, stderr = run.communicate(timeout=PATIENCE_S)
    assert run.returncode == 0, stderr
    assert "coverage" in stderr
    assert "corrected all event times" in stderr
    given = command("results", FLIGHTS, "--warehouse", tmp_path / "wh", "--format", "csv")
    rows = list(csv.DictReader(given.communicate(timeout=PATIENCE_S)[0].splitlines()))
    assert rows
    assert all(float(row["coverage"]) == 1 for row in rows)
    assert rows[0]["window_start"] == "2013-01-01T05:00:00.000Z"
    for form, read in (("parquet", pq.read_table), ("jsonl", lambda path: [*map(json.loads, path.open())])):
        out = tmp_path / f"answers.{form}"
        done = command("results", FLIGHTS, "--warehouse", tmp_path / "wh", "--format", form, "--output", out)
        assert done.wait(PATIENCE_S) == 0
        assert len(read(out)) == len(rows)
    streamed = command("results", FLIGHTS, "--warehouse", tmp_path / "wh", "--as-of", "stream", "--format", "csv")
    text = streamed.communicate(timeout=PATIENCE_S)[0]
    assert any(float(row["coverage"]) < 1 for row in csv.DictReader(text.splitlines()))
