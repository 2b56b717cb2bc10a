"""History: accepted tuples in Parquet by event date and hour, for sources that are not durable logs."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from tailrace.ground.arrow.key_lists import KEY_PART, key_columns
from tailrace.ground.arrow.times import joined_times
from tailrace.ground.files import written_files
from tailrace.ground.files.atomic_files import new_file
from tailrace.ground.files.object_path import Location
from tailrace.tables.stream import HISTORY, VALUES

PARTITIONS = ["event_date", "event_hour"]
FILES = pa.schema([*written_files.FILES, ("event_date", pa.string()), ("event_hour", pa.int64())])
"""Schema of the records of written files, with their partition."""

_HOUR_MS = 3_600_000


def schema(id_type: pa.DataType, key_type: pa.DataType, values: Mapping[str, pa.DataType]) -> pa.Schema:
    """Return the table's schema: times, id, key, values, position, the tick and its end, and the partition.

    Tick and end are computed from the tuple's segment alone.
    """
    types = {name: column.dtype for name, column in HISTORY.columns.items()} | {"id": id_type, "key": key_type}
    return pa.schema([each for own in types.items() for each in (values.items() if own[0] == VALUES else [own])])


def stored_part(tuples: pa.Table, part: str, dtype: pa.DataType) -> pa.Array | pa.ChunkedArray:
    """Return a part of stored tuples, see `sources.columns.SourceMapping.named`.

    A part of a composite key comes from the key's text.
    """
    if part.startswith(KEY_PART):
        (column,) = key_columns(tuples.column("key"), {int(part.removeprefix(KEY_PART)) - 1: dtype})
        return column
    return tuples.column(part).cast(dtype)  # a compacted file may name a list's elements differently


def write(tuples: pa.RecordBatch, ordinal: int, directory: Location) -> pa.RecordBatch:
    """Write a segment's tuples, one file for each hour of event time (idempotent: a repeat writes the same files).

    Returns
    -------
    RecordBatch
        The files, for the table's log: `path` (relative), `size`, `rows`, `event_date`, `event_hour`.
    """
    table = joined_times(pa.table(tuples).drop_columns(["row"]))
    event = np.asarray(tuples.column("event_time"))
    hours, written = event // _HOUR_MS, []
    for hour in np.unique(hours).tolist():
        date, hour_of_day = str(np.datetime64(hour, "h").astype("datetime64[D]")), hour % 24
        path = Path(f"event_date={date}", f"event_hour={hour_of_day}", f"part-{ordinal:08d}.parquet")
        target = directory / path
        target.parent.mkdir(parents=True, exist_ok=True)
        with new_file(target) as temporary:
            pq.write_table(table.filter(pa.array(hours == hour)), temporary)
            size = temporary.stat().st_size
        rows = int((hours == hour).sum())
        partition = {"event_date": date, "event_hour": hour_of_day}
        written.append({"path": str(path), "size": size, "rows": rows} | partition)
    return pa.RecordBatch.from_pylist(written, FILES)
