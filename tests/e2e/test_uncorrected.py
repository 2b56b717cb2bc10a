"""Γ end to end: late tuples are corrected automatically, once per advance by Γ."""

from __future__ import annotations

import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from bench.simulate import WINDOW, RecordedStream
from generators.delays import delay_model, epoch_ms
from generators.replay import generate, write
from kit.suite.waiting import PATIENCE_S
from tailrace.kinds import build
from tailrace.query.loading import load
from tailrace.storage.layout import Layout
from tailrace.storage.results import read_answers
from tailrace.storage.tables import Tables

pytestmark = [pytest.mark.needs("spark"), pytest.mark.xdist_group("live"), pytest.mark.timeout(3600)]

DAG, ASSET = "correct_sums", "sums.uncorrected"
START_MS = 1_767_225_600_000


@pytest.fixture(scope="module")
def table() -> pa.Table:
    """A minute of tuples with the delays of game 2, in order of arrival."""
    return generate(60_000, 1000, 8, delay_model("game2"), 3, START_MS)


@pytest.fixture(scope="module")
def query(platform, table) -> Path:
    platform.unpause(DAG)
    platform.until(lambda: is_watched(platform))  # Airflow starts the trigger at its next look at the DAG's file
    write(table, platform.home / "parts", 2)
    (platform.home / "sums").mkdir()
    return platform.home / "queries" / "sums.yaml"


def is_watched(platform) -> bool:
    assets = platform.api.call("GET", "assets", limit=100)["assets"]
    return any(asset["name"] == ASSET and asset["watchers"] for asset in assets)


def stream_part(platform, query: Path, part: int) -> float:
    """Add one half of the stream and run the query; return the wall-clock time (s) of its last commit of late rows."""
    name = f"part-{part:05d}.parquet"
    (platform.home / "parts" / name).rename(platform.home / "sums" / name)
    arguments = ("run", str(query), "--warehouse", str(platform.home / "tables"), "--bounded", "--keep-open")
    result = subprocess.run(
        [sys.executable, "-m", "tailrace", *arguments],
        env=os.environ | platform.airflow.environment,
        capture_output=True,
        text=True,
        timeout=4 * PATIENCE_S,
        check=False,
    )
    assert result.returncode == 0, result.stderr
    log = Layout.for_query(platform.home / "tables", "sums").table("late") / "_delta_log"
    return max(file.stat().st_mtime for file in log.glob("*.json"))


def without_newest_tick(table: pa.Table) -> pa.Table:
    """The tuples without those of the newest tick, which may be incomplete."""
    arrival = epoch_ms(table["arrival_time"])
    return table.filter(pa.array(arrival < arrival[-1] // 100 * 100))


def is_corrected(platform, query: Path, table: pa.Table) -> bool:
    """Whether the corrected answer of each closed window equals its batch answer over these tuples."""
    declared_query = load(query)
    answers, _ = read_answers(declared_query, platform.home / "tables", streamed=False)
    tuples = RecordedStream.read(declared_query, table).tuples
    expected = build(declared_query).evaluate(tuples).to_pandas()
    both = answers.to_pandas().merge(expected, on=WINDOW, suffixes=("", "_true"))
    assert len(both) == len(answers) > 0
    return bool((both["tuples"] == both["tuples_true"]).all() and np.allclose(both["value"], both["value_true"]))


def test_late_tuples_are_corrected_within_a_minute_and_once_for_each_advance_by_gap(platform, query, table, figure):
    tables = Tables(Layout.for_query(platform.home / "tables", "sums"))
    for part in (0, 1):
        committed_at_s = stream_part(platform, query, part)
        arrived_tuples = without_newest_tick(table.slice(0, table.num_rows // 2 * (part + 1)))
        platform.until(lambda arrived_tuples=arrived_tuples: is_corrected(platform, query, arrived_tuples))
        figure("late tuples are corrected", time.time() - committed_at_s, 60)
        platform.until(lambda part=part: tables.read("correction_runs").num_rows > part)
        assert tables.read("correction_runs").num_rows == part + 1
    platform.until(lambda: set(run_states(platform)) == {"success"})
    # Airflow fails over all events while one of them, of another asset, has a run that has not started.
    events = platform.api.call("GET", "assets/events", name_pattern=ASSET)["asset_events"]
    assert len(run_states(platform)) == len(events) == 2
    assert platform.api.call("GET", "pools/default_pool")["running_slots"] == 0


def run_states(platform) -> list[str]:
    """The states of the runs that the asset's events have started."""
    runs = platform.api.call("GET", f"dags/{DAG}/dagRuns", run_type="asset_triggered")["dag_runs"]
    return [run["state"] for run in runs]
