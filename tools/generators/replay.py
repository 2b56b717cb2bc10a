"""Seeded out-of-order streams: tuples, their delays, and files in the order of arrival."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from generators.delays import DelayModel, epoch_ms
from tailrace.ground.arrow.json_rows import json_rows, require_json
from tailrace.ground.arrow.times import INT96_UNIT
from tailrace.ground.errors import refuse
from tailrace.ground.files.atomic_files import new_file
from tailrace.ground.files.regular_files import require_regular_files

TIME = pa.timestamp("ms", tz="UTC")
MAX_FILES = 100_000
"""Most files of a stream: with more, the five digits of `part-00000` would not sort by name in order of arrival."""

START_MS = 1_767_225_600_000
"""Default event time of a generated stream's first tuple: 2026-01-01."""

ROW_GROUP = 1 << 18
"""Rows of a Parquet row group, the unit of one reader, so that several readers can share a large file."""

# One seed gives two independent streams of random numbers, so that another delay model does not change the tuples.
_TUPLES, _DELAYS = 0, 1


def generate(rows: int, rate: float, keys: int, model: DelayModel, seed: int, start_ms: int = START_MS) -> pa.Table:
    """Generate a stream of sensor readings, evenly spaced in event time and out of order by `model`.

    Sensors are drawn uniformly. Values are a positive, right-skewed 'speed' in m/s, lognormal with median 2 and
    0.8 for the standard deviation of its logarithm (mean 2.75), in whole mm/s so that JSON keeps them exactly.

    Parameters
    ----------
    rows : int
        Number of tuples, 0 or more.
    rate : float
        Tuples per second of event time, all sensors together; greater than 0.
    keys : int
        Number of sensors, `s0000` and on; at least 1.
    model : DelayModel
        Draws the delays.
    seed : int
        0 or more; the same seed and arguments give the same table.
    start_ms : int
        Event time of the first tuple, epoch milliseconds.

    Returns
    -------
    pyarrow.Table
        id int64 (in order of event time), event_time and arrival_time timestamp[ms, UTC], sensor string, value
        float64; in the order of arrival.

    Raises
    ------
    ValueError
        When an argument is out of its range.
    """
    _at_least("rows", rows, 0)
    _at_least("keys", keys, 1)
    _at_least("seed", seed, 0)
    if not 0 < rate < float("inf"):
        raise ValueError(f"rate is {rate}; right is a number of tuples per second of event time greater than 0")
    rng = np.random.default_rng([seed, _TUPLES])
    ids = np.arange(rows, dtype=np.int64)
    event_ms = start_ms + np.floor(ids * (1000 / rate)).astype(np.int64)
    sensors = pa.array([f"s{key:04d}" for key in range(keys)]).take(rng.integers(keys, size=rows))
    table = pa.table(
        {
            "id": pa.array(ids),
            "event_time": pa.array(event_ms, TIME),
            "arrival_time": pa.nulls(rows, TIME),
            "sensor": sensors,
            "value": pa.array(np.round(rng.lognormal(np.log(2), 0.8, rows), 3)),
        }
    )
    return disorder(table, "event_time", model, seed)


def disorder(table: pa.Table, event_column: str, model: DelayModel, seed: int) -> pa.Table:
    """Put the rows of `table` in the order of arrival by the delays of `model`; ties keep the order of `table`.

    Parameters
    ----------
    table : pyarrow.Table
        Any columns.
    event_column : str
        Its event time: timestamps (finer than ms are floored; without a zone they are UTC), or epoch milliseconds.
    model : DelayModel
        Draws a delay for each row.
    seed : int
        0 or more; the same table, model and seed give the same stream.

    Returns
    -------
    pyarrow.Table
        The same rows, with `event_column` and `arrival_time` as timestamp[ms, UTC]. An `arrival_time` that was there
        is replaced, in its place; otherwise it is the last column.

    Raises
    ------
    ValueError
        When there is no such column, it holds no times or nulls, or the seed is negative.
    """
    _at_least("seed", seed, 0)
    if event_column not in table.column_names:
        raise ValueError(f"there is no column {event_column}; right is one of {', '.join(table.column_names)}")
    event_ms = epoch_ms(table.column(event_column))
    arrival_ms = event_ms + model.sample(table.num_rows, np.random.default_rng([seed, _DELAYS]))
    table = _with_time(_with_time(table, event_column, event_ms), "arrival_time", arrival_ms)
    return table.take(np.argsort(arrival_ms, kind="stable"))


