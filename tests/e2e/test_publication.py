"""While a stream lives, end to end: a consumer DAG runs on new results, a broken promise is told within a minute."""

from __future__ import annotations

import json
from datetime import datetime

import pytest
from deltalake import DeltaTable

from kit.draws.e2e_queries import PUBLISHED_EVERY_S
from kit.fakes.webhook import listening_webhook
from tailrace.drivers import driver_lifecycle
from tailrace.storage.layout import Layout

pytestmark = [pytest.mark.needs("spark"), pytest.mark.xdist_group("live"), pytest.mark.timeout(3600)]

STREAM, PUBLISH, CONSUME, CORRECT = "stream_live", "publish_live", "consume_live", "correct_live"


@pytest.fixture(scope="module")
def webhook(platform):
    """A webhook, and a connection to it in Airflow's database, where users have theirs."""
    with listening_webhook() as server:
        connection = {"connection_id": "ops_webhook", "conn_type": "http", "host": "127.0.0.1", "port": server.port}
        connection["extra"] = json.dumps({"tailrace_notify": True})
        platform.api.call("POST", "connections", connection)
        yield server


@pytest.fixture(scope="module")
def run(platform, webhook):
    """A run of the stream `live`, which commits a batch every second or so; it is drained at the end."""
    run = platform.trigger(STREAM)
    platform.unpause("correct_sums")  # Airflow takes a while to watch for it, until test_uncorrected.py
    yield run
    for dag in (PUBLISH, CONSUME, CORRECT):
        platform.api.call("PATCH", f"dags/{dag}", {"is_paused": True})
    platform.mark(run, "failed", STREAM)
    platform.until(lambda: not driver_lifecycle.inspect(platform.hosting.host, layout_of_live(platform)).alive)


def layout_of_live(platform):
    return Layout.for_query(platform.layout.home.parent, "live")


def events(platform, name="live.results"):
    """The events of an asset, oldest first."""
    found = platform.api.call("GET", "assets/events", name_pattern=name, limit=100)["asset_events"]
    return sorted((event for event in found if event["name"] == name), key=lambda event: event["timestamp"])


def test_a_consumer_runs_on_new_results_while_the_stream_lives(platform, run):
    platform.until(lambda: len(events(platform)) > 1)
    platform.until(
        lambda: "success" in [run["state"] for run in platform.api.call("GET", f"dags/{CONSUME}/dagRuns")["dag_runs"]]
    )
    assert platform.states(STREAM, run)["supervise"] == "deferred"
    assert driver_lifecycle.inspect(platform.hosting.host, layout_of_live(platform)).alive
    found = events(platform)
    rows = [event["extra"]["rows"] for event in found]
    assert all(count > 0 for count in rows)
    totals = [event["extra"]["total_rows"] for event in found]
    assert totals == [sum(rows[: number + 1]) for number in range(len(rows))], "nothing is lost, nothing told twice"
    assert [event["extra"]["as_of"] for event in found] == sorted({event["extra"]["as_of"] for event in found})
    assert all(0 < event["extra"]["coverage"] <= 1 for event in found)
    first, second = (datetime.fromisoformat(event["timestamp"]) for event in events(platform, "live.commits")[:2])
    assert (second - first).total_seconds() > PUBLISHED_EVERY_S / 2, "one an interval, but for delays of Airflow"


def test_an_alert_comes_within_a_minute_of_the_commit_that_shows_a_broken_promise(platform, run, webhook, figure):
    assert not webhook.received, "nothing is measured before the first correction"
    platform.until(lambda: len(events(platform)) > 1)
    platform.api.call("PATCH", f"dags/{CORRECT}", {"is_paused": False})
    correction = platform.trigger(CORRECT)
    platform.until(lambda: platform.states(CORRECT, correction)["correct"] == "success")
    platform.until(lambda: webhook.received)
    [(_, _, body)] = webhook.received
    assert (body["query"], body["condition"], body["state"]) == ("live", "promise_broken", "firing")
    assert "at least 0.999 promised" in body["detail"]
    commits = DeltaTable(platform.home / "tables" / "live" / "quality").history()
    measured_ms = min(commit["timestamp"] for commit in commits if commit["operation"] != "CREATE TABLE")
    figure("an alert comes after the commit that shows a broken promise", webhook.times[0] - measured_ms / 1000, 60)
    assert platform.states(STREAM, run)["supervise"] == "deferred"
    assert driver_lifecycle.inspect(platform.hosting.host, layout_of_live(platform)).alive
