"""The task of rebuild_<query>: a dry run at any time, a rebuild without a driver alone, and what its log says."""

from __future__ import annotations

import json
from dataclasses import replace
from types import SimpleNamespace

import pytest
from airflow.sdk.exceptions import AirflowException, AirflowFailException

from tailrace.orchestration.rebuild_operator import RebuildOperator


def context(dry_run=True, conf=None, pushed=None):
    form = {"dry_run": dry_run, "driver_memory": "1g"}
    run = SimpleNamespace(run_type="manual", conf=conf)
    ti = SimpleNamespace(xcom_push=lambda key, value: (pushed if pushed is not None else {}).update({key: value}))
    return {"dag": SimpleNamespace(params=form), "dag_run": run, "params": form, "ti": ti}


@pytest.fixture
def rebuild_task(place, host):
    return RebuildOperator(task_id="rebuild", query="readings", file=str(place / "queries" / "readings.yaml"))


def options_of(arguments):
    """The options of the app beside the query file and the warehouse."""
    app = next(number for number, word in enumerate(arguments) if word.endswith("spark_apps/rebuild.py"))
    return ["REPORT" if word.endswith("/report.json") else word for word in arguments[app + 4 :]]


@pytest.mark.parametrize("state", ["absent", "running"])
def test_a_dry_run_is_possible_beside_a_driver_and_its_report_becomes_an_xcom(rebuild_task, called, host, place, state):
    host.driver = replace(host.driver, state=state)
    (place / "warehouse" / "told").write_text(json.dumps({"report": {"lines": ["all stays"]}}))
    pushed = {}
    rebuild_task.execute(context(pushed=pushed))
    assert options_of(called()[2]) == ["--dry-run", "--report", "REPORT"]
    assert pushed == {"dry_run": {"lines": ["all stays"]}}
    assert rebuild_task.lineage_details() == {"rebuilds": False}


def test_without_a_driver_a_rebuild_is_one(rebuild_task, called, host):
    host.driver = replace(host.driver, state="ended")
    rebuild_task.execute(context(dry_run=False))
    assert options_of(called()[2]) == []
    assert rebuild_task.lineage_details() == {"rebuilds": True}


@pytest.mark.parametrize("state", ["running", "starting", "stopping"])
def test_a_rebuild_beside_a_driver_fails_at_once_and_says_what_to_do(rebuild_task, called, host, state):
    host.driver = replace(host.driver, state=state)
    assert host.driver.alive
    with pytest.raises(AirflowFailException, match=rf"readings: its driver is {state}.*\n.*tailrace drain readings"):
        rebuild_task.execute(context(dry_run=False))
    with pytest.raises(FileNotFoundError):
        called()


@pytest.mark.parametrize(("code", "is_retried"), [(1, True), (2, False)])
def test_a_failed_rebuild_is_retried_and_a_refused_one_is_not(rebuild_task, called, place, code, is_retried):
    (place / "warehouse" / "told").write_text(json.dumps({"code": code}))
    with pytest.raises(AirflowException) as failure:
        rebuild_task.execute(context())
    assert isinstance(failure.value, AirflowFailException) is not is_retried
