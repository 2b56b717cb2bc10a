"""Rows of large row groups are read in memory that follows these rows."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from tailrace.sources.formats import parquet_rows
from tailrace.sources.formats.parquet_files import ParquetFiles
from tailrace.sources.segments import Segment

WIDE = 2000
TYPES = {"t": "int64", "text": "string"}
FILES = ParquetFiles()


_MEASURE = """
import sys
from pathlib import Path
import pyarrow as pa
from tailrace.sources.formats import parquet_rows
from tailrace.sources.formats.parquet_files import ParquetFiles
from tailrace.sources.segments import Segment

path, files, types = sys.argv[1], ParquetFiles(), {"t": "int64", "text": "string"}
parquet_rows.SEGMENT_BYTES = 50 << 20
few = [Segment(path, first, 1000) for first in (0, 100_000, 199_000)]
segments = few if sys.argv[2] == "few" else files.split(Path(path))
for segment in segments:
    table = files.read(segment, types).table
    assert table["t"].to_pylist() == list(range(segment.first_row, segment.first_row + segment.rows))
    del table
    assert len(files.records(segment, [segment.rows - 1, 0])) == 2
print(pa.default_memory_pool().max_memory())
"""


def most_memory(path: Path, what: str) -> int:
    """The most memory of Arrow's, in bytes, of a process that reads segments of a file: of few rows, or all of it."""
    command = [sys.executable, "-c", _MEASURE, str(path), what]
    return int(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


@pytest.fixture(scope="module")
def bomb(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A single row group of 200,000 rows of 2,000 bytes, 1 MB in the file and 400 MB when all of it is decoded."""
    path, rows = tmp_path_factory.mktemp("bomb") / "a.parquet", 200_000
    text = pa.DictionaryArray.from_arrays(pa.array(np.zeros(rows, np.int32)), pa.array(["x" * WIDE]))
    table = pa.table({"t": pa.array(np.arange(rows)), "text": text})
    pq.write_table(table, path, row_group_size=rows, store_schema=False)
    return path


@pytest.mark.needs("process")
def test_memory_follows_the_rows_asked_for_and_not_their_row_group(bomb: Path) -> None:
    assert most_memory(bomb, "few") < 40 << 20


@pytest.mark.parametrize("first", [0, 4095, 4096, 199_000])
def test_rows_and_records_are_those_asked_for(bomb: Path, first: int) -> None:
    assert FILES.read(Segment(str(bomb), first, 1000), TYPES).table["t"].to_pylist() == list(range(first, first + 1000))
    texts = FILES.records(Segment(str(bomb), first, 1000), [999, 3])
    assert [json.loads(text)["t"] for text in texts] == [first + 999, first + 3]


@pytest.mark.needs("process")
def test_a_row_group_that_decodes_to_too_much_is_cut_into_segments(bomb: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (whole,) = ParquetFiles().split(bomb)[:1]
    assert whole.rows * WIDE <= parquet_rows.SEGMENT_BYTES < whole.of_rows * WIDE
    monkeypatch.setattr(parquet_rows, "SEGMENT_BYTES", 50 << 20)
    segments = FILES.split(bomb)
    bounds = [(segment.first_row, segment.first_row + segment.rows) for segment in segments]
    assert [first for first, _ in bounds] == [0, *(end for _, end in bounds[:-1])]
    assert bounds[-1][1] == segments[0].of_rows == 200_000
    assert all((end - first) * WIDE <= 50 << 20 for first, end in bounds)
    assert most_memory(bomb, "all") < 150 << 20


def test_row_groups_that_are_small_each_and_large_together_are_cut_too(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    table = pa.table({"t": np.arange(20_000), "text": ["x" * 200] * 20_000})
    pq.write_table(table, tmp_path / "a.parquet", row_group_size=1000)
    assert len(FILES.split(tmp_path / "a.parquet")) == 1
    monkeypatch.setattr(parquet_rows, "SEGMENT_BYTES", 1 << 20)
    assert len(FILES.split(tmp_path / "a.parquet")) == 1, "text that is repeated, in a file with few rows"
    monkeypatch.setattr(parquet_rows, "FEW_ROWS", 1000)
    segments = FILES.split(tmp_path / "a.parquet")
    assert len(segments) > 4
    assert sum(segment.rows for segment in segments) == 20_000


def test_rows_that_are_wide_in_the_file_alone_are_cut_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The first rows are narrow, so that only the file's own statement of its size shows the others."""
    texts = [""] * 20_000 + [f"{number:01000d}" for number in range(20_000)]
    pq.write_table(pa.table({"t": np.arange(40_000), "text": texts}), tmp_path / "a.parquet")
    monkeypatch.setattr(parquet_rows, "SEGMENT_BYTES", 10 << 20)
    assert len(FILES.split(tmp_path / "a.parquet")) > 1
