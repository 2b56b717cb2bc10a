"""Γ as users have it: late tuples are corrected without a hand, once for each advance. After test_platform.py."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from tailrace.bench.simulate import WINDOW, Stream
from tailrace.generators.delays import delay_model, epoch_ms
from tailrace.generators.replay import generate, write
from tailrace.kinds import build
from tailrace.query.loading import load
from tailrace.storage.layout import Layout
from tailrace.storage.results import read_answers
from tailrace.storage.tables import Tables

pytestmark = [pytest.mark.spark, pytest.mark.e2e, pytest.mark.timeout(900)]

DAG, ASSET, CORRECTED_S = "correct_sums", "sums.uncorrected", 60
START_MS = 1_767_225_600_000
QUERY = """\
name: sums
kind: aggregate
streams:
  readings:
    source: {{format: parquet, path: {path}}}
    event_time: event_time
    arrival_time: arrival_time
    id: id
    key: sensor
window: {{size: 500 ms, slide: 100 ms}}
disorder: {{policy: k_slack, k: 100 ms}}
aggregate: {{function: sum, column: value}}
correction: {{gap: 5 s}}
"""


@pytest.fixture(scope="module")
def table() -> pa.Table:
    """A minute of game 2, in order of arrival."""
    return generate(60_000, 1000, 8, delay_model("game2"), 3, START_MS)


@pytest.fixture(scope="module")
def query(platform, table) -> Path:
    file, data = platform.home / "queries" / "sums.yaml", platform.home / "sums"
    file.write_text(QUERY.format(path=data))
    platform.until(lambda: DAG in [one["dag_id"] for one in platform.api.call("GET", "dags", limit=100)["dags"]], 180)
    platform.api.call("PATCH", f"dags/{DAG}", {"is_paused": False})
    platform.until(lambda: watched(platform), 90)  # Airflow begins to watch when it has read the DAG again
    write(table, platform.home / "parts", 2)
    data.mkdir()
    return file


def watched(platform) -> bool:
    assets = platform.api.call("GET", "assets", limit=100)["assets"]
    return any(one["name"] == ASSET and one["watchers"] for one in assets)


def stream_on(platform, query: Path, part: int) -> float:
    """Half of the stream comes; gives when its late tuples were committed, by the wall clock."""
    name = f"part-{part:05d}.parquet"
    (platform.home / "parts" / name).rename(platform.home / "sums" / name)
    words = ("run", str(query), "--warehouse", str(platform.home / "tables"), "--bounded", "--keep-open")
    done = subprocess.run(
        [sys.executable, "-m", "tailrace", *words],
        env=os.environ | platform.airflow.environment,
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    log = Layout.of(platform.home / "tables", "sums").table("late") / "_delta_log"
    return max(file.stat().st_mtime for file in log.glob("*.json"))


def complete(table: pa.Table) -> pa.Table:
    """Without the newest tick, more of which may come."""
    arrival = epoch_ms(table["arrival_time"])
    return table.filter(pa.array(arrival < arrival[-1] // 100 * 100))


def right(platform, query: Path, table: pa.Table) -> bool:
    """Whether each closed window is answered as over all these tuples."""
    declared = load(query)
    found, _ = read_answers(declared, platform.home / "tables", streamed=False)
    tuples = Stream.of(declared, table).tuples
    true = build(declared, pa.string()).evaluate(tuples).to_pandas()
    both = found.to_pandas().merge(true, on=WINDOW, suffixes=("", "_true"))
    assert len(both) == len(found) > 0
    return bool((both["tuples"] == both["tuples_true"]).all() and np.allclose(both["value"], both["value_true"]))


def test_what_came_late_is_corrected_by_itself_within_a_minute_and_once_for_each_advance(platform, query, table):
    tables = Tables(Layout.of(platform.home / "tables", "sums"))
    for part in (0, 1):
        committed = stream_on(platform, query, part)
        come = complete(table.slice(0, table.num_rows // 2 * (part + 1)))
        platform.until(lambda come=come: right(platform, query, come), 120)
        assert time.time() - committed < CORRECTED_S
        platform.until(lambda part=part: tables.read("correction_runs").num_rows > part)
        assert tables.read("correction_runs").num_rows == part + 1
    platform.until(lambda: set(states(platform)) == {"success"})
    events = [one for one in platform.api.call("GET", "assets/events")["asset_events"] if one["name"] == ASSET]
    assert len(states(platform)) == len(events) == 2
    assert platform.api.call("GET", "pools/default_pool")["running_slots"] == 0


def states(platform) -> list[str]:
    """Of the runs that nobody and no schedule has started."""
    runs = platform.api.call("GET", f"dags/{DAG}/dagRuns", run_type="asset_triggered")["dag_runs"]
    return [run["state"] for run in runs]
