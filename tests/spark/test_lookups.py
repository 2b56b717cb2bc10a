"""Lookups on Spark: tables that change between batches, what has no row, corrections, and a rebuild without the tables.

The answers are those of the local engine, and of one SQL statement by DuckDB. `unit/stream/test_lookups.py` has other
formats, backups and refusals, in process.
"""

from __future__ import annotations

import json
import shutil
from collections.abc import Callable
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from deltalake import write_deltalake

from kit.runs.kind_streams import contents
from kit.runs.local_driver import correct_here
from kit.runs.warehouse import EPOCH, TIME, read_paid
from tailrace.correction import history_scan
from tailrace.correction.report import CorrectionReport
from tailrace.query.declared import declared_query
from tailrace.query.query import Query
from tailrace.spark import app
from tailrace.spark.distributed_correction import correct
from tailrace.storage.layout import Layout
from tailrace.storage.tables import Tables
from tailrace.stream import local_stream
from tailrace.stream.run_options import RunOptions
from unit.stream import test_newest_lookups as newest

COUNT, BATCHES = 600, 3
RANDOM = np.random.default_rng(11)
EVENTS = EPOCH + np.arange(COUNT) * 20
ARRIVALS = EVENTS + RANDOM.integers(0, 4000, COUNT)
ORDER = np.argsort(ARRIVALS, kind="stable")
ORDERS = pa.table(
    {
        "ordered": pa.array(EVENTS[ORDER]).cast(TIME),
        "received": pa.array(ARRIVALS[ORDER]).cast(TIME),
        "id": [f"t{number}" for number in ORDER],
        "sku": pa.array(RANDOM.integers(0, 6, COUNT), pa.int32(), mask=RANDOM.random(COUNT) < 0.1),
        "shop": [f"s{number}" for number in RANDOM.integers(0, 8, COUNT)],
        "buyer": RANDOM.integers(0, 30, COUNT),
        "pieces": pa.array(RANDOM.integers(1, 5, COUNT), pa.int16()),
    }
)
"""The orders in the order of their arrival."""
HALF = EPOCH + COUNT * 10
"""The event time from which on the products cost more, in ms."""


def products_of(version: int) -> pa.Table:
    """Five of six products, each with a price before and after `HALF`; the version moves prices and categories."""
    numbers = np.repeat(np.arange(5), 2)
    category = [None if number == 4 else f"c{(number + version) % 3}" for number in numbers]
    since, until = ([None, HALF] * 5, [HALF, None] * 5)
    bounds = {"since": pa.array(since, pa.int64()).cast(TIME), "until": pa.array(until, pa.int64()).cast(TIME)}
    price = numbers + 10.0 * version + np.tile([0, 100], 5)
    return pa.table({"product_id": numbers, "category": category, "price": price, **bounds})


def shops_of(version: int) -> pa.Table:
    """The shops lie in other regions by version; another one is unknown."""
    names = np.delete(np.arange(8), version)
    return pa.table({"shop": [f"s{name}" for name in names], "region": [f"r{(name + version) % 2}" for name in names]})


def buyers_of(version: int) -> pa.Table:
    """The buyers, of whom another one is unknown by version."""
    return pa.table({"buyer": np.delete(np.arange(30), version), "factor": np.arange(29) + 1.0})


TABLES: dict[str, Callable[[int], pa.Table]] = {"products": products_of, "shops": shops_of, "buyers": buyers_of}
EXPECTED = """
SELECT region AS key, event // {size} * {size} AS start, sum(pieces * coalesce(price, 1) * factor) AS paid
FROM orders
LEFT JOIN products ON sku = product_id AND orders.version = products.version
    AND (since IS NULL OR since <= ordered) AND (until IS NULL OR ordered < until)
JOIN shops ON orders.shop = shops.shop AND orders.version = shops.version
JOIN buyers ON orders.buyer = buyers.buyer AND orders.version = buyers.version
WHERE category IS NULL OR category <> 'c1'
GROUP BY ALL ORDER BY ALL
"""


def write_tables(home: Path, version: int) -> None:
    for name, table_of in TABLES.items():
        write_deltalake(home / name, table_of(version), mode="overwrite")


def make_query(home: Path, size: str = "1 s") -> Query:
    products = {"key": {"sku": "product_id"}, "columns": ["category", "price"], "on_no_match": "null"}
    products |= {"valid_from": "since", "valid_to": "until"}
    shops = {"key": "shop", "columns": "region", "on_no_match": "drop"}
    buyers = {"key": "buyer", "columns": "factor", "on_no_match": "quarantine"}
    lookups = {"products": products, "shops": shops, "buyers": buyers}
    places = {name: {"format": "delta", "path": str(home / name)} for name in lookups}
    stream = {
        "source": {"format": "parquet", "path": str(home / "in")},
        "event_time": "ordered",
        "arrival_time": "received",
        "id": "id",
        "lookup": {name: places[name] | lookup for name, lookup in lookups.items()},
        "columns": {"amount": "pieces * coalesce(price, 1.0) * factor"},
        "where": "category is null or category <> 'c1'",
        "key": "region",
    }
    sections = {"window": {"size": size}, "aggregate": {"paid": {"function": "sum", "column": "amount"}}}
    return declared_query({"name": "paid", "kind": "aggregate", "streams": {"orders": stream}} | sections)


