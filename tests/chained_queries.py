"""Three queries in a chain, and the files that the first one reads."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tailrace.query.declared import declared_query
from tailrace.query.query import Query
from warehouse import EPOCH

MINUTE, HOUR, DAY = 60_000, 3_600_000, 86_400_000
START = EPOCH // DAY * DAY + DAY
KEYS = ["a", "b", "c", "d", "e", "f", "g", "h"]
TIMES = pa.timestamp("ms", "UTC")
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
