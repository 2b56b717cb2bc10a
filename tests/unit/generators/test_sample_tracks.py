"""The tracks that the package carries have the properties that tracks/README.md states."""

from __future__ import annotations

from datetime import UTC, datetime

import numpy as np
import pyarrow.parquet as pq
import pytest

from generators.delays import epoch_ms
from generators.sample_tracks import SCHEMA, track_file


def test_the_fixes_of_an_afternoon() -> None:
    table = pq.read_table(track_file("ny_harbor"))
    assert table.schema == SCHEMA
    assert table.num_rows == len(set(table["id"].to_pylist())) == 13_427
    assert not any(column.null_count for column in table.columns)
    event, vessel, lon, lat = (np.asarray(table[name]) for name in ("event_time", "vessel", "lon", "lat"))
    event_ms = epoch_ms(table["event_time"])
    assert len(set(vessel)) == 64
    first, end = (datetime(2020, 12, 2, hour, tzinfo=UTC).timestamp() * 1000 for hour in (17, 23))
    assert first <= event_ms[0] <= event_ms[-1] < end
    assert np.array_equal(np.lexsort((vessel, event_ms)), np.arange(table.num_rows))
    assert np.array_equal(event, np.asarray(table["arrival_time"]))
    assert -74.33 < lon.min() < lon.max() < -73.63
    assert 40.38 < lat.min() < lat.max() < 40.89


def test_the_gaps_of_a_ship_and_its_numbers() -> None:
    table = pq.read_table(track_file("ny_harbor")).to_pandas()
    gaps = table.groupby("vessel")["event_time"].diff().dt.total_seconds()
    assert gaps.median() == 68
    assert gaps.min() > 0
    numbers = table.groupby("vessel").cumcount()
    assert table["id"].tolist() == [f"{v}-{n:04d}" for v, n in zip(table["vessel"], numbers, strict=True)]


def test_the_file_is_small_and_no_other() -> None:
    directory = track_file("ny_harbor").parent
    assert {path.name for path in directory.iterdir()} == {"README.md", "ny_harbor.parquet"}
    assert track_file("ny_harbor").stat().st_size < 300_000


def test_unknown_tracks_are_refused_with_the_right_names() -> None:
    with pytest.raises(ValueError, match="right is one of ny_harbor"):
        track_file("boston")
