"""The rows that wait in the tick buffer: accepted, but in incomplete ticks."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds

from tailrace.ground.arrow.columns import Floats, Ints
from tailrace.storage.tables import Tables
from tailrace.tables.stream import CLASSES

COLUMNS = ("batch", "task", *CLASSES)
"""The columns of `metrics` that count the tuples of complete ticks."""


def waiting_by_batch(tables: Tables, metrics: pa.Table) -> Ints:
    """Return the number of waiting rows after each batch, shape (batches,).

    It is the number of accepted rows up to the batch, less the tuples of all complete ticks.

    Parameters
    ----------
    metrics : Table
        The `COLUMNS` of all batches, one or more.
    """
    done = metrics.filter(pc.equal(metrics["task"], 0))  # ticks are counted equally in all tasks
    batches = pc.max(done["batch"]).as_py() + 1
    read = tables.read("segments", ["batch", "accepted"], ds.field("batch") < batches)
    growth = _by_batch(read["batch"], read["accepted"], batches)
    for name in CLASSES:
        growth -= _by_batch(done["batch"], done[name], batches)
    return np.maximum(np.cumsum(growth), 0).astype(np.int64)


def _by_batch(batch: pa.ChunkedArray, count: pa.ChunkedArray, batches: int) -> Floats:
    return np.bincount(batch.to_numpy(), pc.fill_null(count, 0).to_numpy(), batches).astype(float)
