"""A calibration of answers with several columns: the least accurate one counts, and is named."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest
import yaml

from kit.runs.local_driver import Driver
from kit.runs.warehouse import even, make_stream, write_files
from tailrace.calibration.calibrate import calibrate
from tailrace.calibration.report import CalibrationReport
from tailrace.cli.commands import main
from tailrace.query.declared import declared_query

TUPLES = make_stream(1500, seed=5)
EACH: dict[str, dict[str, Any]] = {
    "many": {"function": "count"},
    "total": {"function": "sum", "column": "value"},
    "least": {"function": "min", "column": "value"},
    "newest": {"function": "last", "column": "id"},
}


def declared(directory: Path, *names: str) -> dict[str, Any]:
    source = {"format": "parquet", "path": str(directory / "in")}
    stream = {"source": source, "event_time": "event_time", "arrival_time": "arrival_time", "id": "id", "key": "key"}
    fields = {"name": "_".join(names), "kind": "aggregate", "streams": {"readings": stream}, "window": "500 ms"}
    fields |= {"aggregate": {name: EACH[name] for name in names}}
    return fields | {"disorder": {"policy": "cache_duration", "initial": "300 ms", "queries": 20}}


@pytest.fixture(scope="module")
def directory(tmp_path_factory) -> Path:
    path = tmp_path_factory.mktemp("columns")
    write_files(TUPLES, path / "in", even(len(TUPLES), 2))
    return path


def report(directory: Path, *names: str) -> CalibrationReport:
    query = declared_query(declared(directory, *names))
    Driver(query, directory / "wh").run()
    return calibrate(query, directory / "wh", dry_run=True)


def test_the_accuracy_is_the_least_of_the_numeric_columns(directory) -> None:
    every = report(directory, *EACH)
    alone = {name: report(directory, name) for name in EACH}
    for number, row in enumerate(every.measurements):
        found = {name: alone[name].measurements[number] for name in EACH}
        assert {each.duration_ms for each in found.values()} == {row.duration_ms}
        numeric = {name: each.accuracy for name, each in found.items() if name != "newest"}
        assert row.accuracy == min(numeric.values())
        assert row.column is not None
        assert numeric[row.column] == row.accuracy
        assert row.error == found[row.column].error
        assert {each.column for each in found.values()} == {None}, "one column needs no name"
    assert any(alone["newest"].measurements[n].accuracy < row.accuracy for n, row in enumerate(every.measurements))
    assert {row.column for row in every.measurements} == {"total"}, "not the first, or nothing is shown"


def test_names_limit_what_is_calibrated(directory) -> None:
    fields = declared(directory, *EACH)
    fields["disorder"]["of"] = ["many", "newest"]
    found = calibrate(declared_query(fields), directory / "wh", dry_run=True)
    every = report(directory, *EACH)
    assert {row.column for row in found.measurements} <= {"many", "newest"}
    assert [row.duration_ms for row in found.measurements] == [row.duration_ms for row in every.measurements]
    assert any(
        one.accuracy != other.accuracy for one, other in zip(found.measurements, every.measurements, strict=True)
    )


def test_the_command_names_the_column_in_the_table_and_in_the_evidence(directory, capsys, monkeypatch) -> None:
    fields = declared(directory, "total", "many")
    (directory / "both.yaml").write_text(yaml.safe_dump(fields, sort_keys=False))
    Driver(declared_query(fields), directory / "wh").run()
    command = ["tailrace", "calibrate", directory / "both.yaml", "--warehouse", directory / "wh", "--dry-run"]
    monkeypatch.setattr(sys, "argv", [*map(str, command)])
    with pytest.raises(SystemExit) as ended:
        main()
    assert not ended.value.code
    out = capsys.readouterr().out
    assert "least accurate" in out
    assert "for total" in " ".join(out.split())
