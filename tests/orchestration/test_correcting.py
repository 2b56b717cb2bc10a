"""The tasks of correct_<query>: which interval, when it may begin, and a spark-submit that leaves nothing behind."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
import time
from datetime import UTC, datetime
from itertools import pairwise
from types import SimpleNamespace

import psutil
import pytest
from airflow.sdk.exceptions import AirflowException, AirflowFailException, AirflowSkipException, TaskDeferred

from fake_host import QUERY, declare
from tailrace.orchestration import correcting
from tailrace.orchestration.correcting import CorrectOperator, WaitOperator
from tailrace.orchestration.fence import dead
from tailrace.spark.commits import Committed

# In the place of spark-submit: notes how it was called, and does as the warehouse says.
STAND_IN = f"""#!{sys.executable}
import json, os, pathlib, subprocess, sys, time
told = pathlib.Path(os.environ["TAILRACE_WAREHOUSE"], "told")
do = json.loads(told.read_text()) if told.exists() else {{}}
child = subprocess.Popen(["sleep", "600"], start_new_session=True) if do.get("stays") else None
note = told.with_name("called")
note.with_suffix(".new").write_text(json.dumps([os.getpid(), child and child.pid, sys.argv[1:]]))
note.with_suffix(".new").rename(note)
print("its last words", flush=True)
if child:
    child.wait()
sys.exit(do.get("code", 0))
"""


def context(run_type="scheduled", start="2013-01-01T00:00:00", end="2013-01-02T00:00:00", **params):
    interval = {} if run_type == "manual" else {"data_interval_start": utc(start), "data_interval_end": utc(end)}
    form = {"from": None, "to": None, "driver_memory": "1g"} | {
        name.rstrip("_"): value for name, value in params.items()
    }
    return {"dag_run": SimpleNamespace(run_type=run_type), "params": form, **interval}


def utc(text):
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def ms(text):
    return int(utc(text).timestamp() * 1000)


@pytest.fixture
def wait(place):
    return WaitOperator(task_id="wait", query="readings", file=str(place / "queries" / "readings.yaml"))


@pytest.fixture
def committed(monkeypatch):
    def say(until):
        monkeypatch.setattr(Committed, "read", staticmethod(lambda layout: Committed(until, until, False)))

    return say


@pytest.mark.parametrize("run_type", ["scheduled", "backfill"])
def test_a_run_waits_for_the_end_of_its_interval(wait, committed, run_type):
    committed(ms("2013-01-02T00:00:00") - 1)
    with pytest.raises(TaskDeferred) as deferred:
        wait.execute(context(run_type))
    assert deferred.value.trigger.until_ms == ms("2013-01-02T00:00:00")
    assert deferred.value.method_name == "resume"


def test_a_run_does_not_wait_for_what_is_committed(wait, committed):
    committed(ms("2013-01-02T00:00:00"))
    assert wait.execute(context()) is None


def test_a_run_by_hand_waits_for_nothing(wait):
    assert wait.execute(context("manual")) is None


@pytest.mark.parametrize(("name", "value"), [("from_", "yesterday"), ("to", "2013-13-01")])
def test_a_range_that_is_no_time_is_refused(wait, name, value):
    with pytest.raises(AirflowFailException, match=f"{value!r} is no time\n.*2013-01-02T00:00:00Z"):
        wait.execute(context("manual", **{name: value}))


@pytest.mark.parametrize("run_type", ["scheduled", "backfill"])
def test_a_run_with_an_interval_takes_no_range(wait, run_type):
    with pytest.raises(AirflowFailException, match="corrects its own interval"):
        wait.execute(context(run_type, from_="2013-01-01"))


def test_intervals_are_floored_to_the_tick_so_that_they_lie_side_by_side(place):
    query = correcting.Declared.read(
        declare(place / "queries", "long", QUERY.replace("tick: 1 min", "tick: 7 min"))
    ).query
    minutes = [f"2013-01-01T00:{minute:02}:00" for minute in (0, 10, 20, 30)]
    spans = [correcting.span(context(start=a, end=b), query) for a, b in pairwise(minutes)]
    assert all(point % (7 * 60_000) == 0 for span in spans for point in span)
    assert [end for _, end in spans[:-1]] == [start for start, _ in spans[1:]]


def test_an_interval_without_an_end_of_a_tick_is_left_to_the_next(place):
    query = correcting.Declared.read(
        declare(place / "queries", "long", QUERY.replace("tick: 1 min", "tick: 1 h"))
    ).query
    with pytest.raises(AirflowSkipException, match="no tick of 1 h"):
        correcting.span(context(start="2013-01-01T00:10:00", end="2013-01-01T00:20:00"), query)


@pytest.fixture
def called(place, monkeypatch):
    """How spark-submit was called: its pid, its child's, its words."""
    program = place / "bin" / "spark-submit"
    program.parent.mkdir()
    program.write_text(STAND_IN)
    program.chmod(0o755)
    surroundings = correcting.settings.spark_environment()
    path = f"{program.parent}:{os.environ['PATH']}"
    monkeypatch.setattr(correcting.settings, "spark_environment", lambda: surroundings | {"PATH": path})
    before = dict(os.environ)
    yield lambda: json.loads((place / "warehouse" / "called").read_text())
    os.environ.clear()
    os.environ.update(before)


