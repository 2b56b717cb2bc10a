"""The valid times of records: of tuples, and of records that a filter leaves out."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Codes = NDArray[np.int32]


class Times(NamedTuple):
    """The times (ms) of m records, and their positions in the segment; each of shape (m,)."""

    event: Ints
    arrival: Ints
    row: Ints


class Sound(NamedTuple):
    """The times of tuples and of filtered records with valid times, and which of them are tuples."""

    times: Times
    is_tuple: pa.BooleanArray

    @staticmethod
    def from_times(times: Times, filtered: NDArray[np.bool_], by_times: Codes, in_all: Codes) -> Sound:
        """Return the valid times of n records.

        `by_times` has the verdicts on their times, `in_all` those on all parts of unfiltered records.
        """
        if not by_times.any() and not in_all.any():
            return Sound(times, pa.array(~filtered))
        code = by_times.copy()
        code[~filtered] = in_all
        is_sound = pa.array(code == 0)
        return Sound(Times(*(select(each, is_sound) for each in times)), pa.array(~filtered).filter(is_sound))


def select(column: NDArray[Any], mask: pa.BooleanArray) -> NDArray[Any]:
    """Return the values of a mask, by Arrow, which is faster than numpy here."""
    return np.asarray(pa.array(column).filter(mask))
