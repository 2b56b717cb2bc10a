"""Errors of approximate answers, relative to the exact ones."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa

from tailrace.aggregate.folds import Floats
from tailrace.ground.frames import frame

_WINDOW = ["key", "window_start", "window_end"]


def errors(approximate: pa.Table, exact: pa.Table) -> pa.RecordBatch:
    """`key`, `window_start`, `window_end` and the relative error of the answer to each exactly answered window.

    Where the true value is 0 the error is the absolute one; the error of a missing answer is 1.
    """
    near, true = (frame(part.select([*_WINDOW, "value"])) for part in (approximate, exact))
    pairs = true.merge(near, how="left", on=_WINDOW, suffixes=("", "_near"))
    error = relative(pairs["value_near"].to_numpy(float), pairs["value"].to_numpy(float))
    rows: pd.DataFrame = pairs[_WINDOW].assign(error=error).astype({"key": object})  # a batch takes no chunked text
    schema = pa.schema([*map(exact.schema.field, _WINDOW), ("error", pa.float64())])
    return pa.RecordBatch.from_pandas(rows, schema, preserve_index=False)


def relative(value: Floats, true: Floats) -> Floats:
    """The relative errors, shape (n,): absolute where the true value is 0, and 1 where the error is not a number."""
    with np.errstate(over="ignore", invalid="ignore"):
        error = np.abs(value - true) / np.where(true == 0, 1.0, np.abs(true))
    return np.where(value == true, 0.0, np.where(np.isnan(error), 1.0, error))
