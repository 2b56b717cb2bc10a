"""Keys of each type with nulls among them: streams, corrections and rebuilds give what DuckDB's GROUP BY gives."""

from __future__ import annotations

import random
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kit.draws.typed_keys import KEYS, NUMBERS, SUM, WINDOW_MS, query_of, topk, write
from kit.runs.local_driver import Driver, correct_here
from tailrace.correction.quality import read_quality
from tailrace.delivery.current import refresh
from tailrace.ground.arrow.json_rows import json_rows
from tailrace.query.answers_section import CURRENT
from tailrace.query.query import Query
from tailrace.storage.answer_range import AnswerRange
from tailrace.storage.results import read_answers


def truth(directory: Path, keys: list[str], kind: dict[str, Any], window_ms: int = WINDOW_MS) -> list[tuple[Any, ...]]:
    """What one statement gives over all records, by DuckDB."""
    names = ", ".join(keys)
    groups = f'{names}, "at" - "at" % {window_ms}'
    select = f"SELECT {groups} AS w, sum(v)::BIGINT, count(*) FROM records GROUP BY {groups}"
    if kind is NUMBERS:
        select = f"SELECT {groups} AS w, median(v), count(*) FROM records GROUP BY {groups}"
    elif "topk" in kind:
        rank = f"row_number() OVER (PARTITION BY {groups} ORDER BY v DESC, id)"
        select = f"SELECT {groups} AS w, {rank} AS rank, id FROM records QUALIFY rank <= 2"
    with duckdb.connect() as database:
        database.execute("SET TimeZone = 'UTC'")
        database.register("records", pq.read_table(directory))
        found = database.execute(select).fetchall()
    return sorted(found, key=str)


def given(query: Query, warehouse: Path, streamed: bool = False, part: AnswerRange | None = None) -> list[tuple]:
    rows, columns = read_answers(query, warehouse, streamed, *([] if part is None else [part]))
    keys = list(query.key_names) or ["key"]
    start = columns.index("window_start")
    values = [start, *range(start + 2, start + 4)]
    names = [*keys, *(columns[place] for place in values)]
    found = [tuple(_plain(row[name], name) for name in names) for row in rows.select(names).to_pylist()]
    return sorted(found, key=str)


def _plain(value: Any, name: str) -> Any:
    """A window's start in ms; a key as DuckDB gives it, which has no zone where the source states none."""
    if name == "window_start":
        return value if isinstance(value, int) else int(value.timestamp() * 1000)
    return value


def same(one: list[tuple[Any, ...]], other: list[tuple[Any, ...]]) -> bool:
    return [_in_utc(row) for row in one] == [_in_utc(row) for row in other]


def _in_utc(row: tuple[Any, ...]) -> tuple[Any, ...]:
    utc = (each.replace(tzinfo=UTC) if isinstance(each, datetime) and not each.tzinfo else each for each in row)
    return tuple(each.astimezone(UTC) if isinstance(each, datetime) else each for each in utc)


def check(name: str, keys: list[str], kind: dict[str, Any], tmp_path: Path) -> None:
    write(name, tmp_path / "in", random.Random(name))
    query = query_of(tmp_path / "in", keys, kind)
    right = truth(tmp_path / "in", keys, kind)
    driver = Driver(query, tmp_path / "wh")
    driver.run(20, flush=True)
    assert not same(given(query, driver.warehouse, streamed=True), right), "nothing was late"
    correct_here(query, driver.warehouse)
    assert same(given(query, driver.warehouse), right)
    assert driver.tables.read("quarantine").num_rows == 0
    quality = read_quality(query, driver.warehouse)[0].to_pylist()
    names, windows = {row.get("answer") for row in quality}, {row[: len(keys) + 1] for row in right}
    assert sum(row["answers"] + row["missing"] for row in quality) == len(names) * len(windows)
    refresh(driver.layout, query.fixed_by(driver.layout.manifest().structure), driver.pipeline.kind)
    rows, columns = read_answers(query, driver.warehouse, False)
    assert sorted(json_rows(driver.tables.read(CURRENT).select(columns))) == sorted(json_rows(rows.select(columns)))

    of_keys = {row[: len(keys)] for row in right}
    if len(keys) == 1:
        for (key,) in of_keys - {(None,)}:
            text = pa.array([key], rows.schema.field("key").type).cast(pa.string())[0].as_py()
            mine = [row for row in right if row[0] == key]
            assert same(given(query, driver.warehouse, part=AnswerRange(key=text)), mine)
    moved = query_of(tmp_path / "in", keys, kind, "2 min")
    driver.rebuild(moved)
    correct_here(moved, driver.warehouse)
    assert same(given(moved, driver.warehouse), truth(tmp_path / "in", keys, kind, 2 * WINDOW_MS))


@pytest.mark.parametrize("name", [*KEYS])
def test_by_one_key(tmp_path: Path, name: str) -> None:
    check(name, ["k"], SUM, tmp_path)


@pytest.mark.needs("long")
@pytest.mark.parametrize("name", [*KEYS])
def test_by_two_keys(tmp_path: Path, name: str) -> None:
    check(name, ["k", "other"], SUM, tmp_path)


@pytest.mark.parametrize("name", ["boolean", "coded text"])
def test_of_values_that_are_kept(tmp_path: Path, name: str) -> None:
    check(name, ["k"], NUMBERS, tmp_path)


@pytest.mark.needs("long")
@pytest.mark.parametrize(
    ("name", "method"),
    [
        *(("boolean", method) for method in ("adaptive", "list", "gstopk", "mintopk", "sma")),
        ("text", "adaptive"),
        ("instant", "list"),
    ],
)
def test_rankings_by_each_method(tmp_path: Path, name: str, method: str) -> None:
    check(name, ["k"], topk(method), tmp_path)


@pytest.mark.parametrize("name", ["date", "nothing"])
def test_rankings_by_two_keys(tmp_path: Path, name: str) -> None:
    check(name, ["k", "other"], topk("adaptive"), tmp_path)


def test_tasks_that_change_in_number_take_the_keys_along(tmp_path: Path) -> None:
    write("boolean", tmp_path / "in", random.Random(1))
    query = query_of(tmp_path / "in", ["k"], SUM)
    files = sorted((tmp_path / "in").iterdir())
    for file in files[2:]:
        file.rename(tmp_path / file.name)
    Driver(query, tmp_path / "wh").run(20)
    for file in files[2:]:
        (tmp_path / file.name).rename(file)
    more = Driver(query.model_copy(update={"parallelism": 5}), tmp_path / "wh")
    more.run(20, flush=True)
    correct_here(more.query, more.warehouse)
    assert same(given(more.query, more.warehouse), truth(tmp_path / "in", ["k"], SUM))


def test_answers_have_the_types_of_the_keys(tmp_path: Path) -> None:
    for name, (dtype, _) in KEYS.items():
        write(name, tmp_path / name, random.Random(1), 60)
        query = replace_name(query_of(tmp_path / name, ["k"], SUM), name.replace(" ", "_"))
        driver = Driver(query, tmp_path / "wh")
        driver.run(flush=True)
        expected = {"integer": pa.int64(), "coded text": pa.string(), "date": pa.date32()}.get(name, dtype)
        expected = pa.timestamp("us", "UTC") if pa.types.is_timestamp(dtype) else expected
        assert driver.tables.schema("results").field("key").type == expected, name


def replace_name(query: Query, name: str) -> Query:
    return query.model_copy(update={"name": name})
