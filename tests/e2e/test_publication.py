"""Assets while the stream lives, end to end: a consumer DAG runs on new results. Runs after test_platform.py."""

from __future__ import annotations

from datetime import datetime

import pytest

from e2e_queries import live_query

pytestmark = [pytest.mark.spark, pytest.mark.e2e, pytest.mark.timeout(900)]

STREAM, PUBLISH, CONSUME = "stream_live", "publish_live", "consume_live"


@pytest.fixture
def run(platform):
    """A run of the stream `live`, which commits a batch every second or so; it is drained at the end."""
    live_query(platform.home / "queries")
    platform.until(
        lambda: {STREAM, PUBLISH, CONSUME} <= {dag["dag_id"] for dag in platform.api.call("GET", "dags")["dags"]}, 180
    )
    for dag in (CONSUME, PUBLISH, STREAM):
        platform.api.call("PATCH", f"dags/{dag}", {"is_paused": False})
    run = platform.trigger(STREAM)
    yield run
    for dag in (PUBLISH, CONSUME):
        platform.api.call("PATCH", f"dags/{dag}", {"is_paused": True})
    platform.mark(run, "failed", STREAM)
    platform.until(lambda: not platform.hosting.host.inspect("live").alive)


def events(platform):
    """The events of the asset live.results, oldest first."""
    found = platform.api.call("GET", "assets/events", name_pattern="live.results", limit=100)["asset_events"]
    return sorted((event for event in found if event["name"] == "live.results"), key=lambda event: event["timestamp"])


def test_a_consumer_runs_on_new_results_while_the_stream_lives(platform, run):
    platform.until(lambda: len(events(platform)) > 1, 400)
    platform.until(
        lambda: "success" in [run["state"] for run in platform.api.call("GET", f"dags/{CONSUME}/dagRuns")["dag_runs"]]
    )
    assert platform.states(STREAM, run)["supervise"] == "deferred"
    assert platform.hosting.host.inspect("live").alive
    found = events(platform)
    rows = [event["extra"]["rows"] for event in found]
    assert all(count > 0 for count in rows)
    totals = [event["extra"]["total_rows"] for event in found]
    assert totals == [sum(rows[: number + 1]) for number in range(len(rows))], "nothing is lost, nothing told twice"
    assert [event["extra"]["as_of"] for event in found] == sorted({event["extra"]["as_of"] for event in found})
    assert all(0 < event["extra"]["coverage"] <= 1 for event in found)
    first, second = (datetime.fromisoformat(event["timestamp"]) for event in found[:2])
    assert (second - first).total_seconds() > 30, "at most one a minute, but for how long a busy machine queues a task"
