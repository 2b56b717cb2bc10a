"""End-to-end tests with a real scheduler, triggerer and API server, a real supervisord and real drivers.

The tests share one stream, in this order: it is deployed, disturbed in many ways, drained, and finally corrected.
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

from demo.truth import share_right, truth
from kit.parts.processes import beyond_loopback, command, listening
from kit.suite.waiting import PATIENCE_S
from tailrace.answers.identity import WINDOW
from tailrace.drivers.launch import starts_file
from tailrace.embedded.embedded_processes import UMASK
from tailrace.query.loading import load
from tailrace.storage.progress import committed_until
from tailrace.storage.results import read_answers
from tailrace.storage.status import Status
from tailrace.storage.tables import Tables

pytestmark = [pytest.mark.needs("spark"), pytest.mark.xdist_group("platform"), pytest.mark.timeout(3600)]

STREAM, CORRECT = "stream_flights", "correct_flights"
PAST_INTERVALS = ("--from-date", "2013-01-01T05:00:00+00:00", "--to-date", "2013-02-15T05:00:00+00:00")


def is_deferred(platform, run):
    return lambda: platform.states(STREAM, run)["supervise"] == "deferred"


_SUBMIT = "org.apache.spark.deploy.SparkSubmit"


def run_state(platform, run):
    return platform.api.call("GET", f"dags/{STREAM}/dagRuns/{run}")["state"]


def test_of_two_runs_one_is_skipped_and_the_others_driver_survives_clears_restarts_and_a_kill(platform, figure):
    both = [platform.trigger(STREAM), platform.trigger(STREAM)]
    run = platform.until(lambda: next((each for each in both if is_deferred(platform, each)()), None))
    [second] = set(both) - {run}
    platform.until(lambda: run_state(platform, second) == "success")
    assert set(platform.states(STREAM, second).values()) == {"skipped"}
    assert f"run {run} watches the stream of flights already" in platform.log(STREAM, second, "check")
    assert platform.streams()
    first_pid = platform.driver()
    # A child of the JVM has its command until it becomes another program.
    platform.until(lambda: [each.pid for each in platform.processes() if _SUBMIT in command(each)] == [first_pid])
    assert platform.api.call("GET", "pools/default_pool")["running_slots"] == 0  # no worker slot is held

    # Clearing `supervise` resumes the watch over the same driver.
    body = {"dry_run": False, "dag_run_id": run, "task_ids": ["supervise"], "only_failed": False}
    platform.api.call("POST", f"dags/{STREAM}/clearTaskInstances", body)
    platform.until(lambda: platform.states(STREAM, run)["supervise"] != "deferred")
    platform.until(is_deferred(platform, run))
    assert platform.streams()
    assert platform.driver() == first_pid

    # Clearing the run that was skipped leaves the driver as it is, and watched.
    tasks = ["deploy", "supervise", "drain"]
    platform.api.call("POST", f"dags/{STREAM}/clearTaskInstances", {**body, "dag_run_id": second, "task_ids": tasks})
    platform.until(lambda: run_state(platform, second) == "success")
    assert set(platform.states(STREAM, second).values()) == {"skipped"}
    assert platform.driver() == first_pid
    assert is_deferred(platform, run)()

    # A kill and restart of scheduler, triggerer and API server leaves the driver as it is, and watched.
    platform.airflow.kill()
    assert not platform.airflow.processes()
    assert platform.streams()
    platform.api = platform.airflow.start()
    assert platform.driver() == first_pid
    assert is_deferred(platform, run)()

    # A killed driver is restarted within a minute, and commits within another one.
    reported_pid, killed_s = Status.read(platform.layout).pid, time.monotonic()
    os.kill(first_pid, signal.SIGKILL)
    platform.until(lambda: platform.driver() not in (None, first_pid))
    figure("a driver is back after kill -9", time.monotonic() - killed_s, 60)
    platform.until(lambda: Status.read(platform.layout).pid != reported_pid and platform.batches())
    figure("a driver commits again after kill -9", time.monotonic() - killed_s, 120)

    # Marking the run as failed drains the driver within a minute.
    marked_s = time.monotonic()
    platform.mark(run, "failed")
    platform.until(lambda: platform.driver() is None and not platform.processes())
    figure("a driver is drained once its run is marked failed", time.monotonic() - marked_s, 60)
    assert Status.read(platform.layout).state == "drained"


def test_a_run_marked_success_during_its_start_is_drained(platform, figure):
    run = platform.trigger(STREAM)
    platform.until(is_deferred(platform, run))
    marked_s = time.monotonic()
    platform.mark(run, "success")
    platform.until(lambda: platform.driver() is None and not platform.processes())
    figure("a driver is drained whose run is marked success during its start", time.monotonic() - marked_s, 60)


def test_a_crash_loop_fails_the_task_with_the_last_lines(platform):
    journal = platform.layout.journal
    newest = max(journal.glob("[0-9]*.json"))
    text = newest.read_text()
    newest.write_text("{ damaged")
    run = platform.trigger(STREAM, restarts=1)
    platform.until(lambda: platform.states(STREAM, run)["supervise"] == "failed")
    log = platform.log(STREAM, run, "supervise")
    assert "crash loop" in log
    assert "its newest entry is damaged" in log
    assert f"mv {platform.layout.home} {platform.layout.home}.damaged" in log
    assert platform.driver() is None
    newest.write_text(text)


def test_a_suspended_driver_is_replaced_and_each_batch_is_committed_exactly_once(platform, figure):
    run = platform.trigger(STREAM, hang_after_s=10)
    platform.until(is_deferred(platform, run))
    assert platform.streams()
    old_pid, processes_before = platform.driver(), platform.processes()
    suspended_s = time.monotonic()
    for process in processes_before:
        process.suspend()
    deployment = shell(platform, "deploy", "flights")  # idempotent also for a suspended driver
    assert "found the driver" in deployment.stdout, deployment.stderr
    platform.until(lambda: platform.driver() not in (None, old_pid))
    figure("a suspended driver is replaced", time.monotonic() - suspended_s, 90)
    for process in processes_before:
        if process.is_running():
            process.resume()
    assert platform.streams()
    assert old_pid not in [process.pid for process in platform.processes()]
    marked_s = time.monotonic()
    platform.mark(run, "success")
    platform.until(lambda: platform.driver() is None)
    figure("a driver is drained once its run is marked success", time.monotonic() - marked_s, 60)
    assert_one_lineage(platform)


def assert_one_lineage(platform) -> int:
    """Check that each batch is committed exactly once, in order, and no row twice; return the number of rows."""
    metrics = Tables(platform.layout).read("metrics").to_pandas()
    assert sorted(zip(metrics["batch"], metrics["task"], strict=True)) == [
        (batch, task) for batch in range(metrics["batch"].max() + 1) for task in range(2)
    ]
    segments = Tables(platform.layout).read("segments").to_pandas().sort_values("position")
    assert (segments["position"] + segments["rows"]).tolist()[:-1] == segments["position"].tolist()[1:]
    return int(metrics["rows"].sum())


def shell(platform, *words: str) -> subprocess.CompletedProcess[str]:
    """Run a tailrace command in Airflow's environment."""
    return subprocess.run(
        [sys.executable, "-m", "tailrace", *words],
        env=os.environ | platform.airflow.environment,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
        umask=UMASK,  # as in the demonstration's environment file
    )


