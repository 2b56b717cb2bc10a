"""The keys of answers that a rebuild has replaced: a topic may still show them."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
from deltalake import DeltaTable

from tailrace.storage.layout import Layout
from tailrace.storage.switch import tables_aside
from tailrace.tables.every import in_ms

_ROW_KEYS = ("key", "left_id", "right_id", "window_start", "window_end", "rank")


def row_keys(columns: Collection[str], structure: Mapping[str, Any]) -> list[str]:
    """Return the columns that identify a row of answers, in the order of each kind.

    A window's end says where it starts; a session's does not.

    Parameters
    ----------
    columns : collection of str
        The columns of the answers.
    structure : mapping
        `Query.structure()`, of a checkpoint's manifest.
    """
    has_sessions = structure.get("window.session") is not None
    return [name for name in _ROW_KEYS if name in columns and (name != "window_start" or has_sessions)]


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
        manifest = Layout(directory).read_manifest()
        structure = {} if manifest is None else manifest.structure
        for path in (results, directory / "corrections"):
            if (path / "_delta_log").is_dir():
                yield _keys(path, structure)


def _keys(path: Path, structure: Mapping[str, Any]) -> pa.Table:
    dataset = DeltaTable(path).to_pyarrow_dataset()
    names = row_keys(dataset.schema.names, structure)
    return in_ms(dataset.to_table(columns=names)).group_by(names).aggregate([])
