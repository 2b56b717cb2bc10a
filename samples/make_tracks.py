"""Make tools/generators/tracks from the PyPI package tracktable-data; its README.md says more.

Usage: python samples/make_tracks.py PACKAGE/tracktable_data/python_example_data/NYHarbor_2020_12_first_week.traj \\
    tools/generators/tracks
"""

from __future__ import annotations

import argparse
from pathlib import Path

import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq

START, END = pd.Timestamp("2020-12-02T17:00Z"), pd.Timestamp("2020-12-02T23:00Z")
TIME = pa.timestamp("ms", tz="UTC")
SCHEMA = pa.schema(
    {
        "event_time": TIME,
        "arrival_time": TIME,
        "id": pa.string(),
        "vessel": pa.int32(),
        "lon": pa.float64(),
        "lat": pa.float64(),
    }.items()
)
_FIELDS = 4  # of a point: vessel, time, longitude, latitude


def fixes(published: Path) -> pd.DataFrame:
    """The fixes of all trajectories: a line has one, `*T*,id,domain,points,0,*P*,domain,…`, then its points."""
    rows: list[tuple[int, str, float, float]] = []
    for line in published.read_text(encoding="utf-8").splitlines():
        values = line.split(",")
        points = values[-_FIELDS * int(values[3]) :]
        for vessel, time, lon, lat in zip(*(points[field::_FIELDS] for field in range(_FIELDS)), strict=True):
            rows.append((int(vessel), time, float(lon), float(lat)))
    table = pd.DataFrame(rows, columns=["vessel", "event_time", "lon", "lat"])
    table["event_time"] = pd.to_datetime(table["event_time"], utc=True)
    return table


def main() -> None:
    """Write the fixes of the afternoon in one file, in order of time, ties by vessel."""
    parser = argparse.ArgumentParser(description="Make the sample of tracks.")
    parser.add_argument("published", type=Path, help="NYHarbor_2020_12_first_week.traj of the unpacked package")
    parser.add_argument("directory", type=Path, help="where the file goes")
    arguments = parser.parse_args()
    table = fixes(arguments.published)
    table = table[table["event_time"].between(START, END, inclusive="left")].sort_values(["event_time", "vessel"])
    table["arrival_time"] = table["event_time"]
    number = table.groupby("vessel").cumcount().astype(str).str.zfill(4)
    table["id"] = table["vessel"].astype(str) + "-" + number
    stream = pa.Table.from_pandas(table, SCHEMA, preserve_index=False).replace_schema_metadata()
    arguments.directory.mkdir(parents=True, exist_ok=True)
    pq.write_table(stream, arguments.directory / "ny_harbor.parquet", compression="zstd", compression_level=19)
    print(f"{stream.num_rows} fixes of {table['vessel'].nunique()} vessels")


if __name__ == "__main__":
    main()
