"""The history: accepted tuples in Parquet files, partitioned by date and hour of event time."""

from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from tailrace.ground.arrow.times import ARRIVAL_US, EVENT_US
from tailrace.sources import history

HOUR = 3_600_000
NOW = 1_577_836_800_000  # 2020-01-01T00:00:00Z


def tuples(*event: int) -> pa.RecordBatch:
    rows = len(event)
    return pa.RecordBatch.from_pydict(
        {
            "event_time": pa.array(event, pa.int64()),
            "arrival_time": pa.array([NOW + i for i in range(rows)], pa.int64()),
            EVENT_US: pa.array(range(rows), pa.int64()),
            ARRIVAL_US: pa.array([999] * rows, pa.int64()),
            "row": pa.array(range(rows), pa.int64()),
            "id": pa.array([f"n{i}" for i in range(rows)], pa.string()),
            "key": pa.array([None, "é", ""][:rows], pa.string()),
            "value": pa.array([0.1] * rows, pa.float64()),
            "position": pa.array(range(100, 100 + rows), pa.int64()),
            "tick": pa.array([7] * rows, pa.int64()),
            "end": pa.array([800] * rows, pa.int64()),
        }
    )


def read(path: Path) -> pa.Table:
    return pq.ParquetFile(path).read()


# 1969-12-31 23 | 1970-01-01 00          2020-01-01 00 | 01
#            -1 | 0                         NOW+HOUR-1 | NOW+HOUR
def test_a_file_for_each_hour_of_event_time(tmp_path: Path) -> None:
    files = history.write(tuples(NOW + HOUR - 1, NOW + HOUR, -1), 12, tmp_path)
    assert [(file["path"], file["rows"]) for file in files.to_pylist()] == [
        ("event_date=1969-12-31/event_hour=23/part-00000012.parquet", 1),
        ("event_date=2020-01-01/event_hour=0/part-00000012.parquet", 1),
        ("event_date=2020-01-01/event_hour=1/part-00000012.parquet", 1),
    ]
    assert [(file["event_date"], file["event_hour"]) for file in files.to_pylist()][1] == ("2020-01-01", 0)


def test_the_returned_size_and_rows_of_a_file_are_right(tmp_path: Path) -> None:
    (file,) = history.write(tuples(NOW, NOW + 5), 1, tmp_path).to_pylist()
    path = tmp_path / file["path"]
    assert (path.stat().st_size, read(path).num_rows) == (file["size"], file["rows"])
    assert history.write(tuples(NOW), 1, tmp_path).schema == history.FILES


def test_no_other_files_are_left(tmp_path: Path) -> None:
    paths = history.write(tuples(NOW, NOW + HOUR), 1, tmp_path).column("path").to_pylist()
    assert sorted(str(f.relative_to(tmp_path)) for f in tmp_path.rglob("*") if f.is_file()) == sorted(paths)


def test_writing_is_idempotent(tmp_path: Path) -> None:
    first = history.write(tuples(NOW, NOW + HOUR, NOW + 1), 3, tmp_path)
    content = {path: (tmp_path / path).read_bytes() for path in first.column("path").to_pylist()}
    assert history.write(tuples(NOW, NOW + HOUR, NOW + 1), 3, tmp_path).equals(first)
    assert {path: (tmp_path / path).read_bytes() for path in content} == content


def test_each_segment_has_files_of_its_own(tmp_path: Path) -> None:
    (first,), (second,) = (history.write(tuples(NOW), n, tmp_path).column("path").to_pylist() for n in (1, 2))
    assert first != second


def test_written_tuples_are_read_back(tmp_path: Path) -> None:
    batch = tuples(NOW, NOW + 123, NOW + 7)
    (path,) = history.write(batch, 1, tmp_path).column("path").to_pylist()
    table = read(tmp_path / path)
    for name in ("event_time", "arrival_time"):
        millis = table[name].cast(pa.int64()).to_numpy() // 1000
        assert millis.tolist() == batch.column(name).to_pylist()
    rest = ["id", "key", "value", "position", "tick", "end"]
    assert table.select(rest).to_pydict() == batch.select(rest).to_pydict()


def test_a_file_has_the_columns_of_the_schema_without_the_partition_columns(tmp_path: Path) -> None:
    (path,) = history.write(tuples(NOW), 1, tmp_path).column("path").to_pylist()
    whole = history.schema(pa.string(), pa.string(), {"value": pa.float64()})
    assert list(read(tmp_path / path).schema) == [field for field in whole if field.name not in history.PARTITIONS]


def test_no_tuples_write_no_files(tmp_path: Path) -> None:
    files = history.write(tuples(), 1, tmp_path)
    assert (files.num_rows, files.schema) == (0, history.FILES)
