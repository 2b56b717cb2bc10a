"""Reading progress in the files of a source: the rows read of each, and the remaining segments."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace

from tailrace.sources.segments import Segment, SourceFile

_REPORT_AFTER_S = 60.0  # the age from which an incomplete file is reported as a problem


@dataclass(frozen=True)
class ReadFile:
    """Reading progress in a file: rows read, all rows, and its size and change time when it was taken."""

    path: str
    rows: int
    of_rows: int
    size: int
    mtime_ns: int | None = None


def read_files(segments: Iterable[Segment], before: Mapping[str, ReadFile]) -> dict[str, ReadFile]:
    """Return the reading progress in the files of these segments, by path; `before` is the progress before them."""
    progress: dict[str, ReadFile] = {}
    for segment in segments:
        path, end = segment.path, segment.first_row + segment.rows
        last = progress.get(path) or before.get(path)
        rows = max(end, last.rows) if last else end
        progress[path] = ReadFile(path, rows, segment.of_rows, segment.size, segment.mtime_ns)
    return progress


def by_path(files: Iterable[ReadFile]) -> dict[str, ReadFile]:
    """Collect files by path, each with the most rows."""
    most: dict[str, ReadFile] = {}
    for file in files:
        before = most.get(file.path)
        if before is None or before.rows <= file.rows:
            most[file.path] = file
    return most


def remaining(segments: list[Segment], row: int) -> list[Segment]:
    """Return the parts of a file's segments at or after a row; empty ones are left out."""
    bounds = [(max(segment.first_row, row), segment.first_row + segment.rows, segment) for segment in segments]
    return [replace(segment, first_row=first, rows=end - first) for first, end, segment in bounds if end > first]


def waiting_problem(file: SourceFile, still: bool, age_s: float) -> str | None:
    """Describe an incomplete file as a problem; None while it is young and changes, as it is usually complete soon."""
    if not still and age_s < _REPORT_AFTER_S:
        return None
    fault = "its last line is cut" if still else f"it is still being written after {age_s:.0f} s"
    return f"{file}: {fault}; it and what comes after it are read when it is whole"
