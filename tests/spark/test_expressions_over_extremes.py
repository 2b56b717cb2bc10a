"""Answers with expressions over `max` that Spark has written, and decimals as doubles: readers give both."""

from __future__ import annotations

from datetime import UTC, datetime
from decimal import Decimal

import pyarrow as pa
import pyarrow.parquet as pq

from tailrace.query.declared import declared_query
from tailrace.spark.app import run
from tailrace.storage.results import read_answers
from tailrace.stream.run_options import RunOptions

AT = datetime(2024, 1, 1, 12, tzinfo=UTC)
AGGREGATE = {
    "hi": {"function": "max", "column": "i"},
    "twice": {"expression": "hi * 2"},
    "middle": {"function": "median", "column": "d"},
}


def test_readers_give_what_spark_has_written(tmp_path, spark):
    times = {name: pa.array([AT, AT], pa.timestamp("ms", "UTC")) for name in ("et", "at")}
    prices = pa.array([Decimal("99.99")] * 2, pa.decimal128(10, 2))
    (tmp_path / "in").mkdir()
    pq.write_table(pa.table({"id": ["a", "b"], "i": [5, None], "d": prices, **times}), tmp_path / "in" / "a.parquet")
    source = {"format": "parquet", "path": str(tmp_path / "in")}
    stream = {"source": source, "event_time": "et", "arrival_time": "at", "id": "id"}
    query = declared_query(
        {"name": "d1", "kind": "aggregate", "streams": {"ev": stream}, "window": "1 d", "aggregate": AGGREGATE}
        | {"disorder": {"policy": "k_slack", "k": "0 s"}}
    )
    run(query, tmp_path / "wh", RunOptions())
    answers, columns = read_answers(query, tmp_path / "wh", streamed=True)
    (row,) = answers.select(columns).to_pylist()
    assert (row["hi"], row["twice"], row["middle"]) == (5, 10, 99.99)
