"""A corrected stream for tests of panels: a declared query that ran in this process, with late tuples and a correction.

The first part of its tuples comes in some files, is read in several batches and corrected; the rest is not corrected.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from kit.oracles.oracle import Tuple
from kit.runs.local_driver import Driver, correct_here
from kit.runs.warehouse import EPOCH, even, make_stream, write_files
from tailrace.panels.query_view import QueryView
from tailrace.query.declared import declared_query
from tailrace.query.query import Query
from tailrace.storage.tables import Tables
from tailrace.tables.stream import ACTIVITY

TUPLES, FILES, CORRECTED_FILES, BATCH_ROWS = 3_000, 6, 4, 250
SIZE, SLIDE, TICK = 500, 100, 100
PROMISE = {"error": 0.1, "risk": 0.1}


@dataclass(frozen=True)
class PanelStream:
    """The query, its warehouse, and the tuples in order of arrival."""

    query: Query
    warehouse: Path
    tuples: list[Tuple]

    @property
    def driver(self) -> Driver:
        return Driver(self.query, self.warehouse)

    @property
    def view(self) -> QueryView:
        """The query as panels see it, with its declaration at hand."""
        view = QueryView(self.driver.layout, None)
        view.__dict__["query"] = self.query
        return view

    def rows(self, table: str) -> list[dict[str, Any]]:
        """All rows of a table, times in ms."""
        return self.view.tables.read(table).to_pylist()


SUM = {"function": "sum", "column": "value"}


def query_over(directory: Path, disorder: dict[str, Any], aggregate: dict[str, Any] = SUM, **stream: Any) -> Query:
    """Aggregates of windows by key, over Parquet files in `in`."""
    source = {"format": "parquet", "path": str(directory / "in")}
    columns = {"event_time": "event_time", "arrival_time": "arrival_time", "id": "id", "key": "key"}
    return declared_query(
        {
            "name": "readings",
            "kind": "aggregate",
            "streams": {"readings": {"source": source} | columns | stream},
            "window": {"size": f"{SIZE} ms", "slide": f"{SLIDE} ms"},
            "aggregate": aggregate,
            "disorder": {"tick": f"{TICK} ms"} | disorder,
            "parallelism": 2,
        }
    )


def run_stream(directory: Path, disorder: dict[str, Any], corrects: bool = True, **declared: Any) -> PanelStream:
    """Run the first files, correct them, and run the rest."""
    tuples, query = make_stream(TUPLES, seed=5), query_over(directory, disorder, **declared)
    panel_stream, bounds = PanelStream(query, directory / "wh", tuples), even(TUPLES, FILES)
    write_files(tuples, directory / "in", bounds[: CORRECTED_FILES + 1])
    panel_stream.driver.run(BATCH_ROWS)
    if corrects:
        correct_here(query, directory / "wh")
    write_files(tuples, directory / "in", bounds[CORRECTED_FILES:], first=CORRECTED_FILES)
    panel_stream.driver.run(BATCH_ROWS)
    add_activity(panel_stream.view.tables, made_at=EPOCH, started_at=EPOCH, state="drained")
    return panel_stream


def add_activity(tables: Tables, **values: Any) -> None:
    """Add an observation of a driver, which is null but for the values given, as a live stream writes it."""
    tables.create({"activity": ACTIVITY.schema()})
    tables.add("activity", ACTIVITY.table([dict.fromkeys(ACTIVITY.columns) | values]))