def run_through_versions(home: Path, warehouse: Path, run: Callable[..., int], **more: object) -> None:
    """Run the query on an engine; its three tables change after each batch."""
    write_tables(home, 0)

    def on_batch(batch: int, *_: object) -> None:
        if batch + 1 < BATCHES:
            write_tables(home, batch + 1)

    run(make_query(home), warehouse, RunOptions(COUNT // BATCHES), on_batch, **more)


def versions_of(warehouse: Path) -> list[int]:
    """The version that was in force for each order, alike of all three tables, in the order of their arrival."""
    tables = Tables(Layout.for_query(warehouse, "paid"))
    facts = [fact for fact in tables.read("facts").to_pylist() if fact["about"].startswith("lookup ")]
    since = {fact["from_segment"]: fact["version"] for fact in facts}
    assert sorted(since.values()) == [*range(1, BATCHES + 1)]
    assert len(facts) == len(TABLES) * BATCHES
    versions = np.zeros(COUNT, int)
    for segment in tables.read("segments").to_pylist():
        number = max(version for start, version in since.items() if start <= segment["ordinal"])
        versions[segment["position"] : segment["position"] + segment["rows"]] = number
    return versions.tolist()


def expected(versions: list[int], size_ms: int) -> list[tuple[str, int, float]]:
    """The answers over all orders, each joined with the versions that were in force for it, by one SQL statement."""
    with duckdb.connect() as connection:
        orders = ORDERS.append_column("version", pa.array(versions)).append_column("event", pa.array(EVENTS[ORDER]))
        connection.register("orders", orders)
        for name, table_of in TABLES.items():
            parts = [table_of(number) for number in range(BATCHES)]
            numbered = [part.append_column("version", pa.repeat(n, len(part))) for n, part in enumerate(parts, 1)]
            connection.register(name, pa.concat_tables(numbered))
        return connection.execute(EXPECTED.format(size=size_ms)).fetchall()


def correct_on_spark(query: Query, warehouse: Path) -> CorrectionReport:
    """Correct all late tuples; Spark reads the history, however small it is."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(history_scan, "AT_ONCE", 0)
        return correct(query, warehouse)


def test_answers_corrections_and_a_rebuild_are_those_of_the_local_engine_and_of_sql(tmp_path, spark):
    (tmp_path / "in").mkdir()
    pq.write_table(ORDERS, tmp_path / "in" / "0.parquet")
    on_spark, here, query, wider = (
        tmp_path / "spark",
        tmp_path / "local",
        make_query(tmp_path),
        make_query(tmp_path, "3 s"),
    )
    run_through_versions(tmp_path, on_spark, app.run, spark=spark)
    seen = versions_of(on_spark)
    assert set(seen) == {*range(1, BATCHES + 1)}
    assert read_paid(query, on_spark) != expected(seen, 1000), "late tuples are missing"
    run_through_versions(tmp_path, here, local_stream.run)
    for name in TABLES:
        shutil.rmtree(tmp_path / name)
    correct_on_spark(query, on_spark)
    correct_here(query, here)
    assert contents(on_spark) == contents(here)
    assert read_paid(query, on_spark) == expected(seen, 1000)
    reasons = Tables(Layout.for_query(on_spark, "paid")).read("quarantine")["reason"].to_pylist()
    assert reasons
    assert {*reasons} == {"lookup buyers has no row for its buyer"}
    assert sum(Tables(Layout.for_query(on_spark, "paid")).read("segments")["unmatched"].to_pylist())
    app.rebuild(wider, on_spark, Path("paid.yaml"), spark=spark)
    correct_on_spark(wider, on_spark)
    assert versions_of(on_spark) == seen
    assert read_paid(wider, on_spark) == expected(seen, 3000)


def test_a_correction_on_spark_looks_up_again_in_the_newest_version(tmp_path, spark):
    newest.write_stream(tmp_path, "parquet")
    query = newest.query_of(tmp_path)
    warehouse = newest.run_through_versions(query, tmp_path)
    (tmp_path / "products.parquet").unlink()
    report = correct_on_spark(query, warehouse)
    assert report.lookups == json.dumps({"orders.products": newest.BATCHES})
    assert read_paid(query, warehouse) == newest.joined(newest.BATCHES - 1)
