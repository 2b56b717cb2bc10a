"""Loader of T-Drive, the positions of 10,357 taxis in Beijing from 2008-02-02 to 2008-02-08, from its text files.

A line is a fix of a taxi: its number, local time, longitude and latitude; no header; a file for each taxi, or one for
many. There is no arrival time. Lines are repeated, and some fixes are far off: both are part of the data and stay.

    1,2008-02-02 15:36:08,116.51172,39.92123

The data are described in [1]_; `taxis.py` is a model of them.

References
----------
.. [1] Yuan, Zheng, Zhang et al. T-Drive: driving directions based on taxi trajectories. SIGSPATIAL 2010.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from io import TextIOWrapper
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from generators.fixes import SCHEMA, Fixes, concat, no_fixes, numbers
from tailrace.ground.errors import refuse
from tailrace.ground.files.regular_files import regular_status

LISTED = 100
"""Most rejected lines that are listed; the rest are only counted."""

ENDINGS = (".txt", ".txt.gz")
"""The suffixes of the files in a directory that are read."""

_AHEAD_MS = 8 * 3600 * 1000  # local time of UTC; China has had no summer time since 1991
_FORMAT = "%Y-%m-%d %H:%M:%S"
_NUMBER = r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)"
_DATE = r"[12][0-9]{3}-(?:0[1-9]|1[0-2])-(?:0[1-9]|[12][0-9]|3[01])"
_FIELDS = {
    "taxi": r"[0-9]{1,9}",
    "time": _DATE + r" (?:[01][0-9]|2[0-3]):[0-5][0-9]:[0-5][0-9]",
    "lon": _NUMBER,
    "lat": _NUMBER,
}
_LINE = r"^\s*" + r"\s*,\s*".join(f"(?P<{name}>{pattern})" for name, pattern in _FIELDS.items()) + r"\s*$"
BLOCK = 1 << 24  # characters of text that are parsed at once
ROWS = 1 << 20  # of a chunk of the table, so that the text of its ids stays far below 2 GB


class RejectedLine(NamedTuple):
    """A line without a fix: its file, its number from 1, and the reason."""

    file: Path
    line: int
    reason: str


class TDrive(NamedTuple):
    """The fixes, and the rejected lines.

    Attributes
    ----------
    table : pyarrow.Table
        The columns of `fixes.SCHEMA` in order of event time, ties in the order of files and lines; each fix arrives at
        its event time. The number in an id counts the fixes of a taxi in the order of files and lines.
    rejected : int
        Number of lines without a fix; empty ones don't count.
    listed : tuple of RejectedLine
        The first `LISTED` of them.
    """

    table: pa.Table
    rejected: int
    listed: tuple[RejectedLine, ...]


def read(path: Path) -> TDrive:
    """Read the fixes of a file, or of the files in and below a directory whose names end as in `ENDINGS`.

    The text is read block by block; memory holds some 100 bytes a fix, 2 GB for the 17.7 million of T-Drive. Any two
    numbers count as a position, even outside of the earth.

    Raises
    ------
    Refused
        When there is no such file, none in the directory, or lines without a single fix.
    """
    parts = [no_fixes()]
    listed: list[RejectedLine] = []
    rejected = 0
    for file in _files(path):
        for first, lines in _blocks(file):
            fixes, bad = _parse(lines)
            parts.append(fixes)
            rejected += len(bad)
            listed += (RejectedLine(file, first + row, _fault(lines[row])) for row in bad[: LISTED - len(listed)])
    fixes = concat(parts)
    if rejected and not fixes.rows:
        file, line, reason = listed[0]
        raise refuse(f"{file}:{line}", f"{reason}, and no other line holds a fix", "1,2008-02-02 15:36:08,116.51,39.92")
    fixes = fixes._replace(number=numbers(fixes.taxi))
    fixes = fixes.take(np.argsort(fixes.event_ms, kind="stable"))
    chunks = [fixes.take(slice(row, row + ROWS)).as_batch() for row in range(0, fixes.rows, ROWS)]
    return TDrive(pa.Table.from_batches(chunks, SCHEMA), rejected, tuple(listed))


def _files(path: Path) -> list[Path]:
    """Return the files to read; in a directory by the length of their names, then by name: 2.txt before 10.txt."""
    if not path.is_dir() and os.path.lexists(path):
        regular_status(path)
        return [path]
    if not path.is_dir():
        raise refuse(str(path), "there is no such file", "a text file of T-Drive, or a directory of them")
    files = [file for file in path.rglob("*") if file.name.endswith(ENDINGS) and not file.is_dir()]
    for file in files:
        regular_status(file)
    if not files:
        raise refuse(str(path), "the directory has no text files", f"files that end with {' or '.join(ENDINGS)}")
    return sorted(files, key=lambda file: (file.parent, len(file.name), file.name))


def _blocks(file: Path) -> Iterator[tuple[int, list[str]]]:
    """Read a file as blocks of lines, each with the number of its first line; it may be compressed as .gz."""
    number = 1
    with TextIOWrapper(pa.input_stream(file), encoding="utf-8", errors="replace") as text:
        while lines := text.readlines(BLOCK):
            yield number, lines
            number += len(lines)


def _parse(lines: list[str]) -> tuple[Fixes, list[int]]:
    """Return the fixes of lines, without numbers, and the rows of non-empty lines without a fix."""
    text = pa.array(lines, pa.string())
    values = pc.extract_regex(text, _LINE)
    is_fix = np.asarray(values.is_valid())
    fields = {name: values.field(name).filter(pa.array(is_fix)) for name in _FIELDS}
    times = pc.strptime(fields["time"], format=_FORMAT, unit="ms")
    # The 30th of February is parsed as the 1st of March.
    is_date = np.asarray(pc.equal(pc.day(times), pc.utf8_slice_codeunits(fields["time"], 8, 10).cast(pa.int64())))
    is_fix[is_fix] = is_date
    taxi, lon, lat = (
        np.asarray(fields[name].cast(kind))[is_date]
        for name, kind in (("taxi", pa.int32()), ("lon", pa.float64()), ("lat", pa.float64()))
    )
    event_ms = np.asarray(times.cast(pa.int64()))[is_date] - _AHEAD_MS
    is_empty = np.asarray(pc.equal(pc.utf8_trim_whitespace(text), ""))
    bad = np.flatnonzero(~is_fix & ~is_empty).tolist()
    return Fixes(event_ms, event_ms, taxi, np.zeros_like(event_ms), lon, lat), bad


def _fault(line: str) -> str:
    """Return the reason why a line has no fix."""
    values = [value.strip() for value in line.split(",")]
    if len(values) != len(_FIELDS):
        return f"it has {len(values)} fields, not {len(_FIELDS)}"
    for (name, pattern), value in zip(_FIELDS.items(), values, strict=True):
        if not re.fullmatch(pattern, value):
            return f"{value[:40]!r} is no {name}"
    return f"{values[1]!r} is no day of the calendar"
