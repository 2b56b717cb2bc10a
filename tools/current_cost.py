"""Measures what the table `current` costs to keep and to read: `python tools/current_cost.py [--answers 10000000]`.

It compares a refresh of `current`, and a read of it, with the view that each reader would have to write otherwise:
one statement of SQL over `results` and `corrections` that selects the newest version of each answer.
"""

from __future__ import annotations

import argparse
import resource
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
from deltalake import DeltaTable

from tailrace.delivery.current import refresh
from tailrace.ground.arrow.times import with_times
from tailrace.kinds import build
from tailrace.query.answers_section import CURRENT
from tailrace.query.declared import declared_query
from tailrace.storage.layout import Layout
from tailrace.storage.table_schemas import schemas
from tailrace.storage.tables import Tables

MINUTE_MS, KEYS, FILES = 60_000, 1_000, 30
START_MS = 1_767_225_600_000
ROUNDS = 5
QUERY = {
    "name": "speeds",
    "kind": "aggregate",
    "streams": {
        "events": {
            "source": {"format": "parquet", "path": "events"},
            **{name: name for name in ("event_time", "arrival_time", "id", "key")},
        }
    },
    "window": {"size": "1 min"},
    "aggregate": {"function": "avg", "column": "value"},
    "disorder": {"policy": "none"},
}
VIEW = """
SELECT {columns} FROM (
    SELECT *, rank() OVER (PARTITION BY key, window_end ORDER BY as_of DESC, corrected DESC) AS place FROM (
        SELECT key, window_start, window_end, value, tuples, as_of, false AS retracted, 0 AS corrected
        FROM results
        UNION ALL
        SELECT key, window_start, window_end, value, tuples, as_of, retracted, 1 FROM corrections
    )
) WHERE place = 1 AND NOT retracted
"""


class Answers:
    """The tables of a query with answers, as a stream and its corrections write them."""

    def __init__(self, home: Path) -> None:
        self.query = declared_query(QUERY)
        self.kind = build(self.query)
        self.layout = Layout.for_query(home, self.query.name)
        self.schemas = schemas(self.kind)
        self.tables = Tables(self.layout)
        self.tables.create({name: self.schemas[name] for name in ("results", "late", "corrections")})
        self.draw = np.random.default_rng(1)

    def add(self, name: str, number: np.ndarray, delay_ms: int, **columns: object) -> None:
        """Append answers of these numbers, by window and then by key."""
        start = START_MS + number // KEYS * MINUTE_MS
        rows = pa.table(
            {
                "key": np.array([f"s{key:04d}" for key in range(KEYS)])[number % KEYS],
                "window_start": start,
                "window_end": start + MINUTE_MS,
                "value": self.draw.random(len(number)),
                "tuples": np.full(len(number), 10),
                "k_ms": np.full(len(number), 500),
                "as_of": start + MINUTE_MS + delay_ms,
                "emitted_at": start + MINUTE_MS + delay_ms,
                "facts_version": np.zeros(len(number), np.int64),
            }
            | {column: pa.repeat(value, len(number)) for column, value in columns.items()}
        )
        self.tables.add(name, with_times(rows, self.schemas[name]))

    def refresh(self) -> int:
        return refresh(self.layout, self.query, self.kind)


def timed(what: Callable[[], object]) -> float:
    began = time.perf_counter()
    what()
    return time.perf_counter() - began


def report(what: str, seconds: float, note: str = "") -> None:
    print(f"{what:58} {seconds:8.2f} s  {note}", flush=True)


def read(answers: Answers, source: str, condition: str) -> float:
    """Aggregate answers of a condition by DuckDB; `source` is `current`, or the view."""
    connection = duckdb.connect()
    for name in (CURRENT,) if source == CURRENT else ("results", "corrections"):
        files = DeltaTable(str(answers.layout.table(name))).file_uris()  # DuckDB's own reader of Delta is a download
        connection.read_parquet(files).create_view(name)
    relation = CURRENT if source == CURRENT else f"({VIEW.format(columns='*')})"
    statement = f"SELECT count(*), sum(value), sum(tuples) FROM {relation} WHERE {condition}"
    return timed(lambda: connection.sql(statement).fetchall())


def measure(answers: Answers, rows: int) -> None:
    """Print what each step costs."""
    report(f"first refresh: all of {rows:,} answers", timed(answers.refresh), memory())
    for number in range(2):
        some = np.arange(rows + number * 20 * KEYS, rows + (number + 1) * 20 * KEYS)
        answers.add("results", some, 500)
        report(f"refresh after {len(some):,} new answers", timed(answers.refresh))
    newest = answers.draw.choice(np.arange(rows - 100 * KEYS, rows), 5_000, replace=False)
    answers.add("corrections", np.sort(newest), 7_200_000, interval="newest", retracted=False)
    report("refresh after 5,000 corrections of the last 100 windows", timed(answers.refresh))
    some = np.sort(answers.draw.choice(rows, rows // 20, replace=False))
    answers.add("corrections", some, 14_400_000, interval="all", retracted=False)
    report(f"refresh after {len(some):,} corrections, spread over all", timed(answers.refresh), memory())
    report("refresh after nothing", timed(answers.refresh))
    middle_s = (START_MS + rows // KEYS * MINUTE_MS // 2) // 1000
    hour = f"window_end > to_timestamp({middle_s}) AND window_end <= to_timestamp({middle_s + 3600})"
    for what, condition in (("all", "true"), ("one hour", hour), ("one key", "key = 's0500'")):
        pairs = [(read(answers, CURRENT, condition), read(answers, "view", condition)) for _ in range(ROUNDS + 1)][1:]
        current, view = (statistics.median(times) for times in zip(*pairs, strict=True))
        ratio = statistics.median(after / before for before, after in pairs)
        report(f"read {what}: current", current)
        report(f"read {what}: the view", view, f"{ratio:.1f} times")


def memory() -> str:
    return f"{resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20:.1f} GB at most so far"


def main() -> None:
    """Build, measure, remove."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--answers", type=int, default=10_000_000)
    rows = parser.parse_args().answers
    home = Path(tempfile.mkdtemp(prefix="current-cost-"))
    try:
        answers = Answers(home)
        for part in np.array_split(np.arange(rows), FILES):
            answers.add("results", part, 500)
        measure(answers, rows)
    finally:
        shutil.rmtree(home, ignore_errors=True)


if __name__ == "__main__":
    main()