@pytest.fixture
def correct(place):
    return CorrectOperator(task_id="correct", query="readings", file=str(place / "queries" / "readings.yaml"))


def told(place, **what):
    (place / "warehouse" / "told").write_text(json.dumps(what))


@pytest.mark.parametrize(
    ("given", "range"),
    [
        (context(), ["--arrived-from", "2013-01-01T00:00:00.000Z", "--arrived-to", "2013-01-02T00:00:00.000Z"]),
        (context("manual"), []),
        (
            context("manual", from_="2013-01-05", to="2013-01-06T00:00:00Z"),
            ["--from", "2013-01-05", "--to", "2013-01-06T00:00:00Z"],
        ),
        (context("manual", to="2013-01-06"), ["--to", "2013-01-06"]),
    ],
)
def test_the_correction_is_told_its_range(correct, called, place, given, range):
    correct.execute(given)
    words = called()[2]
    app = next(number for number, word in enumerate(words) if word.endswith("spark_apps/correct.py"))
    assert words[app + 1 :] == [f"{place}/queries/readings.yaml", "--warehouse", f"{place}/warehouse", *range]
    assert words[words.index("--driver-memory") + 1] == "1g"


def test_what_is_refused_is_not_tried_again(correct, called, place):
    told(place, code=2)
    with pytest.raises(AirflowFailException, match="its last words"):
        correct.execute(context())


def test_what_fails_is_tried_again(correct, called, place):
    told(place, code=1)
    with pytest.raises(AirflowException) as failure:
        correct.execute(context())
    assert not isinstance(failure.value, AirflowFailException)


def family(called):
    """The processes of the spark-submit that runs now, once it runs."""
    end = time.monotonic() + 30
    while time.monotonic() < end:
        try:
            return [psutil.Process(pid) for pid in called()[:2]]
        except FileNotFoundError:
            time.sleep(0.02)
    raise TimeoutError


def test_on_kill_leaves_nothing_behind(correct, called, place):
    """Also where spark-submit has died first, as by Airflow's signal to the whole group."""
    told(place, stays=True)
    failures = []

    def run():
        try:
            correct.execute(context())
        except AirflowException as failure:
            failures.append(failure)

    thread = threading.Thread(target=run)
    thread.start()
    parent, child = family(called)
    parent.kill()
    correct.on_kill()
    thread.join(30)
    assert not thread.is_alive()
    assert dead(parent)
    assert dead(child)
    assert failures


def test_a_new_correction_kills_what_a_killed_worker_has_left(correct, called, place):
    told(place, stays=True)
    environment = os.environ | {"TAILRACE_CORRECTION": str(place / "warehouse" / "readings")}
    left = subprocess.Popen([place / "bin" / "spark-submit"], env=environment, stdout=subprocess.DEVNULL)
    _, child = family(called)
    try:
        told(place)
        correct.execute(context())
        assert left.wait(10) == -signal.SIGKILL
        assert dead(child)
    finally:
        left.kill()
        left.wait()
        child.kill() if child.is_running() else None


def test_a_missing_connection_is_refused_and_does_not_mean_yarn(correct, called, monkeypatch):
    monkeypatch.delenv("AIRFLOW_CONN_TAILRACE_SPARK")
    with pytest.raises(AirflowFailException, match="connection tailrace_spark"):
        correct.execute(context())
    with pytest.raises(FileNotFoundError):
        called()
