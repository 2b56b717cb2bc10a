"""A warehouse in an S3-compatible store: drivers on Spark that are killed there, and a live one that drains.

What a kill leaves is copied at all points of one run, as the server's files; a driver and a correction are killed for
real. Those that are followed have the same lock files; that of another machine is tested without Spark.
"""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from kill_points import BATCH_ROWS, SETTINGS, TUPLES, arm, kill, leave, write_input
from live_stream import live
from object_store import BUCKET, running_gateway
from oracle import stream
from oracle_assertions import assert_streamed
from tailrace.correction.correction_range import CorrectionRange
from tailrace.ground.connections import connection_variables
from tailrace.ground.object_stores import store_of
from tailrace.spark.app import run
from tailrace.spark.correct import correct
from tailrace.storage.checkpoint import committed_batches
from tailrace.storage.layout import Layout
from tailrace.storage.status import Status
from tailrace.storage.warehouses import CONNECTION
from tailrace.stream.run_options import RunOptions
from warehouse import EPOCH, even, make_query, rows_of, tables_of, write_files

# The server is built once, from its source.
pytestmark = [pytest.mark.spark, pytest.mark.xdist_group("bucket"), pytest.mark.timeout(1800)]

POINTS = {"planned": "before states", "half": "between states", "unnoted": "before note"}
"""Kill points of batch 2, by the name of the warehouse that a kill there leaves."""
STATES = {"planned": [0, 0, 1, 1], "half": [0, 1, 1, 2], "unnoted": [1, 1, 2, 2]}
"""The batches after which there are states of the two tasks, by warehouse."""
RANGE = EPOCH, EPOCH + 4000


@pytest.fixture(scope="module")
def bucket(tmp_path_factory, _spark):
    """The directory in which a server's bucket has its objects; the connection to it is in the environment."""
    home = tmp_path_factory.mktemp("bucket")
    workers = _spark.sparkContext.environment
    before = dict(workers)
    with running_gateway(home) as gateway, pytest.MonkeyPatch.context() as patch:
        for name, value in {
            "AIRFLOW_CONN_LAKE": gateway.connection(),
            CONNECTION: "lake",
            "XDG_CACHE_HOME": str(home),
        }.items():
            patch.setenv(name, value)
        store_of.cache_clear()
        workers.update(connection_variables(["lake"]))
        yield home / "data" / BUCKET
    workers.clear()
    workers.update(before)
    store_of.cache_clear()


def url(name: str) -> str:
    return f"s3://{BUCKET}/{name}"


@pytest.fixture(scope="module")
def left(bucket, tmp_path_factory, _spark) -> Path:
    """What a kill leaves at each point, in a warehouse each; and the whole run as `end`."""
    home = tmp_path_factory.mktemp("input")
    write_input(home)
    with pytest.MonkeyPatch.context() as patch:
        for name, point in POINTS.items():
            arm(patch, point, 2, lambda name=name: leave(bucket / "end", bucket / name))
        run(make_query(home / "in", SETTINGS), url("end"), RunOptions(BATCH_ROWS), spark=_spark)
    for name in POINTS:  # a copy has another lock file, so the dead driver's lease would be waited for
        (bucket / name / "readings" / "lease" / "stream").unlink()
    return home


def assert_whole(name: str) -> None:
    rows = rows_of(url(name))
    assert_streamed(rows, stream(TUPLES, SETTINGS))
    assert sum(row["accepted"] + row["quarantined"] for row in rows["segments"]) == len(TUPLES)
    assert sum(row["rows"] for row in rows["metrics"]) == len(TUPLES)


@pytest.mark.parametrize("name", POINTS)
def test_the_next_run_goes_on(left, spark, name):
    layout = Layout.of(url(name), "readings")
    assert committed_batches(layout) == 2
    states = sorted(int(file.stem) for task in (0, 1) for file in (layout.states / str(task)).iterdir())
    assert states == STATES[name], "it died elsewhere"
    assert run(make_query(left / "in", SETTINGS), url(name), RunOptions(BATCH_ROWS)) > 0
    assert_whole(name)


def test_the_next_run_goes_on_after_a_real_kill_of_a_driver_and_of_a_correction(bucket, spark, tmp_path):
    write_input(tmp_path)
    query = make_query(tmp_path / "in", SETTINGS)
    for point in ("K2", "K7"):
        more = {"span": RANGE} if point == "K7" else {}
        kill(tmp_path, point, 1, **({"wh": url("killed")} | more))
        if point == "K2":
            run(query, url("killed"), RunOptions(BATCH_ROWS))
            assert_whole("killed")
    tables = tables_of(url("killed"))
    assert tables.read("corrections").num_rows
    assert not tables.read("correction_runs").num_rows, "it died elsewhere"
    report = correct(query, url("killed"), CorrectionRange(*RANGE, arrival=True))
    assert tables.read("corrections").num_rows == report.answers > 0


def test_a_live_stream_drains_and_goes_on(bucket, tmp_path, spark):
    query, bounds = make_query(tmp_path / "in", SETTINGS), even(len(TUPLES), 4)
    for half in range(2):
        write_files(TUPLES, tmp_path / "in", bounds[2 * half : 2 * half + 3], first=2 * half)
        read = bounds[2 * half + 2]

        def all_read(status, entry, read=read):
            return entry.position.rows == read and status.batches > entry.header.batch

        live(query, url("live"), lambda beside, done=all_read: beside.until(done))
        assert Status.read(Layout.of(url("live"), "readings")).state == "drained"
    assert_streamed(rows_of(url("live")), stream(TUPLES, SETTINGS, flush=False))
    checkpoint = os.listdir(bucket / "live" / "readings" / "_stream" / "checkpoint")
    assert sorted(checkpoint) == ["tables.json", "tasks"], "Spark has nothing there"
