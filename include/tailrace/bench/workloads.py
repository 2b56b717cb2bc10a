"""What the contestants are given: the same seeded files, and windows over them."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from tailrace.query import Query
from tailrace.streams.delays import Exponential, epoch_ms
from tailrace.streams.replay import generate, write

RATE = 20_000
"""Tuples in a second of event time."""

MEAN_DELAY_MS = 200
_START_MS = 1_767_225_600_000


@dataclass(frozen=True)
class Workload:
    """Rows over keys in windows; a file is a batch.

    Attributes
    ----------
    bound_ms : int
        The largest delay in the files, rounded up to 100 ms: a slack with which nothing is late.
    """

    name: str
    keys: int
    size_ms: int
    slide_ms: int
    rows: int
    files: list[Path]
    bound_ms: int

    @property
    def directory(self) -> Path:
        return self.files[0].parent

    def query(self, parallelism: int) -> Query:
        """The workload as a declared query."""
        columns = {"event_time": "event_time", "arrival_time": "arrival_time", "id": "id", "key": "sensor"}
        return Query.model_validate(
            {
                "name": "bench",
                "kind": "aggregate",
                "streams": {"readings": {"source": {"format": "parquet", "path": str(self.directory)}} | columns},
                "window": {"size": f"{self.size_ms} ms", "slide": f"{self.slide_ms} ms"},
                "disorder": {"policy": "k_slack", "k": f"{self.bound_ms} ms"},
                "aggregate": {"function": "sum", "column": "value"},
                "parallelism": parallelism,
            }
        )


def make_files(directory: Path, keys: int, rows: int, files: int) -> tuple[list[Path], int]:
    """Write a stream; returns its files and the bound on its delays."""
    table = generate(rows, RATE, keys, Exponential(MEAN_DELAY_MS), seed=1, start_ms=_START_MS)
    return write(table, directory, files), largest_delay(table)


def largest_delay(table: pa.Table) -> int:
    """The largest t_max − event_time, rounded up to 100 ms."""
    event = epoch_ms(table["event_time"])
    return int(-(-(np.maximum.accumulate(event) - event).max() // 100) * 100)
