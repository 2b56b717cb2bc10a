"""Runs of the ledger lead to the runs of Airflow's DAGs that made them, or nowhere: never to a wrong one."""

from __future__ import annotations

import json

import pytest

from kit.parts.airflow_database import AirflowDatabase
from tailrace.console import ledger_links
from tailrace.console.ledger_links import FoundRun, maker, with_links


def run(started_at=150, arrived_from=0, arrived_to=10, kind="correction"):
    return {"kind": kind, "started_at": started_at, "arrived_from": arrived_from, "arrived_to": arrived_to}


def found(run_id="a", low=0, high=10, started=100, ended=200):
    return FoundRun(run_id, low, high, started, ended)


@pytest.mark.parametrize(
    ("ledger", "candidates", "expected"),
    [
        (run(), [found()], "a"),
        (run(), [found("other", 10, 20), found("a")], "a"),
        (run(), [found(ended=None)], "a"),
        (run(), [found(started=160)], None),
        (run(), [found(ended=140)], None),
        (run(arrived_to=None), [found("manual", None, None)], "manual"),
        (run(arrived_to=None), [found("b", None, None), found("c", None, None)], None),
        (run(started_at=None), [found()], None),
        (run(), [found("other", 10, 20)], None),
        (run(), [], None),
    ],
)
def test_a_run_is_found_by_its_interval_among_those_that_ran_then(ledger, candidates, expected):
    made_by = maker(ledger, candidates)
    assert (made_by and made_by.run_id) == expected


def test_links_are_paths_below_airflows_url(monkeypatch):
    database = AirflowDatabase.create()
    database.run("correct_q", "scheduled__2026-01-01T00:00:00+00:00", "success", 200, 100, (0, 10))
    database.run("correct_q", "of another interval", "success", 200, 110, (10, 20))
    monkeypatch.setattr(ledger_links, "create_session", database.session)
    answer = json.dumps({"runs": [run(), run(kind="calibration")], "gaps": [1]}).encode()
    ledger = json.loads(with_links("q", answer))
    urls = [each["run_url"] for each in ledger["runs"]]
    assert urls == ["dags/correct_q/runs/scheduled__2026-01-01T00%3A00%3A00%2B00%3A00", None]
    assert ledger["gaps"] == [1]
