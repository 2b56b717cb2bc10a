"""Loader of the positions in the football match of the DEBS 2013 Grand Challenge, from its CSV file.

Sensors in the shoes of the players and the hands of the goal keepers (200 Hz) and in the balls (2,000 Hz) report where
they are; the file `full-game` has them in the order of time, without an arrival time, without a header, as

    sid,ts,x,y,z,|v|,|a|,vx,vy,vz,ax,ay,az
    98,10629342490369879,26406,-6869,1070,1166235,7161971,-5706,3485,-7435,-2410,-8454,-4765

`ts` is in picoseconds, the match goes from 10753295594424116 to 14879639146403495; `x`, `y`, `z` in mm from the middle
of the field; `|v|` in µm/s, `|a|` in µm/s²; the rest are directions, vectors of length 10,000. The format is described
in [1]_, and at https://debs.org/grand-challenges/2013/.

References
----------
.. [1] Mutschler, Ziekow, Jerzak. The DEBS 2013 Grand Challenge. DEBS 2013.
"""

from __future__ import annotations

import re
from io import TextIOWrapper
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv as pc
from numpy.typing import NDArray

from generators.replay import TIME
from tailrace.ground.errors import Refused, refuse
from tailrace.ground.files.regular_files import regular_status

KICK_OFF_PS = 10_753_295_594_424_116
PS_IN_MS = 10**9
FIELDS = {
    "sid": pa.int32(),
    "ts": pa.int64(),
    **dict.fromkeys(("x", "y", "z"), pa.int32()),
    **dict.fromkeys(("|v|", "|a|"), pa.int64()),
    **dict.fromkeys(("vx", "vy", "vz", "ax", "ay", "az"), pa.int16()),
}
"""The fields of a row, in order; all are integers."""

_MICRO = 1e6
_INTEGER = re.compile(r" *-?[0-9]+ *")
BLOCK = 1 << 24


def read(path: Path, kick_off_ms: int) -> pa.Table:
    """Read the positions of a file in its order, also those before the kick-off and after the end.

    The text is read block by block, so that memory holds the rows alone: 60 bytes a row, 3 GB for the 50 million of
    the whole match. Sorting them by arrival takes as much memory again.

    Parameters
    ----------
    path : Path
        The CSV file; it may be compressed as .gz or .bz2.
    kick_off_ms : int
        Event time of the kick-off, epoch milliseconds.

    Returns
    -------
    pyarrow.Table
        id int64 (the row's number from 0), event_time timestamp[ms, UTC] (finer times floored), sensor int32, x, y and
        z int32 (mm), speed float64 (m/s), acceleration float64 (m/s²), vx, vy, vz, ax, ay and az int16.

    Raises
    ------
    Refused
        At the first row that is broken, with its line and field: a match with holes would give other answers.
    ValueError
        When the file can't be read.
    """
    options = pc.ConvertOptions(column_types=FIELDS, null_values=[])
    parts: list[pa.Table] = []
    rows = 0
    try:
        regular_status(path)
        with pc.open_csv(path, pc.ReadOptions(column_names=list(FIELDS), block_size=BLOCK), None, options) as blocks:
            for block in blocks:
                parts.append(_positions(block, rows, kick_off_ms))
                rows += block.num_rows
    except pa.ArrowInvalid as error:
        raise _first_row_error(path) or ValueError(f"{path} can't be read as rows of DEBS 2013 ({error})") from error
    return pa.concat_tables(parts)


def _positions(block: pa.RecordBatch, first: int, kick_off_ms: int) -> pa.Table:
    def column(name: str) -> NDArray[np.int64]:
        return np.asarray(block.column(name))

    event_ms = kick_off_ms + (column("ts") - KICK_OFF_PS) // PS_IN_MS
    columns = {
        "id": pa.array(np.arange(first, first + block.num_rows)),
        "event_time": pa.array(event_ms, TIME),
        "sensor": block.column("sid"),
        **{name: block.column(name) for name in ("x", "y", "z")},
        "speed": pa.array(column("|v|") / _MICRO),
        "acceleration": pa.array(column("|a|") / _MICRO),
    }
    return pa.table(columns | {name: block.column(name) for name in ("vx", "vy", "vz", "ax", "ay", "az")})


def _first_row_error(path: Path) -> Refused | None:
    """Return the error of the first malformed row, by a second pass over the text; None without one."""
    with TextIOWrapper(pa.input_stream(path), encoding="utf-8", errors="replace") as lines:
        for number, line in enumerate(lines, 1):
            values = line.strip().split(",")
            if values == [""]:
                continue
            if len(values) != len(FIELDS):
                remedy = f"{len(FIELDS)} fields: {','.join(FIELDS)}"
                return refuse(f"{path}:{number}", f"it has {len(values)} fields", remedy)
            for (name, kind), value in zip(FIELDS.items(), values, strict=True):
                limit = 1 << kind.bit_width - 1
                if not _INTEGER.fullmatch(value) or not -limit <= int(value) < limit:
                    remedy = f"an integer from {-limit:,} to {limit - 1:,}"
                    return refuse(f"{path}:{number}: {name}", f"{value!r} is none", remedy)
    return None
