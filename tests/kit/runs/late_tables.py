"""A query's tables as they stand between a stream and its corrections: late rows, the ledger, how far it has come."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import count

import pyarrow as pa

from kit.draws.aggregates import kind_of
from tailrace.ground.arrow.times import with_times
from tailrace.storage.layout import Layout
from tailrace.storage.table_schemas import schemas
from tailrace.storage.tables import Tables
from tailrace.windows.sliding import Sliding

SCHEMA = schemas(kind_of(Sliding(10, 10), "sum"))


@dataclass
class LateTables:
    """All times in ms."""

    layout: Layout
    _batches: count = field(default_factory=count)

    def __post_init__(self) -> None:
        self.tables.create({name: SCHEMA[name] for name in ("late", "metrics", "correction_runs")})

    @property
    def tables(self) -> Tables:
        return Tables(self.layout)

    def late(self, *rows: tuple[int, int]) -> None:
        """Rows of (arrived, pane_start), as one file; they missed no window."""
        rest = {"tuples": 1, "frontier": 0}
        self._add("late", [{"arrived": arrived, "pane_start": pane, **rest} for arrived, pane in rows])

    def run(self, arrived_from: int | None, arrived_to: int | None) -> None:
        """A run in the ledger."""
        self._add("correction_runs", [{"arrived_from": arrived_from, "arrived_to": arrived_to}])

    def commit(self, until: int) -> None:
        self._add("metrics", [{"batch": next(self._batches), "committed": until, "frontier": until}])

    def read_at(self, *batches: tuple[int, int, int]) -> None:
        """Batches of one segment, as (when it was read, late tuples, rejected records)."""
        self.tables.create({"segments": SCHEMA["segments"]})
        for read_ms, late, quarantined in batches:
            batch = next(self._batches)
            segment = {"batch": batch, "stream": "readings", "ingested_ms": read_ms, "quarantined": quarantined}
            self._add("segments", [segment])
            self._add("metrics", [{"batch": batch, "committed": batch, "late": late}])

    def _add(self, name: str, rows: list[Mapping[str, int | None]]) -> None:
        whole = [dict.fromkeys(SCHEMA[name].names) | row for row in rows]
        self.tables.add(name, with_times(pa.Table.from_pylist(whole), SCHEMA[name]))
