"""The disk of the warehouse is really full, at many places of a batch: the driver says so, and goes on when it can."""

from __future__ import annotations

from kit.oracles.oracle import Settings, stream
from kit.oracles.oracle_assertions import assert_streamed
from kit.runs.live_stream import live
from kit.runs.warehouse import even, make_query, make_stream, rows_of, silences_of, write_files
from spark.small_disk import fill, small_disk
from tailrace.drivers.driver_host import Driver
from tailrace.drivers.driver_status import DriverStatus
from tailrace.storage.status import Status

TUPLES = make_stream(400, seed=41)
SETTINGS = Settings(500, 100, 100, "sum", ("k_slack", 300))
DRIVER = Driver("readings", "running", 1, None, "")
SPARE = (0, 1 << 14, 1 << 16)
"""Bytes that are free while the disk is full: none for the journal; too few for the tasks' states, or the tables."""


def test_a_stream_on_a_full_disk_says_so_and_goes_on_when_there_is_room(tmp_path, spark):
    query, bounds = make_query(tmp_path / "in", SETTINGS, parallelism=1), even(len(TUPLES), 2 + len(SPARE))
    write_files(TUPLES, tmp_path / "in", bounds[:2])
    with small_disk(tmp_path / "disk", 24) as disk:

        def fill_it_again_and_again(beside):
            beside.until(lambda status, entry: status.batches > entry.header.batch)
            for number, spare in enumerate(SPARE, 1):
                ballast = fill(disk, spare)
                before = Status.read(beside.layout).batches
                write_files(TUPLES, tmp_path / "in", bounds[number : number + 2], first=number)
                beside.until(lambda status, _: "No space left" in str(status.problem))
                status = Status.read(beside.layout)
                assert "No space left" in str(DriverStatus(DRIVER, status, status.at_ms))
                beside.until(lambda status, _, since=status.at_ms: status.at_ms > since + 2000)
                ballast.unlink()
                beside.until(lambda status, entry, rows=bounds[number + 1]: entry.position.rows == rows)
                beside.until(lambda status, entry: status.problem is None and status.batches > entry.header.batch)
                assert Status.read(beside.layout).batches > before
            write_files(TUPLES, tmp_path / "in", bounds[-2:], first=len(SPARE) + 1)
            beside.until(lambda status, entry: entry.position.rows == len(TUPLES))
            beside.until(lambda status, entry: status.batches > entry.header.batch)

        live(query, disk / "wh", fill_it_again_and_again)
        rows, passed = rows_of(disk / "wh"), silences_of(disk / "wh")
    assert_streamed(rows, stream(TUPLES, SETTINGS, flush=False, passed=passed))
    assert sum(row["rows"] for row in rows["metrics"]) == len(TUPLES)
