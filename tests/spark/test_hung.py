"""A driver whose Python workers hang: it reports on, and no batch ends; it is found, and obeys a drain request."""

from __future__ import annotations

import json
import os
import sys
from dataclasses import asdict
from pathlib import Path

import psutil
import pytest

from kit.parts.processes import command, is_dead
from kit.runs.kill_points import SETTINGS, TESTS, TUPLES
from kit.runs.warehouse import even, write_files
from kit.suite.waiting import PATIENCE_S, until
from tailrace.drivers.driver_host import Driver
from tailrace.drivers.liveness import START_S, LivenessJudge
from tailrace.storage.layout import Layout
from tailrace.storage.status import Status

WAIT_S = 2 * PATIENCE_S

# A run in the foreground, which gives the batch under way a second once it is asked to drain.
RUN = """
import json, sys
from pathlib import Path
from kit.oracles.oracle import Settings
from tailrace.spark.app import run
from tailrace.stream.run_options import RunOptions
from kit.runs.warehouse import make_query
told = json.loads(sys.argv[1])
settings = Settings(**told["settings"] | {"policy": tuple(told["settings"]["policy"])})
run(make_query(Path(told["in"]), settings), Path(told["wh"]), RunOptions(100, pace_ms=100, live=True, grace_s=1.0))
"""
BOUNDS = even(len(TUPLES), 12)


@pytest.fixture
def streaming(tmp_path):
    """A run that has committed a batch, and has nothing more to read."""
    write_files(TUPLES, tmp_path / "in", BOUNDS[:4])
    told = {"in": str(tmp_path / "in"), "wh": str(tmp_path / "wh"), "settings": asdict(SETTINGS)}
    process = psutil.Popen(
        [sys.executable, "-c", RUN, json.dumps(told)],
        env=os.environ | {"PYTHONPATH": f"{TESTS}{os.pathsep}{TESTS.parent / 'include'}"},
        stderr=(tmp_path / "stderr").open("w"),
    )
    family = [process]
    try:
        until(
            lambda: process.poll() is not None or says(tmp_path, lambda said: said.committed_at_ms), patience_s=WAIT_S
        )
        assert process.poll() is None, (tmp_path / "stderr").read_text()
        until(lambda: says(tmp_path, lambda said: said.state == "waiting" and said.rows_left == 0), patience_s=WAIT_S)
        family += process.children(recursive=True)
        yield process, family
    finally:
        for one in family:
            if not is_dead(one.pid):
                one.kill()
        process.wait()


def says(directory: Path, what) -> Status | None:
    said = Status.read(Layout.for_query(directory / "wh", "readings"))
    return said if said and what(said) else None


def test_a_driver_whose_workers_hang_is_found_and_obeys_a_drain_request(tmp_path, streaming):
    process, family = streaming
    workers = [one for one in family if "pyspark.daemon" in command(one)]
    assert workers
    for worker in workers:
        worker.suspend()
    write_files(TUPLES, tmp_path / "new", BOUNDS[3:5], first=3)
    (tmp_path / "new" / "part-00003.parquet").rename(tmp_path / "in" / "part-00003.parquet")

    seen = [until(lambda: says(tmp_path, lambda said: said.busy_ms is not None), patience_s=WAIT_S)]
    for _ in range(2):
        seen.append(until(lambda: says(tmp_path, lambda said: said.at_ms != seen[-1].at_ms), patience_s=WAIT_S))
    assert [said.batches for said in seen] == [seen[0].batches] * 3, "it speaks on, and no batch ends"
    assert seen[-1].busy_ms > seen[0].busy_ms
    assert seen[-1].busy_rows == BOUNDS[4] - BOUNDS[3]
    assert seen[-1].batch_ms > 0

    judge, driver = LivenessJudge(hang_after_s=2, patience_s=600), Driver("readings", "running", 1, None, "")
    verdicts = [judge.observe(driver, said, at_s) for said, at_s in zip(seen, (0, 1, 10 * START_S), strict=True)]
    assert verdicts[:2] == [None, None]
    assert verdicts[2].kind == "hung"
    assert "its batch of 50 rows has not ended" in verdicts[2].detail

    Layout.for_query(tmp_path / "wh", "readings").request_drain()
    assert process.wait(WAIT_S) == 0, (tmp_path / "stderr").read_text()
    assert says(tmp_path, lambda said: said.state == "drained")
    until(lambda: all(is_dead(one.pid) for one in family), patience_s=WAIT_S)
