"""The command `late --records`: each late tuple with the place of its record, against a loop over the records."""

from __future__ import annotations

import csv
import json
import random
from pathlib import Path

import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

import tailrace as package
from tailrace.panels import late_reading

HEAD = "id,shop,at,came"
OPTIONS = ("--warehouse", "out", "--records")
QUERY = """\
name: own
kind: aggregate
streams:
  records:
    source: {format: csv, path: in}
    event_time: at
    arrival_time: came
    id: id
    key: shop
window: 10 s
disorder: {policy: k_slack, k: 2 s}
aggregate: {records: {function: count}}
"""
PAIRS = """\
name: near
kind: emd_join
streams:
  left: {source: {format: json, path: left.json}, event_time: at, arrival_time: came, id: id}
  right: {source: {format: json, path: right.json}, event_time: at, arrival_time: came, id: id}
window: {size: 5 s}
disorder: {policy: none}
emd_join: {threshold: 1, histogram: bins}
"""


def minute(second: float) -> str:
    return f"2026-03-01T08:00:{second:06.3f}Z"


def write_records(folder: Path, has_arrival: bool = True) -> list[tuple[str, str]]:
    """Write records in two files; return place and id of those that come after F has passed the end of their window.

    They arrive 200 ms apart: no two in a tick of 100 ms, whose end is their arrival.
    """
    chance, frontier, late = random.Random(3), float("-inf"), []
    (folder / "in").mkdir()
    for file in range(2):
        lines = [HEAD]
        for line in range(20):
            number = 20 * file + line
            event = max(number - chance.choice([0, 0, 1, 4, 15]), 0)
            if 10 * (event // 10) + 10 <= frontier:
                late.append((f"{file}.csv, line {line + 2}", f"r{number}"))
            frontier = max(frontier, event - 2)
            lines.append(f"r{number},{'ab'[number % 2]},{minute(event)},{minute(40 + number / 5)}")
        (folder / "in" / f"{file}.csv").write_text("\n".join([*lines, ""]))
    assert len(late) > 3
    return late


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "own.yaml").write_text(QUERY)
    return tmp_path


def listed(lines: str) -> list[tuple[str, str]]:
    return [(row["place"], row["id"]) for row in csv.DictReader(lines.splitlines())]


def to_parquet(folder: Path) -> None:
    """Replace the records by the same ones in Parquet, which is itself the history of its stream."""
    for file in (folder / "in").iterdir():
        pq.write_table(pa.csv.read_csv(file), file.with_suffix(".parquet"))
        file.unlink()
    (folder / "own.yaml").write_text(QUERY.replace("format: csv", "format: parquet"))


@pytest.mark.parametrize("is_history", [True, False])
def test_each_late_tuple_is_named_by_file_and_place_in_order_of_arrival(folder, tailrace, is_history):
    late = write_records(folder)
    if is_history:
        to_parquet(folder)
        numbers = [(file[0], int(line), id_) for place, id_ in late for file, line in [place.split(", line ")]]
        late = [(f"{file}.parquet, row {line - 1}", id_) for file, line, id_ in numbers]
    tailrace("run", "own.yaml", "--engine", "local", "--warehouse", "out", "--bounded")
    for query in ("own.yaml", "own"):
        assert listed(tailrace("late", query, *OPTIONS, "--format", "csv").stdout) == late
    shown = tailrace("late", "own.yaml", *OPTIONS, "--limit", "2")
    assert [place in shown.stdout for place, _ in late] == [True, True, *[False] * (len(late) - 2)]
    assert f"… and {len(late) - 2} more: --limit or --format gives them" in shown.stderr
    assert "more" not in tailrace("late", "own.yaml", *OPTIONS).stderr
    rows = package.load("own.yaml", warehouse="out").late(records=True, limit=3).dicts()
    assert [(row["place"], row["id"]) for row in rows] == late[:3]


def test_without_late_tuples_this_is_said(folder, tailrace):
    (folder / "in").mkdir()
    (folder / "in" / "0.csv").write_text(f"{HEAD}\nr0,a,{minute(0)},{minute(1)}\n")
    tailrace("run", "own.yaml", "--engine", "local", "--warehouse", "out", "--bounded")
    assert "no tuple came late" in tailrace("late", "own.yaml", *OPTIONS).stderr
    assert listed(tailrace("late", "own.yaml", *OPTIONS, "--format", "csv").stdout) == []


def test_late_tuples_of_pairs_are_named_too(folder, tailrace):
    (folder / "near.yaml").write_text(PAIRS)
    for side, late in (("left", 3.0), ("right", 4.0)):
        events = [(0, 1), (20, 21), (late, 22)]
        rows = [
            {"id": f"{side}{event:g}", "at": minute(event), "came": minute(came), "bins": [1, 2]}
            for event, came in events
        ]
        (folder / f"{side}.json").write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    tailrace("run", "near.yaml", "--engine", "local", "--warehouse", "out", "--bounded")
    late = [("left.json, line 3", "left3"), ("right.json, line 3", "right4")]
    assert listed(tailrace("late", "near.yaml", *OPTIONS, "--format", "csv").stdout) == late


def test_history_that_would_take_long_is_not_read(folder, tailrace, monkeypatch):
    write_records(folder)
    tailrace("run", "own.yaml", "--engine", "local", "--warehouse", "out", "--bounded")
    monkeypatch.setattr(late_reading, "MOST_ROWS", 1)
    refused = tailrace("late", "own.yaml", *OPTIONS, code=2).stderr
    assert "too many rows of history" in refused


def test_a_source_that_is_gone_is_named_by_its_field(folder, tailrace):
    write_records(folder)
    to_parquet(folder)
    tailrace("run", "own.yaml", "--engine", "local", "--warehouse", "out", "--bounded")
    (folder / "in" / "0.parquet").unlink()
    assert "own.yaml:5: streams.records.source.path: " in tailrace("late", "own.yaml", *OPTIONS, code=2).stderr
