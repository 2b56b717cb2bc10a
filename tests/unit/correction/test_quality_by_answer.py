"""The quality of each column of answers by itself: what is measured and promised."""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
import yaml

from kit.runs.local_driver import Driver
from kit.runs.warehouse import even, make_stream, write_files
from tailrace.cli.commands import main
from tailrace.correction import quality
from tailrace.correction.local_correction import correct
from tailrace.correction.promise_state import PromiseState
from tailrace.correction.quality import Promise, measure, read_quality
from tailrace.kind.inputs import ColumnTypes
from tailrace.kinds import build
from tailrace.query.declared import declared_query
from tailrace.terminal import screen

EACH: dict[str, dict[str, Any]] = {
    "revenue": {"function": "sum", "column": "money"},
    "purchases": {"function": "count"},
    "half": {"expression": "purchases / 2"},
    "newest": {"function": "last", "column": "text"},
}
TYPES = {"value_money": pa.decimal128(18, 2), "value_text": pa.string()}
STREAM = {"source": {"format": "parquet", "path": "in"}, "event_time": "at", "id": "id", "key": "key"}
KIND = build(
    declared_query(
        {"name": "q", "kind": "aggregate", "streams": {"s": STREAM}, "window": "100 ms"} | {"aggregate": EACH}
    ),
    [ColumnTypes(carried=TYPES)],
)


def measured(*versions: tuple, promise: Promise) -> dict[str, dict[str, Any]]:
    """Measure versions (key, corrected, retracted, revenue, purchases, newest), all in one bucket, by answer."""
    rows = [
        {"key": key, "window_start": 900, "window_end": 1000, "tuples": 1, "interval": None, "as_of": 1 + corrected}
        | {"k_ms": None if corrected else 50, "corrected": corrected, "retracted": retracted, "newest": newest}
        | {"revenue": None if revenue is None else Decimal(revenue), "purchases": purchases, "half": purchases / 2}
        for key, corrected, retracted, revenue, purchases, newest in versions
    ]
    schema = pa.schema(
        [
            *KIND.answer,
            *[("interval", pa.string()), ("as_of", pa.int64()), ("k_ms", pa.int64())],
            *[("corrected", pa.bool_()), ("retracted", pa.bool_())],
        ]
    )
    return {row["answer"]: row for row in measure(KIND, pa.Table.from_pylist(rows, schema), 1000, promise).to_pylist()}


VERSIONS = (
    ("a", False, False, "90.00", 10, "x"),
    ("a", True, False, "100.00", 10, "x"),
    ("b", False, False, None, 9, "x"),  # its values are all null, and of one more tuple
    ("b", True, False, None, 10, "y"),
    ("c", False, False, None, 4, "x"),
    ("c", True, False, "1.00", 4, "x"),
    ("d", False, False, "5.00", 1, "x"),  # taken back
    ("d", True, True, "5.00", 0, None),
    ("e", True, False, "7.00", 1, None),  # not answered
)


def test_each_column_of_answers_is_measured_by_itself() -> None:
    found = measured(*VERSIONS, promise=Promise(0.1, 0.2))
    assert [*found] == [*EACH], "in the order of answers"
    for row in found.values():
        assert (row["answers"], row["corrected"], row["missing"], row["mean_k_ms"]) == (4, 4, 1, 50)
    # Off in every column: d, which was taken back, and e, which was not answered.
    assert [row["off"] for row in found.values()] == [2 + 2, 2 + 1, 2 + 1, 2 + 1]
    assert found["revenue"]["mean_error"] == pytest.approx((0.1 + 0 + 1 + 1 + 1) / 5), "a null is right where all are"
    assert found["purchases"]["mean_error"] == pytest.approx((0.1 + 1 + 1) / 5)
    assert found["newest"]["mean_error"] == pytest.approx(3 / 5), "a text is right or not"
    assert found["revenue"]["share"] == pytest.approx(4 / 5)


def test_the_promise_stands_beside_the_numeric_answers_or_those_it_names() -> None:
    def promised(promise: Promise) -> dict[str, tuple]:
        found = measured(*VERSIONS, promise=promise)
        return {name: (row["error"], row["risk"], row["accuracy"], row["off"]) for name, row in found.items()}

    of_all = promised(Promise(0.5, 0.2))
    assert of_all == {
        "revenue": (0.5, 0.2, None, 3),
        "purchases": (0.5, 0.2, None, 2),
        "half": (0.5, 0.2, None, 2),
        "newest": (None, None, None, 3),
    }
    some = promised(Promise(0.5, 0.2, of=("purchases",)))
    assert some["purchases"] == (0.5, 0.2, None, 2)
    assert some["revenue"] == (None, None, None, 4), "off from 5 % on, where nothing is promised"
    assert promised(Promise(accuracy=0.9))["half"][2] == 0.9


