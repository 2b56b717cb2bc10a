"""Files of a source, and feeds over them: writers, a feed with a clock of its own, and what it returns or refuses."""

from __future__ import annotations

import itertools
import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from kit.parts.source_mappings import source_mapping
from tailrace.ground.errors import Refused
from tailrace.sources.discovery.file_feed import FileFeed
from tailrace.sources.feed import Feed
from tailrace.sources.reading_progress import read_files
from tailrace.sources.segments import Segment

COLUMNS = source_mapping("event", None, "id", "key", {"value": "v"})
TYPES = {"event": "int64", "id": "string", "key": "string", "v": "double"}
GOOD = {"event": 1, "id": "a", "key": "k", "v": 1.5}
LINE = json.dumps(GOOD).encode()


def write(directory: Path, name: str, rows: int, **columns: list[object]) -> Path:
    """A Parquet file in row groups of two."""
    directory.mkdir(exist_ok=True)
    good = {"event": [1] * rows, "id": ["a"] * rows, "key": ["k"] * rows, "v": [1.0] * rows}
    schema = {"event": pa.int64(), "id": pa.string(), "key": pa.string(), "v": pa.float64()}
    table = pa.table({n: pa.array(v, schema[n] if n not in columns else None) for n, v in (good | columns).items()})
    pq.write_table(table, directory / name, row_group_size=2)
    return directory


def write_json(directory: Path, name: str, *records: object) -> Path:
    directory.mkdir(exist_ok=True)
    (directory / name).write_text("".join(json.dumps(record) + "\n" for record in records))
    return directory


def make_feed(
    path: Path,
    *before: Segment,
    types: dict[str, str] | None = None,
    format_name: str = "parquet",
    at_once: int | None = None,
) -> FileFeed:
    """A feed that resumes after these segments; its clock advances by a second per poll."""
    progress = read_files(before, {}).values()
    clock = itertools.count()
    return FileFeed(path, format_name, COLUMNS, types or (TYPES if before else {}), progress, at_once, clock.__next__)


def rows(segments: list[Segment]) -> list[tuple[str, int]]:
    return [(Path(s.path).name, row) for s in segments for row in range(s.first_row, s.first_row + s.rows)]


def all_rows(**files: int) -> list[tuple[str, int]]:
    """All rows of these files, given by the number of rows of each."""
    return [(f"{name}.parquet", row) for name, count in files.items() for row in range(count)]


def refusal_error(feed: Feed) -> Refused:
    with pytest.raises(Refused) as refusal_error:
        feed.fresh()
    return refusal_error.value


def refusal(feed: Feed, kind: type[Refused] = Refused) -> str:
    error = refusal_error(feed)
    assert isinstance(error, kind)
    (problem,) = error.problems
    assert problem.remedy
    return f"{problem.where}: {problem.fault}"
