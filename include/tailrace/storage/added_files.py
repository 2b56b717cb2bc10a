"""Adds files written by workers to a Delta table.

The log's actions have statistics, so that readers can skip files.
"""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from deltalake.transaction import AddAction

from tailrace.ground.files.object_path import Location
from tailrace.ground.files.written_files import FILES
from tailrace.sources.discovery.object_files import open_location

_STATISTICS = ("as_of", "left_time")
"""The times of answers whose least and greatest values are recorded in the log."""


def add_actions(written: pa.Table, answers: Location | None) -> list[Any]:
    """Return the actions that add files to a table; `answers` is its directory if its rows have an `as_of`."""
    parts = [name for name in written.schema.names if name not in FILES.names]
    return [
        AddAction(
            file["path"],
            file["size"],
            {name: str(file[name]) for name in parts},
            0,
            True,
            json.dumps({"numRecords": file["rows"]} | (_statistics(answers / file["path"]) if answers else {})),
        )
        for file in written.to_pylist()
    ]


def _statistics(file: Location) -> dict[str, Any]:
    """Return the least and greatest value of each time of `_STATISTICS` in a file of answers, for the log."""
    metadata = pq.read_metadata(open_location(file))
    ends: dict[str, dict[str, str]] = {"minValues": {}, "maxValues": {}}
    for name in set(_STATISTICS) & {*metadata.schema.names}:
        column = metadata.schema.names.index(name)
        groups = [metadata.row_group(group).column(column).statistics for group in range(metadata.num_row_groups)]
        if all(group is not None and group.has_min_max for group in groups):
            ends["minValues"][name] = _text(min(group.min for group in groups))
            ends["maxValues"][name] = _text(max(group.max for group in groups))
    return ends


def _text(time: datetime) -> str:
    return f"{time.astimezone(UTC):%Y-%m-%dT%H:%M:%S.%f}Z"