def test_a_correction_waits_for_the_stream_and_says_so(platform):
    result = platform.airflow.command("backfill", "create", "--dag-id", CORRECT, *PAST_INTERVALS)
    assert result.returncode == 0, result.stderr
    last_run = "backfill__2013-03-01T05:00:00+00:00"
    platform.until(lambda: platform.states(CORRECT, last_run)["wait"] == "deferred")
    platform.until(lambda: "this run waits for 2013-03-01T05:00:00" in platform.log(CORRECT, last_run, "wait"))
    platform.until(lambda: "no driver runs" in platform.log(CORRECT, last_run, "wait"))
    assert platform.states(CORRECT, last_run)["correct"] is None


def test_corrections_that_waited_for_a_driver_run_once_it_is_back(platform):
    """Their intervals are then corrected completely, and the stream's answers are those of an undisturbed run."""
    platform.declare(20_000)
    run = platform.trigger(STREAM)
    platform.until(lambda: Status.read(platform.layout).state == "quiet")
    assert assert_one_lineage(platform) == 50_173
    platform.until(lambda: set(corrections(platform).values()) == {"success"})
    platform.mark(run, "success")
    platform.until(lambda: platform.driver() is None)
    assert_batch_answers(platform)
    assert_as_undisturbed(platform)


def assert_as_undisturbed(platform) -> None:
    """Check that the stream's answers, in spite of all disturbances, equal those of an undisturbed bounded run."""
    file, home = platform.home / "queries" / "flights.yaml", platform.home / "undisturbed"
    result = shell(platform, "run", str(file), "--warehouse", str(home), "--bounded")
    assert result.returncode == 0, result.stderr
    warehouses = platform.home / "tables", home
    actual, expected = (read_answers(load(file), there, streamed=True)[0].to_pandas() for there in warehouses)
    columns = [*WINDOW.columns, "tuples", "k_ms", "as_of"]
    pd.testing.assert_frame_equal(actual[columns], expected[columns])
    pd.testing.assert_series_equal(actual["value"], expected["value"], rtol=1e-9)
    assert int(Tables(platform.layout).read("late").to_pandas()["tuples"].sum()) == 1774


