"""Lookups in PostgreSQL: records without a row, held to the join that the server itself makes of the same records."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tailrace.query.declared import declared_query
from tailrace.query.query import Query
from tailrace.storage.layout import Layout
from tailrace.storage.results import read_answers
from tailrace.storage.tables import Tables
from tailrace.stream.local_stream import run

NOON, HOUR = datetime(2024, 5, 1, 12, tzinfo=UTC), timedelta(hours=1)
PRODUCTS = [
    (1, "a", 1.0, "-infinity", NOON + HOUR),
    (1, "b", 2.0, NOON + HOUR, "infinity"),
    (2, None, 4.0, None, None),
    (3, "c", 8.0, NOON + 9 * HOUR, None),
    (None, "d", 16.0, None, None),
]
SKUS = [1, 1, 1, 2, 3, 7, None, 1]
"""One has a row without a category; one a row that is not valid yet; one has none; one is null, which meets nothing."""
ORDERS = [(f"t{number}", NOON + number * HOUR / 2, sku, number + 1) for number, sku in enumerate(SKUS)]
JOINED = """
SELECT category, date_trunc('hour', ordered, 'UTC'), sum(pieces * coalesce(price, 0.5)), count(price), count(*)
FROM reports.orders {join} reports.products ON sku = product_id
    AND (since IS NULL OR since <= ordered) AND (until IS NULL OR ordered < until)
GROUP BY 1, 2
"""


def make_query(home: Path, connection: str, on_no_match: str | None) -> Query:
    products = {"format": "postgres", "connection": connection, "table": "reports.products"}
    products |= {"key": {"sku": "product_id"}, "columns": ["category", "price"], "on_no_match": on_no_match}
    stream = {"source": {"format": "parquet", "path": str(home / "in")}, "event_time": "ordered", "id": "id"}
    stream |= {"lookup": {"products": products | {"valid_from": "since", "valid_to": "until"}}}
    stream |= {"columns": {"amount": "pieces * coalesce(price, 0.5)"}, "key": "category"}
    functions: dict[str, Any] = {"paid": {"function": "sum", "column": "amount"}, "number": {"function": "count"}}
    functions |= {"priced": {"function": "count", "column": "price"}}
    return declared_query(
        {"name": "paid", "kind": "aggregate", "streams": {"orders": stream}, "window": "1 h", "aggregate": functions}
    )


@pytest.fixture
def orders(tmp_path, sql) -> Path:
    """The directory of the orders, which a table of the server has, too."""
    sql("CREATE TABLE reports.products (product_id bigint, category text, price float8, "
        "since timestamptz, until timestamptz)")  # fmt: skip
    sql("CREATE TABLE reports.orders (id text, ordered timestamptz, sku bigint, pieces bigint)")
    for table, rows in (("products", PRODUCTS), ("orders", ORDERS)):
        for row in rows:
            sql(f"INSERT INTO reports.{table} VALUES ({', '.join(['%s'] * len(row))})", *row)
    (tmp_path / "in").mkdir()
    columns = dict(zip(("id", "ordered", "sku", "pieces"), zip(*ORDERS, strict=True), strict=True))
    pq.write_table(
        pa.table({name: pa.array(values) for name, values in columns.items()}), tmp_path / "in" / "0.parquet"
    )
    return tmp_path


@pytest.mark.parametrize("on_no_match", [None, "drop", "quarantine"])
def test_the_answers_are_the_join_of_the_server(orders, connection, sql, on_no_match):
    query, warehouse = make_query(orders, connection, on_no_match), orders / "wh"
    run(query, warehouse)
    rows = read_answers(query, warehouse, streamed=False)[0].to_pylist()
    names = ("key", "window_start", "paid", "priced", "number")
    found = [tuple(row[name] for name in names) for row in rows]
    joined = sql(JOINED.format(join="LEFT JOIN" if on_no_match is None else "JOIN"))
    expected = [(category, int(hour.timestamp() * 1000), *numbers) for category, hour, *numbers in joined]
    assert sorted(found, key=str) == sorted(expected, key=str)
    assert (None, int((NOON + HOUR).timestamp() * 1000)) in {each[:2] for each in found}, "a row without a category"
    tables = Tables(Layout.for_query(warehouse, query.name))
    unmatched = sum(tables.read("segments")["unmatched"].to_pylist())
    reasons = tables.read("quarantine")["reason"].to_pylist()
    rejected = ["lookup products has no row for its sku"] * 3
    assert (unmatched, reasons) == {None: (0, []), "drop": (3, []), "quarantine": (0, rejected)}[on_no_match]
