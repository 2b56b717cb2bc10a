"""Queries with a list of keys over the days of a time zone, from files to corrected answers, in this process."""

from __future__ import annotations

import json
import random
from collections import defaultdict
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kit.oracles.oracle import day_of
from kit.runs.json_stream import write_json
from kit.runs.local_driver import Driver, correct_here
from tailrace.correction.quality import read_quality
from tailrace.ground.errors import Refused
from tailrace.query.declared import declared_query
from tailrace.query.query import Query
from tailrace.storage.answer_range import AnswerRange
from tailrace.storage.results import read_answers
from tailrace.terminal.answers import write_answers

BEGIN = 1_711_670_400_000  # 2024-03-29T00:00Z: the day of 23 hours is the 31st
HOUR = 3_600_000
ZONE = "Europe/Berlin"
COUNTRIES, CODES = ['D"E', "F,R", "\\", "", "clé", None], [2**53 + 1, -7, None]
STREAM = {"event_time": "at", "arrival_time": "came", "id": "id", "key": ["country", "code"]}
KINDS = {
    "sum": {"kind": "aggregate", "aggregate": {"function": "sum", "column": "value"}},
    "topk": {"kind": "topk", "topk": {"k": 2, "score": "value"}},
}

Window = tuple[str | None, int | None, int, int]


def records_of(n: int = 300) -> list[dict[str, Any]]:
    """Records in order of arrival, 20 minutes apart, of which some are late by half a day or two."""
    draw, records = random.Random(7), []
    for number in range(n):
        came = BEGIN + number * 20 * 60_000
        delay = draw.choice([0, 0, 0, 5 * 60_000, 12 * HOUR, 50 * HOUR])
        record = {"at": came - delay, "came": came, "id": f"t{number}", "value": float(draw.randrange(100))}
        records.append(record | {"country": draw.choice(COUNTRIES), "code": draw.choice(CODES)})
    return records


def write(records: list[dict[str, Any]], directory: Path, form: str, number: int) -> None:
    directory.mkdir(exist_ok=True)
    if form == "json":
        write_json(records, directory, number)
    else:
        table = pa.Table.from_pylist(records)
        pq.write_table(table, directory / f"part-{number:05d}.parquet", use_dictionary=form == "dictionary")


def query_of(
    directory: Path, form: str, kind: str, window: dict[str, str] | None = None, null_key: str | None = None
) -> Query:
    source = {"format": "json" if form == "json" else "parquet", "path": str(directory)}
    stream = STREAM | {"source": source, "bounds": {"ahead": "1 h"}, "null_key": null_key}
    disorder = {"policy": "k_slack", "k": "1 h", "tick": "1 min"}
    window = window or {"size": "1 d", "timezone": ZONE}
    return declared_query(
        {"name": "sales", "streams": {"sales": stream}, "window": window, "disorder": disorder} | KINDS[kind]
    )


def truth(records: list[dict[str, Any]], kind: str) -> dict[Window, Any]:
    held = defaultdict(list)
    for record in records:
        held[record["country"], record["code"], *day_of(record["at"], ZONE)].append((-record["value"], record["id"]))
    if kind == "sum":
        return {window: [-sum(value for value, _ in rows)] for window, rows in held.items()}
    return {window: [name for _, name in sorted(rows)[:2]] for window, rows in held.items()}


def given(query: Query, warehouse: Path, part: AnswerRange | None = None) -> dict[Window, Any]:
    rows, columns = read_answers(query, warehouse, False, *([] if part is None else [part]))
    assert columns[:4] == ["country", "code", "window_start", "window_end"]
    found = defaultdict(list)
    for row in rows.to_pylist():
        assert json.loads(row["key"]) == [row["country"], row["code"]]
        window = row["country"], row["code"], row["window_start"], row["window_end"]
        found[window].append(row["value"] if "value" in row else row["id"])
    return found


