"""Positions of real ships in this package; tracks/README.md describes their origin."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa

from generators.replay import TIME

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
TRACKS = ("ny_harbor",)
"""Names of the tracks: 13,427 positions of 64 ships in New York Harbor, on an afternoon."""


def track_file(name: str) -> Path:
    """Return the Parquet file of a stream of tracks, with the columns of `SCHEMA`."""
    if name not in TRACKS:
        raise ValueError(f"there are no tracks {name!r}; right is one of {', '.join(TRACKS)}")
    return Path(__file__).with_name("tracks") / f"{name}.parquet"
