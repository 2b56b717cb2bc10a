"""The gauges of live streams, on a UDP socket in the place of a StatsD server; and what is drawn of them."""

from __future__ import annotations

import json
import re
import socket
from dataclasses import replace
from pathlib import Path

import pytest
import yaml

from kit.fakes.fake_host import write_status
from kit.suite.waiting import PATIENCE_S
from tailrace.drivers.driver_host import Driver
from tailrace.drivers.driver_status import DriverStatus
from tailrace.orchestration import driver_metrics
from tailrace.orchestration.driver_metrics import GAUGES, HOST_ANSWERS, DriverMetrics
from tailrace.orchestration.triggers import DriverTrigger
from tailrace.storage.status import Status

ROOT = Path(__file__).parents[2]
NOW = 1_800_000_000_000
REPORTED = Status(
    "streaming",
    7,
    NOW - 60_000,
    NOW - 500,
    3,
    committed_at_ms=NOW - 1_500,
    rows_left=7,
    committed=NOW - 2_000,
    frontier=NOW - 9_000,
    k_ms=2_500,
    coverage=0.75,
    rows=10,
    late=2,
    answers=4,
    batch_ms=800,
    repeats=1,
    quarantined=5,
    filtered=6,
    unmatched=2,
)
VALUES = {
    "alive": 1,
    "problem": 0,
    "silence_s": 0.5,
    "commit_age_s": 1.5,
    "batch_s": 0.8,
    "lag_rows": 7,
    "arrival_age_s": 2,
    "frontier_age_s": 9,
    "k_s": 2.5,
    "coverage": 0.75,
    "batches": 3,
    "rows": 10,
    "late": 2,
    "repeats": 1,
    "quarantined": 5,
    "filtered": 6,
    "unmatched": 2,
    "answers": 4,
    HOST_ANSWERS: 1,
}


def status(reported: Status | None = REPORTED) -> DriverStatus:
    return DriverStatus(Driver("readings", "running", 7, None, ""), reported, NOW)


@pytest.fixture
def server(monkeypatch):
    """A StatsD server that Airflow's settings name; `received` reads what has come."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as receiver:
        receiver.bind(("127.0.0.1", 0))
        receiver.setblocking(False)
        settings = {"STATSD_ON": "True", "STATSD_HOST": "127.0.0.1", "STATSD_PORT": str(receiver.getsockname()[1])}
        for name, value in settings.items():
            monkeypatch.setenv(f"AIRFLOW__METRICS__{name}", value)
        yield receiver


def received(receiver: socket.socket) -> dict[str, float]:
    """The gauges that have come, by name; UDP on loopback has delivered them when the sender returns."""
    found = {}
    while True:
        try:
            name, value, kind = re.split(r"[:|]", receiver.recv(1000).decode())
        except BlockingIOError:
            return found
        assert kind == "g"
        found[name] = float(value)


def test_all_gauges_of_a_status_go_to_the_statsd_server_that_airflow_has(server):
    DriverMetrics("readings", pytest.fail).send(status())
    assert received(server) == {f"airflow.tailrace.readings.{name}": value for name, value in VALUES.items()}
    assert VALUES.keys() == {*GAUGES, HOST_ANSWERS}


def test_where_there_are_tags_the_query_is_one(server, monkeypatch):
    monkeypatch.setenv("AIRFLOW__METRICS__STATSD_INFLUXDB_ENABLED", "True")
    DriverMetrics("readings", pytest.fail).send(status())
    assert received(server)["airflow.tailrace.lag_rows,query=readings"] == 7


def test_what_is_not_known_is_not_sent(server):
    metrics = DriverMetrics("readings", pytest.fail)
    metrics.send(status(None))
    assert received(server) == {"airflow.tailrace.readings.alive": 1, "airflow.tailrace.readings.host_answers": 1}
    metrics.send(None)
    assert received(server) == {"airflow.tailrace.readings.host_answers": 0}


def test_nothing_is_sent_where_airflow_sends_none(server, monkeypatch):
    monkeypatch.setenv("AIRFLOW__METRICS__STATSD_ON", "False")
    DriverMetrics("readings", pytest.fail).send(status())
    assert received(server) == {}


@pytest.mark.parametrize("where", ["start", "gauge"])
def test_what_keeps_metrics_from_being_sent_is_told_once_and_harms_nothing(monkeypatch, where):
    class Broken:
        def gauge(self, *_, **__):
            raise OSError("no route")

    def factory():
        if where == "start":
            raise ImportError("no module statsd")
        return Broken()

    monkeypatch.setattr(driver_metrics, "get_stats_factory", lambda: factory)
    told = []
    metrics = DriverMetrics("readings", told.append)
    for _ in range(3):
        metrics.send(status())
    assert len(told) == 1
    assert "metrics are not sent" in told[0]


def test_the_watch_of_a_driver_sends_them(server, place, host, layout):
    import asyncio

    write_status(layout, NOW)
    host.driver = Driver("readings", "failed", None, 3, "")
    file = str(place / "queries" / "readings.yaml")
    trigger = DriverTrigger("readings", str(place / "warehouse"), "", 0.01, hang_after_s=60, patience_s=0.05, file=file)

    async def first():
        async for event in trigger.run():
            return event.payload

    asyncio.run(asyncio.wait_for(first(), PATIENCE_S))
    found = received(server)
    assert (found["airflow.tailrace.readings.alive"], found["airflow.tailrace.readings.lag_rows"]) == (0, 7)


def test_the_dashboard_draws_gauges_that_there_are():
    board = json.loads((ROOT / "deploy" / "grafana" / "tailrace.json").read_text())
    assert board["schemaVersion"] >= 39
    assert {"uid", "title", "time", "templating", "panels"} <= board.keys()
    panels = board["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels) > 5
    assert len({(panel["gridPos"]["x"], panel["gridPos"]["y"]) for panel in panels}) == len(panels)
    drawn = set()
    for panel in panels:
        assert panel["title"]
        assert panel["fieldConfig"]["defaults"]["unit"]
        assert panel["datasource"]["uid"] == "${source}"
        for target in panel["targets"]:
            drawn |= set(re.findall(r'airflow_tailrace_(\w+)\{query=~"\$query"\}', target["expr"]))
    assert drawn <= {*GAUGES, HOST_ANSWERS}
    assert len(drawn) > 10
    assert {variable["name"] for variable in board["templating"]["list"]} == {"source", "query"}


def test_the_mapping_of_statsd_names_gives_the_names_of_the_dashboard():
    text = (ROOT / "deploy" / "grafana" / "statsd_mapping.yml").read_text()
    [mapping] = yaml.safe_load(text)["mappings"]
    pattern = mapping["match"].replace(".", r"\.").replace("*", r"([^.]*)")
    match = re.fullmatch(pattern, "airflow.tailrace.readings.lag_rows")
    assert match is not None
    assert mapping["name"].replace("$2", match[2]) == "airflow_tailrace_lag_rows"
    assert mapping["labels"] == {"query": "$1"}
    assert match[1] == "readings"


def test_the_reason_of_an_end_is_no_problem_that_is_tried_again():
    gauge = GAUGES["problem"]
    for state, value in (("streaming", True), ("failed", False)):
        reported = replace(REPORTED, state=state, problem="c.csv: it was changed")
        assert gauge.of(status(reported), reported) is value
