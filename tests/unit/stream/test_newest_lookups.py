"""Lookups with `corrections: newest`, held to SQL joins with the newest version of the table by DuckDB."""

from __future__ import annotations

import json
from itertools import pairwise
from pathlib import Path
from typing import Any

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from pydantic import ValidationError

from kit.runs.local_driver import correct_here
from kit.runs.warehouse import EPOCH, TIME, read_paid
from tailrace.correction.correction_range import CorrectionRange
from tailrace.ground.errors import Refused
from tailrace.query.declared import declared_query
from tailrace.query.query import Query
from tailrace.storage.layout import Layout
from tailrace.storage.tables import Tables
from tailrace.stream.local_stream import rebuild, run
from tailrace.stream.run_options import RunOptions

COUNT, BATCHES = 400, 4
RANDOM = np.random.default_rng(5)
EVENTS = EPOCH + np.arange(COUNT) * 25
ARRIVALS = EVENTS + RANDOM.integers(0, 4000, COUNT)
EVENTS[100] = EPOCH - 20 * 365 * 86_400_000  # an outlier
IDS = np.array([f"t{number}" for number in range(COUNT)], object)
IDS[200:220] = IDS[150:170]  # repeats
SKUS = RANDOM.integers(0, 6, COUNT)
ORDER = np.argsort(ARRIVALS, kind="stable")
ON_NO_MATCH = ["null", "drop", "quarantine"]

Answers = list[tuple[str, int, float]]


def write_stream(home: Path, form: str) -> None:
    (home / "in").mkdir()
    times = {"event_time": EVENTS[ORDER], "arrival_time": ARRIVALS[ORDER]}
    columns = {name: pa.array(values).cast(TIME) for name, values in times.items()}
    columns |= {"id": pa.array(IDS[ORDER]), "sku": pa.array(SKUS[ORDER], pa.int32())}
    table = pa.table(columns | {"pieces": pa.array(np.arange(COUNT) % 7, pa.int16())})
    if form == "csv":
        pyarrow.csv.write_csv(table, home / "in" / "0.csv")
    else:
        pq.write_table(table, home / "in" / "0.parquet")


def products_of(version: int) -> pa.Table:
    """Each version has other categories and prices, and lacks another product."""
    numbers = np.delete(np.arange(6), version % 6)
    category = [f"c{(number + version) % 3}" for number in numbers]
    return pa.table({"sku": numbers, "category": category, "price": numbers + 10.0 * version})


def write_products(home: Path, version: int) -> None:
    new = home / ".new"
    pq.write_table(products_of(version), new)
    new.rename(home / "products.parquet")


def query_of(home: Path, form: str = "parquet", on_no_match: str = "null", size: str = "1 s", **more: Any) -> Query:
    products = {"path": str(home / "products.parquet"), "key": "sku", "columns": ["category", "price"]}
    products |= {"on_no_match": on_no_match, "corrections": "newest"}
    stream = {name: name for name in ("event_time", "arrival_time", "id")} | {"key": "group"}
    stream |= {"source": {"format": form, "path": str(home / "in")}, "lookup": {"products": products}}
    stream |= {"columns": {"group": "coalesce(category, 'none')", "paid": "coalesce(price, 1.0) * pieces"}}
    stream |= {"where": "group <> 'c1'", "bounds": {"earliest": "1990-01-01"}}
    sections = {"window": {"size": size}, "aggregate": {"paid": {"function": "sum", "column": "paid"}}}
    return declared_query({"name": "paid", "kind": "aggregate", "streams": {"orders": stream | more}} | sections)


