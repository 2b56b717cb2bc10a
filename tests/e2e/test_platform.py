"""The platform as users have it: a real scheduler, triggerer and API server, a real supervisord, real drivers.

The tests share one stream, in this order: it is deployed, attacked in many ways, drained, and in the end corrected.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress

import pandas as pd
import psutil
import pytest

from processes import beyond_loopback, command, listening
from tailrace.answers.identity import WINDOW
from tailrace.demo.truth import share_right, truth
from tailrace.drivers.embedded import UMASK
from tailrace.drivers.launch import starts_file
from tailrace.query.loading import load
from tailrace.storage.progress import committed_until
from tailrace.storage.results import read_answers
from tailrace.storage.status import Status
from tailrace.storage.tables import Tables

pytestmark = [pytest.mark.spark, pytest.mark.e2e, pytest.mark.timeout(900)]

STREAM, CORRECT = "stream_flights", "correct_flights"
GONE_S = 60
PAST = ("--from-date", "2013-01-01T05:00:00+00:00", "--to-date", "2013-02-15T05:00:00+00:00")


def watched(platform, run):
    return lambda: platform.states(STREAM, run)["supervise"] == "deferred"


def test_two_triggers_find_one_driver_that_outlives_them_all(platform):
    runs = [platform.trigger(STREAM), platform.trigger(STREAM)]
    for run in runs:
        platform.until(watched(platform, run))
    assert platform.streams()
    first = platform.driver()
    submits = [p for p in platform.processes() if "org.apache.spark.deploy.SparkSubmit" in command(p)]
    assert [p.pid for p in submits] == [first]
    assert "found the driver" in "".join(platform.log(STREAM, run, "deploy") for run in runs)
    assert platform.api.call("GET", "pools/default_pool")["running_slots"] == 0  # no worker slot is held

    # Cleared: reattached.
    body = {"dry_run": False, "dag_run_id": runs[0], "task_ids": ["supervise"], "only_failed": False}
    platform.api.call("POST", f"dags/{STREAM}/clearTaskInstances", body)
    platform.until(lambda: platform.states(STREAM, runs[0])["supervise"] != "deferred")
    platform.until(watched(platform, runs[0]))
    assert platform.streams()
    assert platform.driver() == first

    # Scheduler, triggerer and API server killed and started again: the same driver, still watched.
    platform.airflow.kill()
    assert not platform.airflow.processes()
    assert platform.streams()
    platform.api = platform.airflow.start()
    assert platform.driver() == first
    for run in runs:
        assert watched(platform, run)()

    # Killed: back within a minute, by itself.
    os.kill(first, signal.SIGKILL)
    platform.until(lambda: platform.driver() not in (None, first), 60)
    began = time.monotonic()
    platform.until(lambda: Status.read(platform.layout).committed_at_ms is None, 60)
    platform.until(platform.batches, 60)
    assert time.monotonic() - began < 60

    # One run is marked failed: drained, and gone within a minute; the other one ends with it.
    platform.mark(runs[0], "failed")
    platform.until(lambda: platform.driver() is None and not platform.processes(), GONE_S)
    assert Status.read(platform.layout).state == "drained"
    platform.until(lambda: platform.states(STREAM, runs[1])["supervise"] == "success")


def test_marked_success_while_it_starts(platform):
    run = platform.trigger(STREAM)
    platform.until(watched(platform, run))
    platform.mark(run, "success")
    platform.until(lambda: platform.driver() is None and not platform.processes(), GONE_S)


def test_a_crash_loop_fails_the_task_with_the_last_lines(platform):
    journal = platform.layout.journal
    newest = max(journal.glob("[0-9]*.json"))
    kept = newest.read_text()
    newest.write_text("{ damaged")
    run = platform.trigger(STREAM, restarts=1)
    platform.until(lambda: platform.states(STREAM, run)["supervise"] == "failed", 150)
    log = platform.log(STREAM, run, "supervise")
    assert "crash loop" in log
    assert "its newest entry is damaged" in log
    assert f"mv {platform.layout.home} {platform.layout.home}.damaged" in log
    assert platform.driver() is None
    newest.write_text(kept)


def test_a_stopped_driver_is_replaced_and_commits_in_one_lineage(platform):
    run = platform.trigger(STREAM, hang_after_s=10)
    platform.until(watched(platform, run))
    assert platform.streams()
    old, stopped = platform.driver(), platform.processes()
    for process in stopped:
        process.suspend()
    deployed = shell(platform, "deploy", "flights")  # a second deploy finds it, stopped as it is
    assert "found the driver" in deployed.stdout, deployed.stderr
    platform.until(lambda: platform.driver() not in (None, old), 90)
    for process in stopped:
        if process.is_running():
            process.resume()
    assert platform.streams()
    assert old not in [process.pid for process in platform.processes()]
    platform.mark(run, "success")
    platform.until(lambda: platform.driver() is None, GONE_S)
    one_lineage(platform)


def one_lineage(platform) -> int:
    """Each batch once, in order, no row twice; returns how many rows are in."""
    metrics = Tables(platform.layout).read("metrics").to_pandas()
    assert sorted(zip(metrics["batch"], metrics["task"], strict=True)) == [
        (batch, task) for batch in range(metrics["batch"].max() + 1) for task in range(2)
    ]
    segments = Tables(platform.layout).read("segments").to_pandas().sort_values("position")
    assert (segments["position"] + segments["rows"]).tolist()[:-1] == segments["position"].tolist()[1:]
    return int(metrics["rows"].sum())


def shell(platform, *words: str) -> subprocess.CompletedProcess[str]:
    """A command in a shell that has Airflow's environment."""
    return subprocess.run(
        [sys.executable, "-m", "tailrace", *words],
        env=os.environ | platform.airflow.environment,
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
        umask=UMASK,  # as the demonstration's file for shells has it
    )


