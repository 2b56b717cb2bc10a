"""Sums that leave their type in a correction: null, and counted, however history is read."""

from __future__ import annotations

import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml

from kit.runs.local_driver import Driver
from tailrace.cli.commands import main
from tailrace.correction import history_scan
from tailrace.correction.bucketed_scan import BucketedScan
from tailrace.correction.correct import correct
from tailrace.correction.correction_range import CorrectionRange
from tailrace.correction.spilled_shuffle import SpilledShuffle
from tailrace.query.declared import declared_query

LARGE = 2**62
START = datetime(2026, 1, 1, tzinfo=UTC)

SUMS = {"total": {"function": "sum", "column": "v"}, "half": {"expression": "total / 2"}}


def write(directory: Path) -> None:
    """Write three windows of 1 s, each with a tuple that comes late; the sum of the second and third overflow then."""
    values = {0: (1, None), 1: (LARGE, LARGE), 2: (LARGE, LARGE), 3: (None, None), 9: (5, 5)}
    rows = [(second, value, 0) for second, (value, _) in values.items()]
    rows += [(second, value, 20) for second, (_, value) in values.items()]
    times = [START + timedelta(seconds=second, milliseconds=n) for n, (second, _, _) in enumerate(rows)]
    columns = {
        "at": pa.array(times, pa.timestamp("ms", "UTC")),
        "came": pa.array([START + timedelta(seconds=10 + late) for _, _, late in rows], pa.timestamp("ms", "UTC")),
        "id": [f"t{n}" for n in range(len(rows))],
        "v": pa.array([value for _, value, _ in rows], pa.int64()),
    }
    (directory / "in").mkdir()
    pq.write_table(pa.table(columns), directory / "in" / "part-0.parquet")


def query_over(directory: Path, **each: dict[str, str]):
    stream = {"source": {"format": "parquet", "path": str(directory / "in")}, "event_time": "at", "id": "id"}
    fields = {"name": "readings", "kind": "aggregate", "streams": {"readings": stream | {"arrival_time": "came"}}}
    fields |= {"window": {"size": "1 s", "slide": "1 s"}, "aggregate": SUMS | each}
    (directory / "readings.yaml").write_text(yaml.safe_dump(fields, sort_keys=False))
    return declared_query(fields)


def unread(buckets: int):
    raise AssertionError("so little is read in one process")


@pytest.mark.parametrize("in_buckets", [False, True])
@pytest.mark.parametrize("more", [{}, {"middle": {"function": "median", "column": "v"}}], ids=["amended", "re-read"])
def test_a_correction_counts_the_sums_that_left_their_type(tmp_path, monkeypatch, more, in_buckets) -> None:
    write(tmp_path)
    query = query_over(tmp_path, **more)
    driver = Driver(query, tmp_path / "wh")
    driver.run(flush=True)
    opened = unread
    if in_buckets:
        monkeypatch.setattr(history_scan, "AT_ONCE", 0)
        opened = lambda buckets: BucketedScan(SpilledShuffle(threads=1))  # noqa: E731
    report = correct(query, tmp_path / "wh", CorrectionRange(), opened)
    assert (report.answers, report.overflowed) == (5, 2)
    (run,) = driver.tables.read("correction_runs").to_pylist()
    assert run["overflowed"] == 2
    rows = driver.tables.read("corrections").sort_by("window_start")
    assert rows["total"].to_pylist() == [1, None, None, None, 10], "of values that are all null the sum is null, too"
    assert not [name for name in rows.schema.names if "overflowed" in name]


def test_the_command_warns_of_them(tmp_path, capsys, monkeypatch) -> None:
    write(tmp_path)
    query = query_over(tmp_path)
    Driver(query, tmp_path / "wh").run(flush=True)
    command = ["tailrace", "correct", tmp_path / "readings.yaml", "--warehouse", tmp_path / "wh", "--engine", "local"]
    monkeypatch.setattr(sys, "argv", [*map(str, command)])
    with pytest.raises(SystemExit) as ended:
        main()
    assert not ended.value.code
    assert "warning: 2 sums or lists left the type or the limit of the answers" in capsys.readouterr().err