def backfills_have_ended(platform) -> bool:
    backfills = platform.api.call("GET", "backfills", dag_id=CORRECT)["backfills"]
    return all(backfill["completed_at"] for backfill in backfills)


def corrections(platform) -> dict[str, str]:
    runs = platform.api.call("GET", f"dags/{CORRECT}/dagRuns", run_type="backfill")["dag_runs"]
    return {run["dag_run_id"]: run["state"] for run in runs}


def assert_batch_answers(platform) -> pd.DataFrame:
    """Check that the corrected answers equal the batch answers; return them."""
    query = load(platform.home / "queries" / "flights.yaml")
    answers, columns = read_answers(query, platform.home / "tables", streamed=False)
    expected = truth(query)
    assert len(answers) == len(expected)
    assert share_right(answers, expected) == 1
    return answers.select(columns).to_pandas()


def test_corrections_are_idempotent_also_backwards_and_with_a_killed_run(platform):
    answers_before = assert_batch_answers(platform)
    platform.until(lambda: backfills_have_ended(platform))  # Airflow updates that every half minute
    options = ("--run-backwards", "--reprocess-behavior", "completed")
    result = platform.airflow.command("backfill", "create", "--dag-id", CORRECT, *PAST_INTERVALS, *options)
    assert result.returncode == 0, result.stderr

    def correction_processes() -> list:
        return [p for p in platform.airflow.processes() if any("correct.py" in word for word in command(p))]

    for process in platform.until(correction_processes):
        with suppress(psutil.NoSuchProcess):  # it may have ended with its parent
            process.kill()
    platform.until(lambda: "success" in set(corrections(platform).values()))
    platform.until(lambda: set(corrections(platform).values()) == {"success"})
    pd.testing.assert_frame_equal(assert_batch_answers(platform), answers_before)


def is_quiet(platform) -> bool:
    status = Status.read(platform.layout)
    return status is not None and status.state == "quiet"


def assert_private_to_the_user(platform) -> None:
    """Check that no process listens beyond loopback, and that other users can read no file."""
    all_processes = [*platform.processes(), *platform.airflow.processes(), *platform.hosting.processes()]
    addresses = listening(all_processes)
    assert len(addresses) > 3
    readable_files = []
    for place in (platform.airflow.directory, platform.hosting.directory, platform.home / "tables"):
        for file in (place, *place.rglob("*")):
            with suppress(FileNotFoundError):  # a driver may remove its files meanwhile
                readable_files += [str(file)] if file.stat().st_mode & 0o077 else []
    assert (beyond_loopback(addresses), readable_files) == ([], [])


def test_the_commands_do_what_the_dags_do(platform):
    starts_file(platform.layout.home).unlink(missing_ok=True)
    platform.declare(20_000)
    assert "made a driver" in shell(platform, "deploy", "flights").stdout
    platform.until(lambda: platform.driver() and is_quiet(platform))
    assert_private_to_the_user(platform)
    result = shell(platform, "status", "flights")
    assert "running" in result.stdout
    assert shell(platform, "status", "flight").returncode == 2
    assert shell(platform, "drain", "flights").returncode == 0
    assert platform.driver() is None
    assert Status.read(platform.layout).state == "drained"
    shell(platform, "deploy", "flights")
    assert platform.driver()
    assert shell(platform, "stop", "flights").returncode == 0
    assert platform.driver() is None
    assert not platform.processes()
    assert committed_until(Tables(platform.layout))
