"""Reads geometries from texts, bytes and GeoJSON, in columns, with a reason for each invalid one.

GEOS before 3.15 parses nested collections by recursion, so that tens of thousands of levels end the process. Shapely
lacks curves, and raises an error if one of many geometries is one. So both are detected beforehand.
"""

from __future__ import annotations

import json
import struct
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import compress
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import shapely

from tailrace.ground.arrow.columns import Ints
from tailrace.spatial_join.geometry.geometries import Mask, Shapes

MOST_LEVELS = 100
"""The most nested collections of a geometry."""

UNREAD, CURVES, DEEP = "could not be read", "is of curves", f"is nested more than {MOST_LEVELS} deep"

SHORT = 9 * MOST_LEVELS
"""Shorter values can't have more levels: each takes 9 bytes of WKB, more of WKT."""

MULTIPOLYGON_LEVELS = 3
"""The nested parentheses of a multipolygon."""

_POINT, _LINES, _POLYGON, _CONTAINERS = 1, (2, 8), 3, (4, 5, 6, 7, 9, 10, 11, 12)
"""WKB types. Containers hold geometries; GEOS parses any type within them before it checks it."""

_SRID, _Z, _M = 0x20000000, 0x80000000, 0x40000000
_LITTLE, _BIG = (struct.Struct(f"{order}I").unpack_from for order in "<>")


Read = Callable[..., Any]
"""A function of shapely that reads an array of geometries."""


class Parsed(NamedTuple):
    """n geometries.

    Attributes
    ----------
    shapes : ndarray of shapely geometries, shape (n,)
        In the plane, with their SRIDs; None where parsing failed.
    faults : dict of int to str
        The faults by row, as predicates of a sentence; rows without a fault are left out.
    """

    shapes: Shapes
    faults: Mapping[int, str]


def parse(column: pa.Array, is_hex: Mask | None = None) -> Parsed:
    """Parse a column: texts as WKT, bytes as WKB.

    Parameters
    ----------
    is_hex : ndarray of bool, shape (n,), optional
        The texts that are hexadecimal WKB.
    """
    values = column.to_numpy(zero_copy_only=False)
    long = np.flatnonzero(pc.fill_null(pc.greater(pc.binary_length(column), SHORT), False)).tolist()
    if not _is_text(column.type):
        return _parsed(values, [(shapely.from_wkb, None)], filter(lambda row: _is_deep_wkb(values[row]), long))
    if is_hex is None:
        return _parsed(values, [(shapely.from_wkt, None)], filter(lambda row: _is_deep_text(values[row]), long))
    is_deep = [_is_deep_wkb(bytes.fromhex(values[row])) if is_hex[row] else _is_deep_text(values[row]) for row in long]
    deep = compress(long, is_deep)
    return _parsed(values, [(shapely.from_wkb, is_hex), (shapely.from_wkt, ~is_hex)], deep)


def parse_geojson(geometries: Sequence[Any]) -> Parsed:
    """Parse JSON values that represent geometries; None for a missing one."""
    texts, deep = np.full(len(geometries), None, object), []
    for row, geometry in enumerate(geometries):
        try:
            texts[row] = None if geometry is None else json.dumps(geometry)
        except RecursionError:
            deep.append(row)
        else:
            deep += [row] if _is_deep_json(geometry) else []
    return _parsed(texts, [(shapely.from_geojson, None)], deep)


def _parsed(values: Shapes, readers: Sequence[tuple[Read, Mask | None]], deep: Iterable[int]) -> Parsed:
    """Read values by functions, each with a mask of its values (None for all); skip values that are nested too deep."""
    shapes, faults = np.full(len(values), None, object), dict.fromkeys(deep, DEEP)
    if faults:
        values = values.copy()
        values[list(faults)] = None
    with np.errstate(all="ignore"):  # coordinates may overflow, which is detected later
        for read, mine in readers:
            rows = np.arange(len(values)) if mine is None else np.flatnonzero(mine)
            _read(read, values, rows, shapes, faults)
    flat = np.asarray(shapely.force_2d(shapes), object)  # None for a collection with curves
    for row in np.flatnonzero(shapely.is_missing(flat)).tolist():
        faults.setdefault(row, UNREAD if shapes[row] is None else CURVES)
    srids = np.asarray(shapely.get_srid(shapes))  # `force_2d` has dropped them
    return Parsed(np.asarray(shapely.set_srid(flat, srids), object) if (srids > 0).any() else flat, faults)


def _read(read: Read, values: Shapes, rows: Ints, shapes: Shapes, faults: dict[int, str]) -> None:
    """Read the values of some rows into `shapes`; where reading raises an error, read each half separately."""
    if not len(rows):
        return
    try:
        shapes[rows] = read(values[rows], on_invalid="ignore")
    except (NotImplementedError, shapely.GEOSException) as error:
        if len(rows) == 1:
            faults[int(rows[0])] = CURVES if isinstance(error, NotImplementedError) else UNREAD
            return
        for half in np.array_split(rows, 2):
            _read(read, values, half, shapes, faults)


def _is_deep_text(text: str) -> bool:
    """Test whether the parentheses of WKT are nested too deep.

    Only collections can be: others have at most three levels.
    """
    most = MOST_LEVELS + MULTIPOLYGON_LEVELS
    if text.count("(") <= most:
        return False
    letters = np.frombuffer(text.encode(), np.uint8)
    steps = (letters == ord("(")).astype(np.int64) - (letters == ord(")"))
    return int(steps.cumsum().max()) > most


def _is_deep_json(geometry: Any) -> bool:
    level, levels = [geometry], 0
    while level and levels <= MOST_LEVELS:
        parts = [one.get("geometries") for one in level if isinstance(one, dict)]
        level, levels = [one for mine in parts if isinstance(mine, list) for one in mine], levels + 1
    return bool(level)


def _is_deep_wkb(wkb: bytes) -> bool:
    """Test whether WKB geometries are nested too deep, as far as the headers can be followed.

    Like GEOS, read a byte order other than 0 and 1 as the previous geometry's, and a type as two bytes modulo 1,000.
    """
    position, read, open_ = 0, _LITTLE, [1]  # the remaining members at each level
    try:
        while open_:
            if not open_[-1]:
                open_.pop()
                continue
            open_[-1] -= 1
            mark = wkb[position]
            read = _LITTLE if mark == 1 else _BIG if mark == 0 else read
            (header,) = read(wkb, position + 1)
            iso, kind = divmod(header & 0xFFFF, 1000)
            size = 16 + 8 * bool(header & _Z or iso in (1, 3)) + 8 * bool(header & _M or iso in (2, 3))
            position += 9 if header & _SRID else 5
            if kind == _POINT:
                position += size
                continue
            (count,) = read(wkb, position)
            position += 4
            if kind == _POLYGON:
                for _ in range(count):
                    position += 4 + size * read(wkb, position)[0]
            elif kind in _CONTAINERS:
                open_.append(count)
                if len(open_) > MOST_LEVELS + 1:
                    return True
            elif kind in _LINES:
                position += count * size
            else:
                return False
    except (struct.error, IndexError):  # it ends early
        pass
    return False


def _is_text(type: pa.DataType) -> bool:
    return bool(pa.types.is_string(type) or pa.types.is_large_string(type))