def read(path: Path) -> pa.Table:
    """Read the rows of a Parquet file, or of a directory of them in the order of their names.

    Raises
    ------
    ValueError
        When there is no such file, or it is no Parquet.
    """
    try:
        require_regular_files(path)
        return pq.read_table(path, coerce_int96_timestamp_unit=INT96_UNIT)
    except (OSError, pa.ArrowInvalid) as error:
        raise ValueError(f"{path} can't be read as Parquet ({error})") from error


def write(
    table: pa.Table,
    directory: Path,
    files: int,
    format: Literal["parquet", "json"] = "parquet",
    progress: Callable[[Path, int], None] | None = None,
) -> list[Path]:
    """Write a stream to files, in its order: `part-00000.parquet` (or `.json`) holds the tuples that arrived first.

    Each file is written atomically: whole or not at all. JSON lines keep every value, see `json_rows`; times are ISO
    8601 with Z.

    Parameters
    ----------
    table : pyarrow.Table
        The stream, in the order of arrival.
    directory : Path
        Made if it is not there, else empty.
    files : int
        Number of files, 1 to `MAX_FILES`, but no more than rows: no file is empty, unless the stream is. Their numbers
        of rows differ by at most one.
    format : {'parquet', 'json'}
        Parquet (zstd) or JSON lines.
    progress : callable, optional
        Called after each file with the file and the number of rows it holds.

    Returns
    -------
    list of Path
        The files, in the order of arrival.

    Raises
    ------
    Refused
        When `directory` is a file or is not empty.
    ValueError
        When `files` is out of its range, or a column holds what JSON has not.
    """
    _at_least("files", files, 1)
    if format == "json":
        require_json(table)
    if files > MAX_FILES:
        raise ValueError(f"files is {files}; right is at most {MAX_FILES}")
    if directory.exists() and not directory.is_dir():
        raise refuse(str(directory), "is a file", "a directory that is empty or not there yet")
    if directory.exists() and any(directory.iterdir()):
        raise refuse(str(directory), "the directory is not empty", "an empty one, or one that is not there yet")
    directory.mkdir(parents=True, exist_ok=True)
    files = min(files, max(table.num_rows, 1))
    paths = [directory / f"part-{number:05d}.{format}" for number in range(files)]
    try:
        for number, path in enumerate(paths):
            first, end = (table.num_rows * cut // files for cut in (number, number + 1))
            _write_whole(table.slice(first, end - first), path)
            if progress is not None:
                progress(path, end - first)
    except BaseException:  # Ctrl-C too: half a stream would look like a whole one
        for path in paths:
            path.unlink(missing_ok=True)
        raise
    return paths


def _write_whole(part: pa.Table, path: Path) -> None:
    with new_file(path) as unfinished:
        if path.suffix == ".json":
            with unfinished.open("wb") as file:
                file.writelines(row + b"\n" for row in json_rows(part))
        else:
            pq.write_table(part, unfinished, compression="zstd", row_group_size=ROW_GROUP)


def _with_time(table: pa.Table, name: str, values_ms: NDArray[np.int64]) -> pa.Table:
    column = pa.array(values_ms, TIME)
    if name in table.column_names:
        return table.set_column(table.column_names.index(name), name, column)
    return table.append_column(name, column)


def _at_least(name: str, value: int, least: int) -> None:
    if value < least:
        raise ValueError(f"{name} is {value}; right is at least {least}")