def run_through_versions(query: Query, home: Path, batches: int = BATCHES) -> Path:
    """Run a stream whose table changes after each of its batches."""
    write_products(home, 0)

    def on_batch(batch: int, *_: object) -> None:
        if batch + 1 < batches:
            write_products(home, batch + 1)

    run(query, home / "wh", RunOptions(COUNT // batches), on_batch)
    return home / "wh"


def joined(version: int, on_no_match: str = "null", size_ms: int = 1000, before: int | None = None) -> Answers:
    """The answers over the first arrivals of each id, joined with one version of the table, by one SQL statement."""
    ticks = (ARRIVALS[ORDER] // 100 + 1) * 100
    times = {"event": EVENTS[ORDER], "arrived": ticks, "place": np.arange(COUNT)}
    values = {"id": pa.array(IDS[ORDER]), "sku": SKUS[ORDER], "pieces": np.arange(COUNT) % 7}
    orders = pa.table(times | values)  # noqa: F841 (DuckDB reads it)
    products = products_of(version)  # noqa: F841
    join = "LEFT JOIN" if on_no_match == "null" else "JOIN"
    return duckdb.sql(
        f"""WITH tuples AS (
            SELECT *, coalesce(category, 'none') AS key FROM orders {join} products USING (sku)
            WHERE coalesce(category, 'none') <> 'c1' AND arrived <= {before or 2**62}
            QUALIFY row_number() OVER (PARTITION BY id ORDER BY place) = 1)
        SELECT key, event // {size_ms} * {size_ms} AS start, sum(coalesce(price, 1) * pieces)
        FROM tuples GROUP BY ALL ORDER BY ALL"""
    ).fetchall()


@pytest.mark.needs("long")
@pytest.mark.parametrize("form", ["parquet", "csv"])
@pytest.mark.parametrize("on_no_match", ON_NO_MATCH)
def test_a_correction_of_everything_gives_the_join_with_the_newest_version(tmp_path, form, on_no_match):
    write_stream(tmp_path, form)
    query = query_of(tmp_path, form, on_no_match)
    warehouse = run_through_versions(query, tmp_path)
    (tmp_path / "products.parquet").unlink()
    assert read_paid(query, warehouse) != joined(BATCHES - 1, on_no_match)
    report = correct_here(query, warehouse)
    assert read_paid(query, warehouse) == joined(BATCHES - 1, on_no_match)
    assert report.lookups == json.dumps({"orders.products": BATCHES})
    ledger = Tables(Layout.for_query(warehouse, query.name)).read("correction_runs")
    assert ledger["lookups"].to_pylist() == [report.lookups]


def rows_of(tables: Tables, interval: str) -> list[tuple[Any, ...]]:
    names = ["key", "window_start", "paid", "retracted", "as_of"]
    rows = [row for row in tables.read("corrections").to_pylist() if row["interval"] == interval]
    return sorted(tuple(row[name] for name in names) for row in rows)


@pytest.mark.needs("long")
def test_an_interval_recomputes_all_keys_of_its_windows_with_the_version_that_its_end_knows(tmp_path):
    write_stream(tmp_path, "parquet")
    query = query_of(tmp_path, size="200 ms")
    warehouse = run_through_versions(query, tmp_path)
    tables, size = Tables(Layout.for_query(warehouse, query.name)), COUNT // BATCHES
    arrived = ARRIVALS[ORDER]
    until = [0, *((arrived[n * size - 1] // 100) * 100 for n in range(1, BATCHES))]  # committed before each batch
    ends = [int(-(-(EPOCH + offset) // 100) * 100) for offset in (3000, 6500, 15_000)]
    late = tables.read("late").to_pylist()
    known, given = set[int](), {}
    for start, end in [(EPOCH, ends[0]), *pairwise(ends)]:
        correction_range = CorrectionRange(start, end, arrival=True)
        report = correct_here(query, warehouse, correction_range)
        version = max(n for n in range(BATCHES) if until[n] < report.as_of)
        assert report.lookups == json.dumps({"orders.products": version + 1})
        known.add(version)
        rows = given[correction_range] = rows_of(tables, str(correction_range))
        windows = {row["pane_start"] for row in late if start < row["arrived"] <= end}
        expected = [row for row in joined(version, size_ms=200, before=report.as_of) if row[1] in windows]
        assert [row[:3] for row in rows if not row[3] and row[1] in windows] == expected
    assert len(known) > 2
    assert any(row[3] for rows in given.values() for row in rows), "keys that a newer version leaves without tuples"
    write_products(tmp_path, 9)
    for correction_range in sorted(given, key=str, reverse=True):
        correct_here(query, warehouse, correction_range)
        assert rows_of(tables, str(correction_range)) == given[correction_range], "it is a function of its range"
    correct_here(query, warehouse)
    assert read_paid(query, warehouse) == joined(BATCHES - 1, size_ms=200)


def test_a_window_all_of_whose_records_were_left_out_appears_when_a_newer_version_keeps_them(tmp_path):
    write_stream(tmp_path, "parquet")
    query = query_of(tmp_path, where="category = 'c9'")
    new = pa.table({"sku": np.arange(6), "category": ["c9"] * 6, "price": np.ones(6)})
    write_products(tmp_path, 0)
    run(query, tmp_path / "wh", RunOptions(COUNT // 2), lambda *_: pq.write_table(new, tmp_path / "products.parquet"))
    correct_here(query, tmp_path / "wh", CorrectionRange(EPOCH, EPOCH + 1000))
    (first,) = [row for row in read_paid(query, tmp_path / "wh") if row[1] == EPOCH]
    is_first = (EVENTS >= EPOCH) & (EVENTS < EPOCH + 1000)
    assert first == ("c9", EPOCH, float(by_arrival(np.arange(COUNT) % 7)[is_first].sum()))


def by_arrival(values: np.ndarray) -> np.ndarray:
    """Give values that stand in order of arrival in the order of events."""
    found = np.empty_like(values)
    found[ORDER] = values
    return found


@pytest.mark.needs("long")
@pytest.mark.parametrize("source", ["there", "gone"])
def test_a_rebuild_answers_all_with_the_newest_version(tmp_path, source):
    write_stream(tmp_path, "parquet")
    warehouse = run_through_versions(query_of(tmp_path), tmp_path)
    if source == "gone":
        (tmp_path / "products.parquet").unlink()
    else:
        write_products(tmp_path, 8)
    version = BATCHES - 1 if source == "gone" else 8
    wider = query_of(tmp_path, size="2 s")
    rebuild(wider, warehouse, Path("paid.yaml"))
    correct_here(wider, warehouse)
    assert read_paid(wider, warehouse) == joined(version, size_ms=2000)
    facts = [
        fact
        for fact in Tables(Layout.for_query(warehouse, "paid")).read("facts").to_pylist()
        if "lookup" in fact["about"]
    ]
    assert len(facts) == 1, "one version holds for all"


def fault_of(error: ValidationError) -> tuple[str, str]:
    """The field of the one error, and what is wrong with it."""
    (found,) = error.errors()
    return found["ctx"]["field"], found["ctx"]["fault"]


@pytest.mark.parametrize(
    ("fields", "where", "fault"),
    [
        ({"id": "category"}, "id", "category is looked up, and a newer version of the table may change the tuple's id"),
        (
            {"columns": {"at": "timestamp_millis(cast(price as bigint))"}, "event_time": "at"},
            "event_time",
            "price is looked up, and a newer version of the table may change the tuple's event_time",
        ),
        ({"columns": {"at": "event_time"}, "event_time": "at"}, None, None),
    ],
)
def test_times_and_ids_that_are_looked_up_are_refused(tmp_path, fields, where, fault):
    columns = {"group": "coalesce(category, 'none')", "paid": "coalesce(price, 1.0)"}
    fields = fields | {"columns": columns | fields.get("columns", {})}
    if where is None:
        assert query_of(tmp_path, **fields)
        return
    with pytest.raises(ValidationError) as refused:
        query_of(tmp_path, **fields)
    assert fault_of(refused.value) == (where, fault)


def test_lookups_of_one_stream_are_corrected_alike(tmp_path):
    seen = {"path": str(tmp_path / "labels.csv"), "key": {"category": "name"}, "columns": "label"}
    newest = query_of(tmp_path).streams["orders"].lookup["products"].model_dump(mode="json", exclude_defaults=True)
    with pytest.raises(ValidationError) as refused:
        query_of(tmp_path, lookup={"products": newest, "labels": seen})
    fault = "lookup products has newest, and lookup labels has seen: a correction repeats all or none"
    assert fault_of(refused.value) == ("lookup.labels.corrections", fault)
    assert query_of(tmp_path, lookup={"products": newest, "labels": seen | {"corrections": "newest"}})


def test_a_join_takes_no_newer_version_for_its_corrections(tmp_path):
    lookup = {"path": str(tmp_path / "products.csv"), "key": "sku", "columns": "category", "corrections": "newest"}
    source = {"source": {"format": "parquet", "path": str(tmp_path)}, "event_time": "t", "id": "id"}
    streams = {"left": source | {"lookup": {"products": lookup}}, "right": source}
    sections = {"window": {"size": "1 s"}, "emd_join": {"threshold": 0.5, "histogram": "h", "ground_distance": "line"}}
    with pytest.raises(ValidationError) as refused:
        declared_query({"name": "pairs", "kind": "emd_join", "streams": streams} | sections)
    fault = "corrections of kind emd_join can't follow a newer version of a table"
    assert fault_of(refused.value) == ("streams.left.lookup.products.corrections", fault)


def test_a_column_that_history_cannot_hold_is_refused_before_anything_is_written(tmp_path):
    (tmp_path / "in").mkdir()
    times = pa.array([EPOCH, EPOCH + 1]).cast(TIME)
    columns = {"event_time": times, "arrival_time": times, "id": ["a", "b"], "sku": [1, 2]}
    pq.write_table(pa.table(columns | {"pieces": [{"of": 1}, {"of": 2}]}), tmp_path / "in" / "0.parquet")
    write_products(tmp_path, 0)
    query = query_of(tmp_path, columns={"group": "category", "paid": "pieces.of * price"})
    with pytest.raises(Refused, match="the type of pieces is struct<of: int64>, which history does not hold"):
        run(query, tmp_path / "wh")
    assert not (tmp_path / "wh").exists()


def test_the_setting_is_part_of_what_a_checkpoint_is_bound_to_and_its_default_is_not(tmp_path):
    field = "streams.orders.lookup.products.corrections"
    newest = query_of(tmp_path)
    section = newest.streams["orders"].lookup["products"].model_dump(mode="json", exclude_defaults=True)
    seen = query_of(tmp_path, lookup={"products": section | {"corrections": "seen"}})
    assert newest.structure()[field] == "newest"
    assert seen.structure()[field] == "seen"
