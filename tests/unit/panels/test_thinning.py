"""Long series for charts: no extreme vanishes."""

from __future__ import annotations

import numpy as np

from tailrace.panels.thinning import extremes


def test_the_extremes_of_every_column_stay_and_the_ends():
    random = np.random.default_rng(3)
    columns = [random.normal(size=100_000) for _ in range(2)]
    columns[0][70_001], columns[1][3] = 1e9, -1e9
    columns[1][500:900] = np.nan
    kept = extremes(columns)
    assert len(kept) <= 602
    assert {0, 99_999, 70_001, 3} <= {*kept.tolist()}
    assert (np.diff(kept) > 0).all()


def test_a_short_series_stays_as_it_is():
    assert extremes([np.zeros(600)]).tolist() == [*range(600)]
    assert extremes([np.full(2000, np.nan)]).tolist() == [0, 1999]
    assert extremes([]).tolist() == []
