"""Times in other units: integers that are no epoch milliseconds, and timestamps finer than microseconds."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from tailrace.sources.verdict import without_nulls

_OUT_OF_BOUNDS, _CENTURY_S = "out of bounds", (946_684_800, 4_102_444_800)
_UNITS = (("seconds", 1), ("microseconds", 1_000_000), ("nanoseconds", 1_000_000_000))


def with_units(reasons: list[str], times: pa.ChunkedArray, name: str) -> list[str]:
    """Return the reasons to reject records, with a hint where an out-of-bounds time seems to be in another unit.

    In epoch milliseconds a time of this century in seconds lies in 1970, one in microseconds after the year 30000.
    """
    if not pa.types.is_integer(times.type):
        return reasons
    values, hinted = times.to_numpy(zero_copy_only=False), list(reasons)
    for unit, second in _UNITS:
        of_century = (values >= _CENTURY_S[0] * second) & (values < _CENTURY_S[1] * second)
        for index in np.flatnonzero(of_century).tolist():
            if _OUT_OF_BOUNDS in reasons[index]:
                hinted[index] += f"; {name} looks like epoch {unit}, and integers are read as epoch milliseconds"
    return hinted


def is_finer(column: pa.ChunkedArray) -> bool:
    """Test whether a column has timestamps that are finer than microseconds."""
    if not (pa.types.is_timestamp(column.type) and column.type.unit == "ns"):
        return False
    nanoseconds = without_nulls(column.combine_chunks().cast(pa.int64()), 0)
    return bool((nanoseconds % 1000).any())
