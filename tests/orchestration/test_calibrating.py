"""The task of calibrate_<query>: what the app is told, and what becomes of a calibration that was killed."""

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
def calibrate(place):
    return CalibrateOperator(task_id="calibrate", query="readings", file=str(place / "queries" / "readings.yaml"))


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (context(), []),
        (context(dry_run=True), ["--dry-run"]),
        (context("scheduled"), ["--if-ready"]),
        (context("scheduled", dry_run=True), ["--dry-run", "--if-ready"]),
    ],
)
def test_the_calibration_is_told_how_it_was_asked_for(calibrate, called, place, given, words):
    calibrate.execute(given)
    told = called()[2]
    app = next(number for number, word in enumerate(told) if word.endswith("spark_apps/calibrate.py"))
    assert told[app + 1 :] == [f"{place}/queries/readings.yaml", "--warehouse", f"{place}/warehouse", *words]
    assert told[told.index("--driver-memory") + 1] == "1g"


def test_a_conf_with_a_key_that_is_no_field_is_refused_before_anything_starts(calibrate, called):
    with pytest.raises(AirflowFailException, match=r"conf: dry-run: .*\n.*right would be: dry_run$"):
        calibrate.execute(context(conf={"dry-run": True}))
    with pytest.raises(FileNotFoundError):
        called()


@pytest.mark.parametrize(("code", "again"), [(1, True), (2, False)])
def test_what_is_refused_is_not_tried_again_and_what_fails_is(calibrate, called, place, code, again):
    (place / "warehouse" / "told").write_text(json.dumps({"code": code}))
    with pytest.raises(AirflowException) as failure:
        calibrate.execute(context())
    assert isinstance(failure.value, AirflowFailException) is not again


def test_a_new_calibration_kills_what_a_killed_worker_has_left_and_no_correction(calibrate, called, place):
    home = str(place / "warehouse" / "readings")
    kinds = ("TAILRACE_CALIBRATION", "TAILRACE_CORRECTION")
    left = {kind: subprocess.Popen(["sleep", "600"], env=os.environ | {kind: home}) for kind in kinds}
    try:
        calibrate.execute(context())
        assert left["TAILRACE_CALIBRATION"].wait(10) == -signal.SIGKILL
        assert left["TAILRACE_CORRECTION"].poll() is None
    finally:
        for process in left.values():
            process.kill()
            process.wait()