@pytest.mark.needs("long")
@pytest.mark.parametrize(
    ("form", "kind"), [("parquet", "sum"), ("dictionary", "sum"), ("json", "sum"), ("json", "topk")]
)
def test_days_by_lists_of_keys_are_right_after_a_correction_and_a_rebuild(
    tmp_path: Path, form: str, kind: str, capsys: pytest.CaptureFixture[str]
) -> None:
    records = records_of()
    driver = Driver(query_of(tmp_path / "in", form, kind), tmp_path / "wh")
    for number in range(6):  # a driver for each file
        write(records[number * 50 : number * 50 + 50], tmp_path / "in", form, number)
        driver.run(batch_rows=20, flush=number == 5)
    expected = truth(records, kind)
    assert given(driver.query, driver.warehouse) != expected, "nothing was late"
    correct_here(driver.query, driver.warehouse)
    assert given(driver.query, driver.warehouse) == expected
    assert {(end - start) // HOUR for _, _, start, end in expected} == {23, 24}

    some = next(iter(expected))
    part = AnswerRange(key=json.dumps(some[:2], indent=2))  # however it is written
    of_key = {window: answer for window, answer in expected.items() if window[:2] == some[:2]}
    assert given(driver.query, driver.warehouse, part) == of_key
    quality, _ = read_quality(driver.query, driver.warehouse)
    assert sum(row["answers"] + row["missing"] for row in quality.to_pylist()) == len(expected)

    rows, columns = read_answers(driver.query, driver.warehouse, False)
    write_answers(rows, columns, "jsonl", None, 50)
    assert list(json.loads(capsys.readouterr().out.splitlines()[0]))[:3] == ["country", "code", "window_start"]

    if form == "json":  # history has the tuples, under the query's new windows too
        for file in (tmp_path / "in").iterdir():
            file.unlink()
    moved = query_of(tmp_path / "in", form, kind, {"size": "1 d", "offset": "-6 h"})
    driver.rebuild(moved)
    correct_here(moved, driver.warehouse)
    answers = given(moved, driver.warehouse)
    assert {start % (24 * HOUR) for _, _, start, _ in answers} == {18 * HOUR}
    assert sum(row["tuples"] for row in first_rows(moved, driver.warehouse)) == len(records)


def first_rows(query: Query, warehouse: Path) -> list[dict[str, Any]]:
    rows, _ = read_answers(query, warehouse, False)
    return [row for row in rows.to_pylist() if row.get("rank", 1) == 1]


def test_a_key_that_is_no_list_is_refused_of_a_query_by_lists(tmp_path: Path) -> None:
    write(records_of(20), tmp_path / "in", "parquet", 0)
    driver = Driver(query_of(tmp_path / "in", "parquet", "sum"), tmp_path / "wh")
    driver.run(flush=True)
    with pytest.raises(Refused, match=r"lists of country, code[^\n]*\n.*JSON array"):
        read_answers(driver.query, driver.warehouse, False, AnswerRange(key="DE"))


def sound_records() -> list[dict[str, Any]]:
    return [record | {"country": record["country"] or "", "code": record["code"] or 0} for record in records_of(20)]


def test_records_with_a_null_in_a_key_are_groups_or_go_to_quarantine(tmp_path: Path) -> None:
    records = sound_records()
    records[3] |= {"country": None}
    records[5] |= {"code": None}
    write(records, tmp_path / "in", "json", 0)
    driver = Driver(query_of(tmp_path / "in", "json", "sum", null_key="quarantine"), tmp_path / "wh")
    driver.run(flush=True)
    correct_here(driver.query, driver.warehouse)
    assert driver.tables.read("quarantine")["reason"].to_pylist() == ["country is null", "code is null"]
    sound = [record for number, record in enumerate(records) if number not in (3, 5)]
    assert given(driver.query, driver.warehouse) == truth(sound, "sum")
    driver.rebuild(query_of(tmp_path / "in", "json", "sum", null_key="group"))  # history lacks the two
    correct_here(driver.query, driver.warehouse)
    assert driver.tables.read("quarantine").num_rows == 0
    assert given(driver.query, driver.warehouse) == truth(records, "sum")
    driver.rebuild(query_of(tmp_path / "in", "json", "sum", null_key="quarantine"))
    correct_here(driver.query, driver.warehouse)
    assert sorted(driver.tables.read("quarantine")["reason"].to_pylist()) == ["code is null", "country is null"]
    assert given(driver.query, driver.warehouse) == truth(sound, "sum")


@pytest.mark.needs("long")
@pytest.mark.parametrize("name", ["country", "answered", "time", "pane", "tick", "error"])
def test_a_list_of_one_names_its_column_whatever_it_is_called(tmp_path: Path, name: str) -> None:
    records = [record | {name: record["country"]} for record in records_of(100)]
    write(records, tmp_path / "in", "json", 0)
    query = query_of(tmp_path / "in", "json", "sum")
    (stream,) = query.streams.values()
    query = query.model_copy(update={"streams": {"sales": stream.model_copy(update={"key": (name,)})}})
    driver = Driver(query, tmp_path / "wh")
    driver.run(batch_rows=30, flush=True)
    correct_here(query, driver.warehouse)
    rows, columns = read_answers(query, driver.warehouse, False)
    assert columns[:2] == [name, "window_start"]
    assert {json.dumps([row[name]], ensure_ascii=False) == row["key"] for row in rows.to_pylist()} == {True}
    assert sum(rows["tuples"].to_pylist()) == len(records)
