"""The hit rate of a ranking: the share of the correct top-k that it contains (paper 001, section 2.1)."""

from __future__ import annotations

import pandas as pd
import pyarrow as pa

from tailrace.ground.frames import frame

_WINDOW = ["key", "window_start", "window_end"]


def errors(approximate: pa.Table, exact: pa.Table) -> pa.RecordBatch:
    """The share of the correct top-k that the approximate answer lacks, for every exactly answered window.

    Returns
    -------
    RecordBatch
        `key`, `window_start`, `window_end`, `error` in [0, 1]: 1 where the approximate answer is missing.
    """
    near, true = (frame(part.select([*_WINDOW, "id"])).drop_duplicates() for part in (approximate, exact))
    hits = true.merge(near.assign(found=1.0), how="left", on=[*_WINDOW, "id"])
    error = 1 - hits.fillna({"found": 0.0}).groupby(_WINDOW, dropna=False, sort=False)["found"].mean()
    rows: pd.DataFrame = error.rename("error").reset_index().astype({"key": object})
    columns = [exact.schema.field("key"), *((name, pa.int64()) for name in _WINDOW[1:]), ("error", pa.float64())]
    return pa.RecordBatch.from_pandas(rows, pa.schema(columns), preserve_index=False)