def test_a_correction_waits_for_the_stream_and_says_so(platform):
    early = platform.airflow.command("backfill", "create", "--dag-id", CORRECT, *PAST)
    assert early.returncode == 0, early.stderr
    last = "backfill__2013-03-01T05:00:00+00:00"
    platform.until(lambda: platform.states(CORRECT, last)["wait"] == "deferred")
    platform.until(lambda: "this run waits for 2013-03-01T05:00:00" in platform.log(CORRECT, last, "wait"))
    platform.until(lambda: "no driver runs" in platform.log(CORRECT, last, "wait"))
    assert platform.states(CORRECT, last)["correct"] is None


def test_the_driver_comes_back_and_no_correction_is_lost(platform):
    """The runs that waited while the driver was down correct what came meanwhile."""
    platform.declare(20_000)
    run = platform.trigger(STREAM)
    platform.until(lambda: Status.read(platform.layout).state == "quiet", 120)
    assert one_lineage(platform) == 50_173
    platform.until(lambda: set(corrections(platform).values()) == {"success"}, 300)
    platform.mark(run, "success")
    platform.until(lambda: platform.driver() is None, GONE_S)
    assert_right(platform)
    assert_as_never_disturbed(platform)


def assert_as_never_disturbed(platform) -> None:
    """What the stream answered, through all that befell it, is what an undisturbed bounded run answers."""
    file, home = platform.home / "queries" / "flights.yaml", platform.home / "undisturbed"
    done = shell(platform, "run", str(file), "--warehouse", str(home), "--bounded")
    assert done.returncode == 0, done.stderr
    homes = platform.home / "tables", home
    lived, calm = (read_answers(load(file), there, streamed=True)[0].to_pandas() for there in homes)
    columns = [*WINDOW.columns, "tuples", "k_ms", "as_of"]
    pd.testing.assert_frame_equal(lived[columns], calm[columns])
    pd.testing.assert_series_equal(lived["value"], calm["value"], rtol=1e-9)
    assert int(Tables(platform.layout).read("late").to_pandas()["tuples"].sum()) == 2042


def backfills_are_over(platform) -> bool:
    found = platform.api.call("GET", "backfills", dag_id=CORRECT)["backfills"]
    return all(one["completed_at"] for one in found)


def corrections(platform) -> dict[str, str]:
    runs = platform.api.call("GET", f"dags/{CORRECT}/dagRuns", run_type="backfill")["dag_runs"]
    return {run["dag_run_id"]: run["state"] for run in runs}


def assert_right(platform) -> pd.DataFrame:
    """The answers are the batch answers; returns them."""
    query = load(platform.home / "queries" / "flights.yaml")
    found, columns = read_answers(query, platform.home / "tables", streamed=False)
    true = truth(query)
    assert len(found) == len(true)
    assert share_right(found, true) == 1
    return found.select(columns).to_pandas()


def test_backwards_again_with_one_run_killed_nothing_changes(platform):
    before = assert_right(platform)
    platform.until(lambda: backfills_are_over(platform))  # Airflow sees to that each half a minute
    again = ("--run-backwards", "--reprocess-behavior", "completed")
    done = platform.airflow.command("backfill", "create", "--dag-id", CORRECT, *PAST, *again)
    assert done.returncode == 0, done.stderr

    def correcting() -> list:
        return [p for p in platform.airflow.processes() if any("correct.py" in word for word in command(p))]

    for process in platform.until(correcting, 120):
        with suppress(psutil.NoSuchProcess):  # a child of the one before
            process.kill()
    platform.until(lambda: "success" in set(corrections(platform).values()), 300)
    platform.until(lambda: set(corrections(platform).values()) == {"success"}, 300)
    pd.testing.assert_frame_equal(assert_right(platform), before)


def quiet(platform) -> bool:
    said = Status.read(platform.layout)
    return said is not None and said.state == "quiet"


def assert_for_this_user_alone(platform) -> None:
    """Nothing that runs listens beyond loopback, and nobody else can read what is in the home."""
    everyone = [*platform.processes(), *platform.airflow.processes(), *platform.hosting._ours()]
    addresses = listening(everyone)
    assert len(addresses) > 3
    others = []
    for place in (platform.airflow.directory, platform.hosting.directory, platform.home / "tables"):
        for file in (place, *place.rglob("*")):
            with suppress(FileNotFoundError):  # what a driver writes comes and goes
                others += [str(file)] if file.stat().st_mode & 0o077 else []
    assert (beyond_loopback(addresses), others) == ([], [])


def test_the_commands_do_what_the_dags_do(platform):
    starts_file(platform.layout.home).unlink(missing_ok=True)
    platform.declare(20_000)
    assert "made a driver" in shell(platform, "deploy", "flights").stdout
    platform.until(lambda: platform.driver() and quiet(platform), 600)
    assert_for_this_user_alone(platform)
    told = shell(platform, "status", "flights")
    assert "running" in told.stdout
    assert shell(platform, "status", "flight").returncode == 2
    assert shell(platform, "drain", "flights").returncode == 0
    assert platform.driver() is None
    assert Status.read(platform.layout).state == "drained"
    shell(platform, "deploy", "flights")
    assert platform.driver()
    assert shell(platform, "stop", "flights").returncode == 0
    assert platform.driver() is None
    assert not platform.processes()
    assert committed_until(platform.layout)
