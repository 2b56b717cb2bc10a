"""Three queries in a chain, the files that the first one reads, and the last table by one SQL statement."""

from __future__ import annotations

import random
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from kit.runs.local_driver import Driver
from kit.runs.warehouse import EPOCH
from tailrace.kinds import build
from tailrace.query.declared import declared_query
from tailrace.query.query import Query
from tailrace.storage.results import AnswerTables

MINUTE, HOUR, DAY = 60_000, 3_600_000, 86_400_000
START = EPOCH // DAY * DAY + DAY
KEYS = ["a", "b", "c", "d", "e", "f", "g", "h"]
TIMES = pa.timestamp("ms", "UTC")
TRUTH = """
WITH firsts AS (SELECT * FROM events QUALIFY row_number() OVER (PARTITION BY id ORDER BY arrived, number) = 1),
minutes AS (SELECT k, ts // 60000 AS m, sum(v) AS revenue FROM firsts GROUP BY ALL),
hours AS (SELECT k, m // 60 AS h, sum(revenue) AS revenue, count(*) AS minutes FROM minutes GROUP BY ALL)
SELECT h // 24 * 86400000, row_number() OVER (PARTITION BY h // 24 ORDER BY revenue DESC, h, k) AS rank,
       k, revenue, minutes
FROM hours QUALIFY rank <= 5 ORDER BY ALL
"""
"""The last table of the chain over all tuples; of those with one id the first that arrived counts."""
SCHEMA = pa.schema([("ts", TIMES), ("arrived", TIMES), ("id", pa.int64()), ("k", pa.string()), ("v", pa.int64())])


def declarations(directory: Path) -> list[dict[str, Any]]:
    """Return the fields of three queries: revenue by minute, by hour, and the five best hours of a day."""
    revenue = {
        "name": "revenue",
        "kind": "aggregate",
        "streams": {
            "events": {
                "source": {"format": "parquet", "path": str(directory)},
                "event_time": "ts",
                "arrival_time": "arrived",
                "id": "id",
                "key": ["k"],
                "bounds": {"ahead": "2 d"},
            }
        },
        "window": "1 min",
        "aggregate": {"revenue": {"function": "sum", "column": "v"}},
        "disorder": {"policy": "k_slack", "k": "1 min", "tick": "1 s"},
    }
    hourly = {
        "name": "hourly",
        "kind": "aggregate",
        "streams": {
            "minutes": {
                "source": {"format": "tailrace", "query": "revenue"},
                "event_time": "window_start",
                "key": ["k"],
                "bounds": {"ahead": "2 d"},
            }
        },
        "window": "1 h",
        "aggregate": {"revenue": {"function": "sum", "column": "revenue"}, "minutes": {"function": "count"}},
        "disorder": {"policy": "k_slack", "k": "5 min", "tick": "1 s", "idle": "3 min", "deduplicate": True},
    }
    best = {
        "name": "best",
        "kind": "topk",
        "streams": {
            "hours": {
                "source": {"format": "tailrace", "query": "hourly"},
                "event_time": "window_start",
                "bounds": {"ahead": "2 d"},
            }
        },
        "window": "1 d",
        "topk": {"k": 5, "score": "revenue", "select": ["k", "minutes"]},
        "disorder": {"policy": "none", "tick": "1 s", "idle": "2 h", "deduplicate": True},
    }
    return [revenue, hourly, best]


def chain(directory: Path) -> list[Query]:
    """Return the three queries."""
    return [declared_query(each) for each in declarations(directory)]


def write(events: list[tuple], file: Path) -> None:
    file.parent.mkdir(exist_ok=True)
    columns = [
        pa.array(column, pa.int64() if n != 3 else pa.string()) for n, column in enumerate(zip(*events, strict=True))
    ]
    pq.write_table(pa.table(columns, SCHEMA.names).cast(SCHEMA), file)


def disordered(draw: random.Random, rows: int) -> list[tuple]:
    """Draw tuples in order of arrival: late ones, repeats of other content, and one that is ten days old."""
    events, arrival = [], START
    for number in range(rows):
        arrival += draw.randrange(12 * MINUTE)
        event = arrival - draw.choice([0, 0, 1000, 3 * MINUTE, 2 * HOUR, 10 * HOUR])
        events.append((event, arrival, number, draw.choice(KEYS), draw.randrange(-50, 100)))
        if draw.random() < 0.25:
            arrival += draw.randrange(3 * MINUTE)
            again = draw.choice(events[-6:])
            event = draw.choice([again[0], arrival])
            events.append((event, arrival, again[2], draw.choice([again[3], *KEYS]), draw.randrange(-50, 100)))
    outlier = events[rows // 2]
    events[rows // 2] = (outlier[0] - 10 * DAY, *outlier[1:])
    return events


def expected(events: list[tuple]) -> list[tuple]:
    """Return the answers of the last query over all tuples, by `TRUTH`."""
    columns = dict(zip(SCHEMA.names, zip(*events, strict=True), strict=True)) | {"number": range(len(events))}
    connection = duckdb.connect()
    connection.register("events", pa.table({name: pa.array(list(each)) for name, each in columns.items()}))
    return connection.execute(TRUTH).fetchall()


def answers(query: Query, warehouse: Path) -> list[tuple]:
    """Return the newest answers of the last query, in the columns of `TRUTH`."""
    rows = AnswerTables(Driver(query, warehouse).tables, build(query).answers).latest().to_pylist()
    names = ("window_start", "rank", "k", "score", "minutes")
    return sorted(tuple(row[name] for name in names) for row in rows)
