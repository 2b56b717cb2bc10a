"""Drivers of a warehouse in an S3-compatible store: deployed, counted, drained and listed by objects there."""

from __future__ import annotations

from kit.parts import airflow_home  # isort: skip  (before any module that imports airflow)

from kit.fakes.fake_host import FakeHost, declare, write_status
from tailrace.drivers import driver_lifecycle, fence
from tailrace.drivers.launch import is_drained, pause, starts_file
from tailrace.orchestration import overview, settings, submit
from tailrace.orchestration.passed_connections import passed_connections
from tailrace.storage.layout import Layout
from tailrace.storage.status import wall_ms
from tailrace.storage.warehouses import CONNECTION, location_of

assert airflow_home.HOME


def test_a_driver_is_deployed_drained_and_fenced_by_objects(warehouse):
    layout, host = Layout.for_query(warehouse, "readings"), FakeHost()
    layout.request_drain()
    home = location_of(str(layout.home))
    assert pause(home, 5, 600, 1000.0) == 0
    assert pause(home, 5, 600, 1001.0) == 1
    first = driver_lifecycle.deploy(host, layout, ["go"], {})
    assert (first.made, layout.drain.exists(), starts_file(home).exists()) == (True, False, False)
    assert not driver_lifecycle.deploy(host, layout, ["go"], {}).made
    host.on_inspect = lambda: layout.drain.exists() and host.is_now("ended", 0, "with code 0")
    assert not driver_lifecycle.drain(host, layout, 60, 1).alive
    assert is_drained(home)
    assert host.ran[-1][-1] == str(layout.home)
    assert fence.mark(home, "token") == f"{warehouse}/readings#token"
    second = driver_lifecycle.deploy(host, layout, ["go"], {})
    assert second.deployment != first.deployment


def test_the_overview_lists_what_is_in_the_bucket(warehouse, monkeypatch, tmp_path):
    declare(tmp_path / "queries", "declared")
    write_status(Layout.for_query(warehouse, "begun"), wall_ms())
    monkeypatch.setenv("TAILRACE_QUERIES", str(tmp_path / "queries"))
    monkeypatch.setenv("TAILRACE_WAREHOUSE", warehouse)
    monkeypatch.setenv("AIRFLOW_CONN_TAILRACE_SPARK", '{"conn_type": "spark", "host": "local[*]"}')
    monkeypatch.setattr(settings, "driver_host", FakeHost)
    assert [row[0] for row in overview.overview()[1]] == ["begun", "declared"]
    assert overview.is_begun(FakeHost(), "begun")
    assert not overview.is_begun(FakeHost(), "declared")
    query = settings.find("declared").query
    assert submit.environment(query)["AIRFLOW_CONN_LAKE"] == passed_connections(query)["AIRFLOW_CONN_LAKE"]
    assert submit.environment(query)[CONNECTION] == "lake"
