"""The task of calibrate_<query>: the arguments of the Spark app, retries, and what a killed worker leaves."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from types import SimpleNamespace

import pytest
from airflow.sdk.exceptions import AirflowException, AirflowFailException

from tailrace.orchestration.calibration_operators import CalibrateOperator


def context(run_type="manual", dry_run=False, conf=None):
    form = {"dry_run": dry_run, "driver_memory": "1g"}
    run = SimpleNamespace(run_type=run_type, conf=conf)
    return {"dag": SimpleNamespace(params=form), "dag_run": run, "params": form}


@pytest.fixture
def calibrate_task(place):
    return CalibrateOperator(task_id="calibrate", query="readings", file=str(place / "queries" / "readings.yaml"))


@pytest.mark.parametrize(
    ("run_context", "options"),
    [
        (context(), []),
        (context(dry_run=True), ["--dry-run"]),
        (context("scheduled"), ["--if-ready"]),
        (context("scheduled", dry_run=True), ["--dry-run", "--if-ready"]),
    ],
)
def test_the_spark_app_gets_the_options_of_its_run(calibrate_task, called, place, run_context, options):
    calibrate_task.execute(run_context)
    arguments = called()[2]
    app = next(number for number, word in enumerate(arguments) if word.endswith("spark_apps/calibrate.py"))
    assert arguments[app + 1 :] == [f"{place}/queries/readings.yaml", "--warehouse", f"{place}/warehouse", *options]
    assert arguments[arguments.index("--driver-memory") + 1] == "1g"


def test_a_conf_with_an_unknown_key_is_refused_before_anything_starts(calibrate_task, called):
    with pytest.raises(AirflowFailException, match=r"conf: dry-run: .*\n.*right would be: dry_run$"):
        calibrate_task.execute(context(conf={"dry-run": True}))
    with pytest.raises(FileNotFoundError):
        called()


@pytest.mark.parametrize(("code", "is_retried"), [(1, True), (2, False)])
def test_a_failed_calibration_is_retried_and_a_refused_one_is_not(calibrate_task, called, place, code, is_retried):
    (place / "warehouse" / "told").write_text(json.dumps({"code": code}))
    with pytest.raises(AirflowException) as failure:
        calibrate_task.execute(context())
    assert isinstance(failure.value, AirflowFailException) is not is_retried


def test_a_new_calibration_kills_the_processes_of_a_killed_worker_and_no_correction(calibrate_task, called, place):
    home = str(place / "warehouse" / "readings")
    marks = ("TAILRACE_CALIBRATION", "TAILRACE_CORRECTION")
    orphans = {mark: subprocess.Popen(["sleep", "600"], env=os.environ | {mark: home}) for mark in marks}
    try:
        calibrate_task.execute(context())
        assert orphans["TAILRACE_CALIBRATION"].wait(10) == -signal.SIGKILL
        assert orphans["TAILRACE_CORRECTION"].poll() is None
    finally:
        for process in orphans.values():
            process.kill()
            process.wait()
