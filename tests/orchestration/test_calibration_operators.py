"""The task of calibrate_<query>: the arguments of the Spark app, retries, and what a killed worker leaves."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from types import SimpleNamespace

import pytest
from airflow.sdk.exceptions import AirflowException, AirflowFailException

from kit.suite.waiting import PATIENCE_S
from tailrace.orchestration.calibration_operators import CalibrateOperator


class Task:
    """A task instance whose DAG's runs have left some XComs of the key `dry_run`, by run."""

    task_id, dag_id = "calibrate", "calibrate_readings"

    def __init__(self, left: dict[str, object] | None = None) -> None:
        self.left, self.pushed = left or {}, {}

    def xcom_pull(self, *, task_ids, dag_id, key, run_id):
        assert (task_ids, dag_id, key) == ("calibrate", "calibrate_readings", "dry_run")
        return self.left.get(run_id)

    def xcom_push(self, key, value):
        self.pushed[key] = value


def context(run_type="manual", dry_run=False, conf=None, accept=None, ti=None):
    form = {"dry_run": dry_run, "driver_memory": "1g", "accept": accept}
    run = SimpleNamespace(run_type=run_type, conf=conf)
    return {"dag": SimpleNamespace(params=form), "dag_run": run, "params": form, "ti": ti}


@pytest.fixture
def calibrate_task(place):
    return CalibrateOperator(task_id="calibrate", query="readings", file=str(place / "queries" / "readings.yaml"))


@pytest.mark.parametrize(
    ("run_context", "options"),
    [
        (context(), []),
        (context(dry_run=True), ["--dry-run", "--report", "REPORT"]),
        (context("scheduled"), ["--if-ready"]),
        (context("scheduled", dry_run=True), ["--dry-run", "--report", "REPORT", "--if-ready"]),
    ],
)
def test_the_spark_app_gets_the_options_of_its_run(calibrate_task, called, place, run_context, options):
    calibrate_task.execute(run_context)
    arguments = called()[2]
    app = next(number for number, word in enumerate(arguments) if word.endswith("spark_apps/calibrate.py"))
    expected = [f"{place}/queries/readings.yaml", "--warehouse", f"{place}/warehouse", *options]
    assert ["REPORT" if word.endswith("/report.json") else word for word in arguments[app + 1 :]] == expected
    assert arguments[arguments.index("--driver-memory") + 1] == "1g"


def test_a_conf_with_an_unknown_key_is_refused_before_anything_starts(calibrate_task, called):
    with pytest.raises(AirflowFailException, match=r"conf: dry-run: .*\n.*right would be: dry_run$"):
        calibrate_task.execute(context(conf={"dry-run": True}))
    with pytest.raises(FileNotFoundError):
        called()


def after(options, arguments):
    """The argument after another one."""
    return arguments[arguments.index(options) + 1]


def test_the_report_of_a_dry_run_becomes_an_xcom_and_its_file_goes(calibrate_task, called, place):
    (place / "warehouse" / "told").write_text(json.dumps({"report": {"k": 1}}))
    ti = Task()
    calibrate_task.execute(context(dry_run=True, ti=ti))
    assert ti.pushed == {"dry_run": {"k": 1}}
    assert not os.path.exists(after("--report", called()[2]))


def test_a_calibration_that_proposes_leaves_no_report_to_accept(calibrate_task, called):
    ti = Task()
    calibrate_task.execute(context(ti=ti))
    assert "--report" not in called()[2]
    assert ti.pushed == {}


def test_an_accepted_run_hands_its_report_to_the_app_under_the_name_of_the_run(calibrate_task, called):
    calibrate_task.execute(context(accept="manual__1", ti=Task({"manual__1": {"k": 7}, "manual__2": {"k": 8}})))
    arguments, accepted = called()[2], called()[4]
    assert json.loads(accepted) == {"k": 7}
    assert after("--accepted-as", arguments) == "accept: manual__1"
    assert "--dry-run" not in arguments


def test_a_run_that_left_no_report_can_not_be_accepted(calibrate_task, called):
    with pytest.raises(
        AirflowFailException, match=r"accept: manual__3: no report of a dry run is there: .*no such run"
    ):
        calibrate_task.execute(context(accept="manual__3", ti=Task({"manual__1": {"k": 7}})))
    with pytest.raises(AirflowFailException, match="what is accepted is proposed, and a dry run proposes nothing"):
        calibrate_task.execute(context(dry_run=True, accept="manual__1", ti=Task({"manual__1": {"k": 7}})))
    with pytest.raises(FileNotFoundError):
        called()


@pytest.mark.parametrize(("code", "is_retried"), [(1, True), (2, False)])
def test_a_failed_calibration_is_retried_and_a_refused_one_is_not(calibrate_task, called, place, code, is_retried):
    (place / "warehouse" / "told").write_text(json.dumps({"code": code}))
    with pytest.raises(AirflowException) as failure:
        calibrate_task.execute(context())
    assert isinstance(failure.value, AirflowFailException) is not is_retried


@pytest.mark.parametrize(
    ("says", "reason"),
    [
        (
            "a line\nrefused readings: too few windows\n    right would be: to wait",
            r"^refused readings: too few windows\nright",
        ),
        ("a line\nfailed ValueError: wrong", r"^failed ValueError: wrong$"),
        ("\n".join("123456"), "^2\n3\n4\n5\n6$"),
    ],
)
def test_a_calibration_that_failed_says_why_and_not_its_command(calibrate_task, called, place, says, reason):
    (place / "warehouse" / "told").write_text(json.dumps({"code": 2, "says": says}))
    with pytest.raises(AirflowFailException, match=reason):
        calibrate_task.execute(context())


def test_a_new_calibration_kills_the_processes_of_a_killed_worker_and_no_correction(calibrate_task, called, place):
    home = str(place / "warehouse" / "readings")
    marks = ("TAILRACE_CALIBRATION", "TAILRACE_CORRECTION")
    orphans = {mark: subprocess.Popen(["sleep", "600"], env=os.environ | {mark: home}) for mark in marks}
    try:
        calibrate_task.execute(context())
        assert orphans["TAILRACE_CALIBRATION"].wait(PATIENCE_S) == -signal.SIGKILL
        assert orphans["TAILRACE_CORRECTION"].poll() is None
    finally:
        for process in orphans.values():
            process.kill()
            process.wait()
