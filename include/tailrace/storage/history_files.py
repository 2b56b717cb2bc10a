"""Finds files of a stream's history by their segments, or by the positions of their tuples."""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tailrace.ground.arrow.columns import Ints
from tailrace.ground.files.object_path import Location
from tailrace.sources.history import PARTITIONS
from tailrace.storage.layout import Layout
from tailrace.storage.lost_files import require_files
from tailrace.storage.tables import Tables

HOUR_MS = 3_600_000

_NUMBERS = ("rows", "first", "last", "hour")
_NO_LIMIT = np.iinfo(np.int64).max

_SEGMENT_FILE = re.compile(r"part-(\d{8,})\.parquet\Z")  # the stream's name for a segment's file; others are compacted


def ordinals_of(paths: Sequence[str]) -> list[int | None]:
    """Return the ordinals of the segments in files of history, by the files' names; None for compacted files."""
    names = [_SEGMENT_FILE.search(path) for path in paths]
    return [None if name is None else int(name[1]) for name in names]


def files_of(history: Location, segments: pa.Table) -> pa.Table:
    """Return the files of history that may hold tuples of these segments.

    The name of a file that the stream wrote gives its segment; a compacted file's statistics give its positions.

    Returns
    -------
    Table
        `path` as the table's log has it, `rows`, and `first`, `last`, `hour` as in `Log.files`.
    """
    layout = Layout(history.parent)
    table = Tables(layout).open(history.name)
    require_files(layout, history.name, table)  # checked before other processes read them, as errors there are long
    actions = pa.table(table.get_add_actions(flatten=True))
    if not actions.num_rows:
        return pa.table({"path": pa.array([], pa.string()), **dict.fromkeys(_NUMBERS, pa.array([], pa.int64()))})
    date, hour = (actions[f"partition.{name}"] for name in PARTITIONS)
    paths = actions["path"].to_pylist()
    ordinals = ordinals_of(paths)
    compacted = np.array([ordinal is None for ordinal in ordinals])
    segment, is_here = _segments_of(np.array([ordinal or 0 for ordinal in ordinals], np.int64), segments)
    is_here[compacted] = True  # other files hold nothing that arrived before the cut-off
    position, rows = (np.append(segments[name].to_numpy(), 0)[segment] for name in ("position", "rows"))
    days = np.array(date.to_pylist(), "datetime64[ms]").astype(np.int64)
    files = {
        "path": pa.array(paths, pa.string()),
        "rows": actions["num_records"].cast(pa.int64()),
        "first": np.where(compacted, _positions(actions, "min.position", 0), position),
        "last": np.where(compacted, _positions(actions, "max.position", _NO_LIMIT), position + rows - 1),
        "hour": days + hour.cast(pa.int64()).to_numpy() * HOUR_MS,
    }
    return pa.table(files).filter(pa.array(is_here))


def _segments_of(ordinals: Ints, segments: pa.Table) -> tuple[Ints, NDArray[np.bool_]]:
    """Return for each ordinal the row of its segment, and whether there is one."""
    known = segments["ordinal"].to_numpy()
    order = np.argsort(known)
    index = np.searchsorted(known[order], ordinals)
    rows = np.append(order, len(known))[index]
    return rows, np.append(known, -1)[rows] == ordinals


def _positions(actions: pa.Table, name: str, unknown: int) -> Ints:
    """Return a statistic of the files' positions; `unknown` where a file lacks it."""
    return np.asarray(pc.fill_null(actions[name].cast(pa.int64()), unknown))
