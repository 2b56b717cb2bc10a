"""Links from tasks, DAGs and assets to the page of their query, also where Airflow's URL has a path."""

from __future__ import annotations

import pytest

from kit.fakes.fake_host import QUERY, declare
from tailrace.orchestration.calibration_dags import calibration_dags
from tailrace.orchestration.correction_dags import correction_dags
from tailrace.orchestration.publish_dags import publish_dags
from tailrace.orchestration.rebuild_dags import rebuild_dags
from tailrace.orchestration.stream_dags import stream_dags

PARTS = {
    "stream_readings": "frontier",
    "correct_readings": "ledger",
    "calibrate_readings": "ledger",
    "publish_readings": "answers",
    "rebuild_readings": "settings",
}
"""The part of the query's page to which the tasks of each DAG lead."""


@pytest.fixture(params=["http://airflow:8080", "https://here/airflow/"], ids=["", "with a path"])
def base_url(request, monkeypatch):
    monkeypatch.setenv("AIRFLOW__API__BASE_URL", request.param)
    return request.param.rstrip("/")


@pytest.fixture
def dags(place, base_url):
    learning = QUERY.replace("{{tick: 1 min}}", "{{policy: cache_duration, tick: 1 min}}")
    declare(place / "queries", "readings", f"{learning}correction: {{{{gap: 5 s}}}}\n")
    found = stream_dags() | correction_dags() | calibration_dags() | publish_dags() | rebuild_dags()
    assert set(found) == set(PARTS)
    return found


def test_every_task_links_to_a_part_of_its_querys_page(dags, base_url):
    for dag_id, dag in dags.items():
        for task in dag.tasks:
            [link] = [each for each in task.operator_extra_links if each.name == "Stream"]
            page = f"{base_url}/tailrace/queries/readings?part={PARTS[dag_id]}"
            assert link.get_link(task, ti_key=None) == page, task.task_id


def test_the_documentation_of_every_dag_begins_with_links_that_hold_under_any_name_of_airflow(dags, base_url):
    path = "/airflow" if base_url.endswith("/airflow") else ""
    for dag_id, dag in dags.items():
        page = f"{path}/tailrace/queries/readings?part={PARTS[dag_id]}"
        first = f"**[The page of readings]({page})** · [all streams]({path}/tailrace/)"
        assert dag.doc_md.splitlines()[:2] == [first, ""]


def test_every_asset_of_a_query_has_the_address_of_the_part_that_shows_it(dags, base_url):
    tasks = [task for dag in dags.values() for task in dag.tasks]
    assets = {asset.name: asset for task in tasks for asset in (*task.inlets, *task.outlets)}
    for dag_id, position in (("correct_readings", 0), ("publish_readings", 0)):
        [asset] = dags[dag_id].timetable.asset_condition.objects[position : position + 1]
        assets[asset.name] = asset
    pages = {
        name.partition(".")[2]: asset.extra["page"] for name, asset in assets.items() if name.startswith("readings.")
    }
    parts = {
        "results": "answers",
        "current": "answers",
        "commits": "answers",
        "corrections": "ledger",
        "proposals": "ledger",
        "late": "late",
        "uncorrected": "late",
        "quarantine": "quarantine",
        "metrics": "frontier",
        "quality": "promise",
    }
    assert pages == {name: f"{base_url}/tailrace/queries/readings?part={part}" for name, part in parts.items()}
