"""Dry runs on a query's page: what they found, who may read it, and when the K of one may be accepted."""

from __future__ import annotations

import json
from dataclasses import replace

import pytest

from kit.fakes.fake_host import QUERY, declare
from kit.parts.airflow_database import AirflowDatabase
from tailrace.calibration.acceptance import proposal_of, to_json
from tailrace.calibration.report import Basis, CalibrationReport, MeasuredDuration
from tailrace.calibration.search import Bracket
from tailrace.console import actions_route, dry_runs, rights
from tailrace.console.airflow_dags import KnownDag
from tailrace.orchestration.addresses import REPORT
from tailrace.panels.query_view import QueryView
from tailrace.query.loading import load
from tailrace.storage.layout import Layout
from tailrace.storage.manifest import CheckpointManifest, write_manifest
from tailrace.storage.proposals import Proposals

LEARNING = QUERY.replace("{{tick: 1 min}}", "{{policy: cache_duration, tick: 1 min}}")


@pytest.fixture
def denied(monkeypatch):
    """The rights that the user lacks, as method and entity."""
    lacking: set[tuple[str, str | None]] = set()

    def may(user, method, dag_id, entity=None):
        return (method, None if entity is None else entity.name) not in lacking

    monkeypatch.setattr(rights, "may", may)
    return lacking


@pytest.fixture
def store(monkeypatch):
    """Stores the report of a dry run in Airflow's database, by its kind and its run."""
    database = AirflowDatabase.create()
    monkeypatch.setattr(dry_runs, "create_session", database.session)
    return lambda kind, run_id, value: database.xcom(f"{kind}_readings", run_id, kind, REPORT, value)


@pytest.fixture
def view(place, denied, store, monkeypatch):
    """A query that has begun, with a policy that takes proposals."""
    dag = KnownDag(is_paused=False, is_scheduled=False, unfinished=0)
    monkeypatch.setattr(actions_route, "read_dags", lambda ids: dict.fromkeys(ids, dag))
    monkeypatch.setattr(actions_route, "task_state", lambda *_: None)
    file = declare(place / "queries", "readings", LEARNING)
    view = QueryView(Layout.for_query(place / "warehouse", "readings"), file)
    view.layout.stream.mkdir(parents=True)
    write_manifest(view.layout.manifest_file, CheckpointManifest.new(load(file).structure(), {}, {}, {}))
    return view


@pytest.fixture
def report(view):
    basis = Basis("readings", view.layout.manifest().id, load(view.file).policy.model_dump_json(), None, 9_000)
    rows = MeasuredDuration(1000, 0.9, 0.01), MeasuredDuration(1200, 0.96, 0.005)
    intervals = Bracket(0, 4000, 2000), Bracket(1000, 1200, 1200)
    return CalibrationReport(rows, 0.95, 30, 0, 2000, *intervals, 5000, False, basis)


@pytest.fixture
def calibrated(store, report):
    """A dry run of the calibration is the newest."""
    store("calibrate", "manual__1/x", json.loads(to_json(report)))


def actions(view):
    found = list(actions_route._actions(view, load(view.file), "ada"))
    return {action.name: action for action in found}


def test_without_a_dry_run_there_is_nothing_to_accept(view):
    found = actions(view)
    assert "accept" not in found
    assert found["calibrate"].dry_run is None
    assert found["rebuild"].dry_run is None


def test_a_dry_run_shows_its_evidence_and_its_k_can_be_accepted(view, report, calibrated):
    found = actions(view)
    shown, accept = found["calibrate"].dry_run, found["accept"]
    assert shown.lines == [report.evidence, "1000 ms: 0.9000 ± 0.0100", "1200 ms: 0.9600 ± 0.0050, enough"]
    assert shown.run == "dags/calibrate_readings/runs/manual__1%2Fx"
    assert accept.title == "Accept K = 1200 ms"
    assert report.evidence in accept.says
    [request] = accept.requests
    assert (request.method, request.path) == ("POST", "dags/calibrate_readings/dagRuns")
    assert request.body["conf"] == {"accept": "manual__1/x"}


def test_a_viewer_sees_the_evidence_and_may_not_accept(view, calibrated, denied):
    denied.add(("POST", "RUN"))
    accept = actions(view)["accept"]
    assert not accept.is_allowed
    assert "right to trigger runs" in accept.why_not


def test_who_may_not_read_xcoms_sees_no_dry_run(view, calibrated, store, denied):
    store("rebuild", "manual__2", {"lines": ["a"]})
    denied.add(("GET", "XCOM"))
    found = actions(view)
    assert found["calibrate"].dry_run is None
    assert found["rebuild"].dry_run is None
    assert "accept" not in found


def test_a_later_proposal_takes_the_offer_away_and_is_named(view, report, calibrated):
    later = replace(report, next_interval=Bracket(0, 1000, 1000))
    Proposals(view.layout).add(proposal_of(later, load(view.file).policy))
    found = actions(view)
    assert "accept" not in found
    assert f"a later calibration has proposed since: {later.evidence}" in found["calibrate"].dry_run.lines[-1]


def test_what_was_accepted_is_not_offered_twice(view, report, calibrated):
    Proposals(view.layout).add(proposal_of(report, load(view.file).policy))
    found = actions(view)
    assert "accept" not in found
    assert "its K is proposed already" in found["calibrate"].dry_run.lines[-1]


def test_another_version_of_the_settings_takes_the_offer_away(view, calibrated, place):
    declare(place / "queries", "readings", LEARNING.replace("tick: 1 min", "tick: 1 min, accuracy: 0.9"))
    found = actions(view)
    assert "accept" not in found
    assert "It can't be accepted: it measured for other settings" in found["calibrate"].dry_run.lines[-1]


def test_a_policy_that_takes_no_proposal_offers_none(view, calibrated, place):
    declare(place / "queries", "readings")
    found = actions(view)
    assert "accept" not in found
    assert found["calibrate"].dry_run.lines[-1].endswith("takes no proposal.")


@pytest.mark.parametrize("value", [None, "x", {}, {"measurements": []}, 7])
def test_an_xcom_that_is_no_report_hides_no_other_action(view, store, value):
    for kind in ("calibrate", "rebuild"):
        store(kind, "manual__1", value)
    found = actions(view)
    assert {"deploy", "drain", "correct", "calibrate", "rebuild"} == set(found)
    assert "no report of a calibration" in found["calibrate"].dry_run.lines[-1]
    assert found["rebuild"].dry_run.lines == ["its report can't be read"]


def test_a_damaged_table_hides_no_other_action(view, calibrated):
    table = view.layout.table("proposals")
    (table / "_delta_log").mkdir(parents=True)
    (table / "_delta_log" / "00000000000000000000.json").write_text("no JSON")
    found = actions(view)
    assert "accept" not in found
    assert "can't be accepted" in found["calibrate"].dry_run.lines[-1]


def test_a_rebuilds_dry_run_shows_its_lines_and_cuts_what_is_endless(view, store):
    lines = ["parallelism: 2 → 3", "x" * 10_000, *map(str, range(1000))]
    store("rebuild", "manual__2", {"lines": lines})
    shown = actions(view)["rebuild"].dry_run
    assert shown.lines[0] == "parallelism: 2 → 3"
    assert max(map(len, shown.lines)) == 400
    assert len(shown.lines) == 120
