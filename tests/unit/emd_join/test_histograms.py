"""Histograms that a stream brings: bad ones are rejected with a reason, good ones become shares."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from tailrace.emd_join.kind import HistogramCheck, shares
from tailrace.emd_join.section import LIST

CHECK = HistogramCheck("histogram", 3)
GOOD = [1.0, 0.0, 2.0]
BAD = {
    "the histogram has not 3 bins": [[], [1.0], [1.0, 2.0, 3.0, 4.0], None],
    "a bin of the histogram is null, NaN or infinite": [[1.0, None, 1.0], [np.nan, 1.0, 1.0], [1.0, 1.0, np.inf]],
    "a bin of the histogram is negative": [[1.0, -1e-300, 1.0], [5.0, 0.0, -1.0]],
    "the histogram has no mass": [[0.0, 0.0, 0.0], [0.0, -0.0, 0.0]],
    "the mass of the histogram is more than doubles can add up": [[1.7e308, 1.7e308, 0.0]],
}


def reasons(rows: list) -> list[str | None]:
    """The first reason against each histogram."""
    verdicts = [None] * len(rows)
    for mask, reason in CHECK({"histogram": pa.array(rows, LIST)}):
        assert len(mask) == len(rows)
        verdicts = [reason if bad and verdict is None else verdict for bad, verdict in zip(mask, verdicts, strict=True)]
    return verdicts


@pytest.mark.parametrize("reason", BAD)
def test_a_bad_histogram_is_rejected_and_its_neighbours_are_not(reason):
    for row in BAD[reason]:
        assert reasons([GOOD, row, GOOD]) == [None, reason, None]


def test_no_histograms_are_no_fault():
    assert reasons([]) == []


@pytest.mark.parametrize("skip", [0, 2])
def test_a_slice_of_a_column_is_checked_by_itself(skip):
    column = pa.array([GOOD, [1.0], GOOD, [0.0, 0.0, 0.0]], LIST).slice(skip)
    found = [mask.tolist() for mask, _ in CHECK({"histogram": column})]
    assert np.any(found, axis=0).tolist() == [False, True, False, True][skip:]


def test_shares_are_masses_divided_by_their_sum():
    column = pa.array([[9.0, 9.0, 9.0], GOOD, [0.0, 5e-324, 0.0]], LIST).slice(1)
    assert shares(column, 3).tolist() == [[1 / 3, 0, 2 / 3], [0, 1, 0]]
    assert shares(column.slice(0, 0), 3).shape == (0, 3)
