"""The keys of answers that a rebuild has replaced: a topic may still show them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
from deltalake import DeltaTable

from tailrace.ground.times import in_ms
from tailrace.storage.layout import Layout
from tailrace.storage.switch import tables_aside

ROW_KEYS = ("key", "left_id", "right_id", "window_end", "rank")
"""The columns that identify a row of answers, of those that a kind's answers have; in the order of each kind."""


def earlier_keys(layout: Layout, since: int) -> Iterator[pa.Table]:
    """Yield the keys of answers in the tables that rebuilds have kept aside, each once in a table; times in ms.

    Parameters
    ----------
    since : int
        The generation of the earliest tables that are read.
    """
    for directory in tables_aside(layout):
        results = directory / "results"
        if not (results / "_delta_log").is_dir() or (DeltaTable(results).metadata().created_time or 0) < since:
            continue
        for path in (results, directory / "corrections"):
            if (path / "_delta_log").is_dir():
                yield _keys(path)


def _keys(path: Path) -> pa.Table:
    dataset = DeltaTable(path).to_pyarrow_dataset()
    names = [name for name in ROW_KEYS if name in dataset.schema.names]
    return in_ms(dataset.to_table(columns=names)).group_by(names).aggregate([])
