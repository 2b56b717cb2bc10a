"""The verdict on the records of a segment: which are rejected, and why."""

from __future__ import annotations

from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray


class RecordVerdict:
    """The first reason to reject each record, as a code from 1 into `reasons`; 0 for none.

    `floored` has the columns with times finer than microseconds, which were floored.
    """

    def __init__(self, records: int) -> None:
        self.code = np.zeros(records, np.int32)
        self.reasons: list[str] = []
        self.floored: set[str] = set()

    def reject(self, mask: NDArray[np.bool_], reason: str) -> None:
        """Reject the records of a mask, shape (n,), that have no earlier reason."""
        if not mask.any():
            return
        self.reasons.append(reason)
        self.code[mask & (self.code == 0)] = len(self.reasons)


def nulls(column: pa.Array) -> NDArray[np.bool_]:
    """Return a mask of the null values, shape (n,)."""
    if not column.null_count:
        return np.zeros(len(column), bool)
    return np.asarray(column.is_null())


def without_nulls(column: pa.Array, value: Any) -> NDArray[Any]:
    """Return a column's values, shape (n,), with nulls replaced by a value."""
    return np.asarray(column.fill_null(value) if column.null_count else column)
