"""A warehouse in an S3-compatible store: drivers on Spark that are killed there, and a live one that drains.

A driver and a correction are killed for real. `objects/test_warehouse.py` has deaths at any write, and what another
machine leaves, without Spark.
"""

from __future__ import annotations

import os

import pytest

from kit.oracles.oracle import stream
from kit.oracles.oracle_assertions import assert_streamed
from kit.parts.object_store import BUCKET, running_gateway
from kit.runs.kill_points import BATCH_ROWS, SETTINGS, TUPLES, kill, write_input
from kit.runs.live_stream import live
from kit.runs.warehouse import EPOCH, even, make_query, rows_of, tables_of, write_files
from tailrace.correction.correction_range import CorrectionRange
from tailrace.ground.connections import connection_variables
from tailrace.ground.files.object_stores import store_of
from tailrace.spark.app import run
from tailrace.spark.distributed_correction import correct
from tailrace.storage.layout import Layout
from tailrace.storage.status import Status
from tailrace.storage.warehouses import CONNECTION
from tailrace.stream.run_options import RunOptions

# The server is built once, from its source.

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


def assert_whole(name: str) -> None:
    rows = rows_of(url(name))
    assert_streamed(rows, stream(TUPLES, SETTINGS))
    assert sum(row["accepted"] + row["quarantined"] for row in rows["segments"]) == len(TUPLES)
    assert sum(row["rows"] for row in rows["metrics"]) == len(TUPLES)


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
        assert Status.read(Layout.for_query(url("live"), "readings")).state == "drained"
    assert_streamed(rows_of(url("live")), stream(TUPLES, SETTINGS, flush=False))
    checkpoint = os.listdir(bucket / "live" / "readings" / "_stream" / "checkpoint")
    assert sorted(checkpoint) == ["tables.json", "tasks"], "Spark has nothing there"
