"""The shipped sample of flights has the properties that samples/README.md states."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from generators.delays import delay_model, epoch_ms

FLIGHTS = Path(__file__).parents[2] / "samples" / "flights"
FILES = sorted(FLIGHTS.glob("*.parquet"))


def flights() -> pa.Table:
    return pa.concat_tables(pq.read_table(path) for path in FILES)


def test_files_and_columns() -> None:
    assert [path.name for path in FILES] == [f"part-{number:05d}.parquet" for number in range(36)]
    assert sum(path.stat().st_size for path in FILES) < 700_000
    time = pa.timestamp("ms", tz="UTC")
    assert [(field.name, field.type) for field in flights().schema] == [
        ("flight", pa.int64()),
        ("scheduled", time),
        ("actual", time),
        ("origin", pa.string()),
        ("destination", pa.string()),
        ("carrier", pa.string()),
        ("delay", pa.float64()),
        ("distance", pa.int32()),
    ]


def test_rows() -> None:
    table = flights()
    assert table.num_rows == 50_173
    assert len(set(table["flight"].to_pylist())) == table.num_rows
    assert not any(column.null_count for column in table.columns)


def test_order_is_by_actual_then_flight_within_and_across_files() -> None:
    table = flights()
    actual, flight = epoch_ms(table["actual"]), epoch_ms(table["flight"])
    assert np.array_equal(np.lexsort((flight, actual)), np.arange(table.num_rows))


def test_delay_is_the_difference_of_the_times() -> None:
    table = flights()
    minutes = (epoch_ms(table["actual"]) - epoch_ms(table["scheduled"])) / 60_000
    assert np.array_equal(minutes, np.asarray(table["delay"]))
    assert (minutes.min(), minutes.max()) == (-33, 1301)
    assert 0.56 < (minutes < 0).mean() < 0.58


def test_the_sample_feeds_a_delay_model() -> None:
    delays = delay_model(f"data:{FLIGHTS}:scheduled:actual").sample(100_000, np.random.default_rng(1))
    assert delays.min() == 0
    assert 16 * 60_000 <= np.median(delays[delays > 0]) <= 18 * 60_000  # 17 min in the sample
