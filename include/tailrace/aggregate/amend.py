"""The correction of a sum, a count or a mean by the late tuples alone (paper 002; errata, 2nd point)."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from tailrace.aggregate.function import Function
from tailrace.ground.columns import unify
from tailrace.windows.panes import Rows, evaluate_windows
from tailrace.windows.windows import Windows


def amend(windows: Windows, function: Function, answers: pa.Table, late: pa.Table) -> pa.RecordBatch | None:
    """Add the late tuples to the streamed answers.

    Parameters
    ----------
    answers : Table
        `key`, `window_end`, `value`, `tuples`: each window at most once.
    late : Table
        `key`, `window_end`, `tuples`, `total`: any number of rows a window; an unanswered window starts with no tuples.

    Returns
    -------
    RecordBatch or None
        `key`, `time` (the window's end), `tuples` and `value`, finite; windows are left out whose sum overflows a
        double, even on the way. None where the function can't be amended. The rounding error of the sum behind an
        answer is far below 1e-9 · Σ|v|.
    """
    if function.sum_of is None:
        return None
    keys, codes = unify([part.column("key").combine_chunks() for part in (answers, late)])
    end, tuples, value = (answers.column(name).to_numpy() for name in ("window_end", "tuples", "value"))
    with np.errstate(over="ignore", invalid="ignore"):
        streamed_rows = Rows(codes[0], end, {"tuples": tuples, "total": function.sum_of(value, tuples)})
        late_columns = {name: late.column(name).to_numpy() for name in function.types}
        late_rows = Rows(codes[1], late.column("window_end").to_numpy(), late_columns)
        rows = evaluate_windows(
            windows, function, Rows.empty(function.types), Rows.concat([streamed_rows, late_rows]), None, None
        )
    return rows[np.isfinite(rows.columns["value"])].with_keys(keys)