TUPLES = make_stream(1500, seed=5)
MANY = even(len(TUPLES), 3)
NAMES = ("total", "many", "newest")


@pytest.fixture
def query(tmp_path: Path):
    write_files(TUPLES, tmp_path / "in", MANY)
    source = {"format": "parquet", "path": str(tmp_path / "in")}
    stream = {"source": source, "event_time": "event_time", "arrival_time": "arrival_time", "id": "id", "key": "key"}
    aggregate = {"total": {"function": "sum", "column": "value"}, "many": {"function": "count"}}
    fields = {"name": "readings", "kind": "aggregate", "streams": {"readings": stream}, "window": "100 ms"}
    fields |= {"aggregate": aggregate | {"newest": {"function": "last", "column": "id"}}}
    fields |= {"disorder": {"policy": "cache_duration", "initial": "0 ms", "accuracy": 0.95}}
    (tmp_path / "readings.yaml").write_text(yaml.safe_dump(fields, sort_keys=False))
    query = declared_query(fields)
    Driver(query, tmp_path / "wh").run(flush=True)
    correct(query, tmp_path / "wh")
    return query


def right(directory: Path) -> dict[tuple[int, str], tuple[int, int]]:
    """Of each bucket and column the answers and those that are off, in plain Python from the two tables."""
    tables = Driver(declared_query(yaml.safe_load((directory / "readings.yaml").read_text())), directory / "wh").tables
    streamed, corrected = (
        {(row["key"], row["window_end"]): row for row in tables.read(name).to_pylist()}
        for name in ("results", "corrections")
    )
    found: dict[tuple[int, str], list[int]] = defaultdict(lambda: [0, 0])
    for answer in streamed.keys() | corrected.keys():
        was, now = streamed.get(answer), corrected.get(answer, streamed.get(answer))
        for name in NAMES:
            if was is None or name == "newest":
                is_off = was is None or was[name] != now[name]
            else:
                is_off = abs(was[name] - now[name]) >= 0.05 * (abs(now[name]) or 1) and was[name] != now[name]
            bucket = found[(answer[1] - 1) // 10_000 * 10_000, name]
            bucket[0] += 1
            bucket[1] += is_off
    return {place: tuple(counts) for place, counts in found.items()}


def seen(query, directory: Path) -> dict[tuple[int, str], tuple[int, int]]:
    rows, _ = read_quality(query, directory / "wh")
    return {(r["bucket_start"], r["answer"]): (r["answers"] + r["missing"], r["off"]) for r in rows.to_pylist()}


def test_a_correction_measures_each_column_and_the_state_of_the_promise_names_the_worst(tmp_path, query) -> None:
    found = seen(query, tmp_path)
    assert found == right(tmp_path)
    starts = {bucket for bucket, _ in found}
    assert len(starts) > 2
    totals = {name: sum(found[start, name][1] for start in starts) for name in NAMES}
    assert len({*totals.values()}) == 3, "the columns differ, or nothing is shown"
    state = PromiseState.read(Driver(query, tmp_path / "wh").tables)
    assert state.state == "broken"
    assert state.detail.startswith("total: accuracy "), "the worst first"
    assert "; many: accuracy " in state.detail
    assert "newest:" not in state.detail, "no number: not promised"


def test_a_correction_again_replaces_rows_and_adds_none(tmp_path, query, monkeypatch) -> None:
    first = seen(query, tmp_path)
    monkeypatch.setattr(quality, "AT_ONCE", 1)
    correct(query, tmp_path / "wh")
    assert seen(query, tmp_path) == first
    assert read_quality(query, tmp_path / "wh")[0].num_rows == len(first)


@pytest.mark.parametrize("form", ["jsonl", "table"])
def test_the_command_shows_the_column_beside_the_bucket(tmp_path, query, capsys, monkeypatch, form) -> None:
    command = ["tailrace", "quality", tmp_path / "readings.yaml", "--warehouse", tmp_path / "wh", "--format", form]
    monkeypatch.setattr(sys, "argv", [*map(str, command)])
    monkeypatch.setattr(screen.out, "width", 120)
    capsys.readouterr()
    with pytest.raises(SystemExit) as ended:
        main()
    assert not ended.value.code
    lines = capsys.readouterr().out.splitlines()
    if form == "table":
        assert lines[1].replace("┃", "").split()[:2] == ["bucket_start", "answer"]
        assert [name in line for name, line in zip(NAMES, lines[3:6], strict=True)] == [True] * 3, lines
    else:
        assert [json.loads(line)["answer"] for line in lines][:6] == [*NAMES, *NAMES]
