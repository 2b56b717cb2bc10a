"""Records with keys of each type, nulls among them, and queries by these keys."""

from __future__ import annotations

import random
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tailrace.query.declared import declared_query
from tailrace.query.query import Query

EPOCH = datetime(2026, 3, 1, tzinfo=UTC)
FIRST = datetime(1970, 1, 1, tzinfo=UTC)
INSTANTS = [FIRST, EPOCH + timedelta(microseconds=1), EPOCH, None]
KEYS: dict[str, tuple[pa.DataType, list[Any]]] = {
    "text": (pa.string(), ["", None, "null", "0"]),
    "coded text": (pa.dictionary(pa.int32(), pa.string()), ["", None, "null", "0"]),
    "integer": (pa.int32(), [0, None, -1, 7]),
    "boolean": (pa.bool_(), [True, False, None]),
    "date": (pa.date32(), [FIRST.date(), date(2026, 3, 1), None]),
    "instant": (pa.timestamp("us", "Europe/Berlin"), INSTANTS),
    "timestamp": (pa.timestamp("ms"), [FIRST.replace(tzinfo=None), EPOCH.replace(tzinfo=None), None]),
    "nothing": (pa.string(), [None]),
}
SUM = {"kind": "aggregate", "aggregate": {"total": {"function": "sum", "column": "v"}, "n": {"function": "count"}}}
NUMBERS = {"kind": "aggregate", "aggregate": {"function": "median", "column": "v"}}
WINDOW_MS = 60_000


def topk(method: str) -> dict[str, Any]:
    return {"kind": "topk", "topk": {"k": 2, "score": "v", "method": method}}


def write(name: str, directory: Path, draw: random.Random, count: int = 240) -> None:
    """Write four files of records, in order of arrival, of which some are late."""
    dtype, values = KEYS[name]
    rows = []
    for number in range(count):
        came = number * 1_000
        at = came - draw.choice([0, 0, 100, 3_000, 90_000])
        row = {"at": at, "came": came, "id": f"t{number}", "v": draw.randrange(50), "k": draw.choice(values)}
        rows.append(row | {"other": draw.choice(["", None, "x"])})
    times = dict.fromkeys(("at", "came"), pa.int64())
    plain = dtype.value_type if pa.types.is_dictionary(dtype) else dtype
    schema = pa.schema([*times.items(), ("id", pa.string()), ("v", pa.int64()), ("k", plain), ("other", pa.string())])
    start_ms = int(EPOCH.timestamp()) * 1000
    directory.mkdir()
    for number in range(4):
        part = [row | {"at": start_ms + row["at"], "came": start_ms + row["came"]} for row in rows[number * 60 :][:60]]
        table = pa.Table.from_pylist(part, schema)
        pq.write_table(table, directory / f"{number}.parquet", use_dictionary=plain != dtype)


def query_of(directory: Path, keys: list[str], kind: dict[str, Any], size: str = "1 min") -> Query:
    stream = {"source": {"format": "parquet", "path": str(directory)}, "id": "id", "bounds": {"ahead": "1 h"}}
    stream |= {"event_time": "at", "arrival_time": "came", "key": keys[0] if len(keys) == 1 else keys}
    disorder = {"policy": "none"} if kind.get("topk", {}).get("method") in ("gstopk", "mintopk", "sma") else {}
    disorder = disorder or {"policy": "k_slack", "k": "2 s"}
    declared = {"name": "q", "streams": {"s": stream}, "window": {"size": size}, "disorder": disorder | {"tick": "1 s"}}
    return declared_query(declared | kind | {"parallelism": 3})
