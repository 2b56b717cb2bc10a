"""Reads the columns of a dimension table from a file: GeoJSON, (Geo)Parquet or CSV."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet

from tailrace.ground.errors import refuse
from tailrace.ground.object_path import Location
from tailrace.spatial_join.geometries import Mask
from tailrace.spatial_join.parsing import Parsed, parse, parse_geojson

_WHOLE_FILE = (1 << 31) - 1  # the largest block of Arrow's CSV reader, which takes no row longer than one
_GEOJSON = 'a FeatureCollection: {"type": "FeatureCollection", "features": […]}'
_INTEGER = r"^(0|-?[1-9]\d{0,17})$"
_HEX = r"^([0-9A-Fa-f]{2})+$"


@dataclass(frozen=True, eq=False)
class TableColumns:
    """The rows of a file.

    Attributes
    ----------
    ids : Array
        Null where a row has none.
    parsed : Parsed
        Their geometries.
    is_given : ndarray of bool, shape (n,)
        Whether a row has a value for its geometry.
    columns : dict of str to Array
        The other columns.
    unit : str
        The name of a row: feature or row.
    """

    ids: pa.Array
    parsed: Parsed
    is_given: Mask
    columns: Mapping[str, pa.Array]
    unit: str


def read_columns(path: Location, content: bytes, id: str, geometry: str, columns: Sequence[str]) -> TableColumns:
    """Read the columns of a file's content; its suffix tells the format.

    Raises
    ------
    Refused
        When the format is none of the known ones, the content is not of the format, or a column is missing or is of a
        type that it can't be of.
    """
    read = _READERS.get(path.suffix.lower())
    if read is None:
        raise refuse(str(path), f"a table can't be read from {path.suffix or 'a file without suffix'}", _FORMATS)
    return read(str(path), content, id, geometry, columns)


def _geojson(where: str, content: bytes, id: str, geometry: str, columns: Sequence[str]) -> TableColumns:
    try:
        collection = json.loads(content)
    except (ValueError, RecursionError) as error:  # also of bytes that are no UTF-8
        raise refuse(where, f"it is no JSON: {error}", _GEOJSON) from None
    features = collection.get("features") if isinstance(collection, dict) else None
    if not isinstance(features, list) or not all(isinstance(feature, dict) for feature in features):
        kind = collection.get("type") if isinstance(collection, dict) else type(collection).__name__
        raise refuse(where, f"it is no FeatureCollection, but {kind}", _GEOJSON)
    if geometry != "geometry":
        raise refuse(where, f"a feature's geometry is its member geometry, not {geometry}", "geometry: geometry")
    properties = [feature.get("properties") or {} for feature in features]
    if not all(isinstance(one, dict) for one in properties):
        raise refuse(where, "the properties of a feature are no object", '"properties": {"name": …}, or null')
    has_member = id == "id" and any("id" in feature for feature in features)
    named = {name: [one.get(name) for one in properties] for name in (id, *columns)}
    known = set[str]().union(*properties) | ({"id"} if has_member else set())
    missing = [name for name in named if name not in known and features]
    if missing:
        raise refuse(where, f"no feature has {missing[0]}", f"one of {', '.join(sorted(known)) or 'none: it has none'}")
    table = {name: _array(where, name, values) for name, values in named.items()}
    ids = _array(where, id, [feature.get("id") for feature in features]) if has_member else table[id]
    given = [feature.get("geometry") for feature in features]
    is_given = np.array([one is not None for one in given], bool)
    return TableColumns(ids, parse_geojson(given), is_given, {name: table[name] for name in columns}, "feature")


def _array(where: str, name: str, values: list[Any]) -> pa.Array:
    try:
        return pa.array(values)
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError, UnicodeError):
        raise refuse(where, f"the property {name} is not of one type", "one type in all features, or null") from None


def _parquet(where: str, content: bytes, id: str, geometry: str, columns: Sequence[str]) -> TableColumns:
    try:
        file = pa.parquet.ParquetFile(pa.BufferReader(content))
        _check_names(where, file.schema_arrow.names, (id, geometry, *columns))
        table = file.read(columns=[*dict.fromkeys((id, geometry, *columns))], use_threads=False)
    except (pa.ArrowInvalid, OSError) as error:
        raise refuse(where, f"it is no Parquet file: {error}", _FORMATS) from None
    return _of_table(where, table, id, geometry, columns)


def _csv(where: str, content: bytes, id: str, geometry: str, columns: Sequence[str]) -> TableColumns:
    texts = {id: pa.string(), geometry: pa.string()}
    try:
        table = pa.csv.read_csv(
            pa.BufferReader(content),
            pa.csv.ReadOptions(use_threads=False, block_size=min(max(len(content), 1) + 1, _WHOLE_FILE)),
            pa.csv.ParseOptions(newlines_in_values=True),
            pa.csv.ConvertOptions(column_types=texts),
        )
        _check_names(where, table.column_names, (id, geometry, *columns))
    except (pa.ArrowInvalid, pa.ArrowKeyError, UnicodeError) as error:
        right = "UTF-8, a header, and as many fields in each row"
        raise refuse(where, f"it is no CSV file: {error}", right) from None
    for name in texts:
        column = pc.if_else(pc.equal(table[name], ""), pa.scalar(None, pa.string()), table[name])
        table = table.set_column(table.column_names.index(name), name, column)
    if pc.all(pc.match_substring_regex(table[id], _INTEGER), min_count=1).as_py():  # not 007, which is text
        table = table.set_column(table.column_names.index(id), id, table[id].cast(pa.int64()))
    if not table.num_rows:  # nothing tells their type
        table = table.set_column(table.column_names.index(id), id, pa.chunked_array([pa.nulls(0)]))
    return _of_table(where, table, id, geometry, columns)


def _of_table(where: str, table: pa.Table, id: str, geometry: str, columns: Sequence[str]) -> TableColumns:
    given = table[geometry].combine_chunks()
    if isinstance(given.type, pa.BaseExtensionType):  # as of Parquet's own geometries, stored as WKB
        given = given.storage
    if texts := is_text(given.type):
        given = given.cast(pa.large_string())
    elif any(test(given.type) for test in _BINARY):
        given = given.cast(pa.large_binary())
    else:
        raise refuse(where, f"the column {geometry} is of the type {given.type}", "WKT as text, or WKB as binary")
    is_hex = np.asarray(pc.fill_null(pc.match_substring_regex(given, _HEX), False)) if texts else None
    others = {name: table[name].combine_chunks() for name in columns}
    return TableColumns(table[id].combine_chunks(), parse(given, is_hex), np.asarray(given.is_valid()), others, "row")


def is_text(type: pa.DataType) -> bool:
    """Whether a type of Arrow's is one of texts."""
    return bool(pa.types.is_string(type) or pa.types.is_large_string(type) or pa.types.is_string_view(type))


def _check_names(where: str, names: Sequence[str], wanted: Sequence[str]) -> None:
    for name in wanted:
        if names.count(name) != 1:
            wrong = f"it has no column {name}" if name not in names else f"it has more than one column {name}"
            raise refuse(where, wrong, f"one of {', '.join(names)}")


_BINARY = (pa.types.is_binary, pa.types.is_large_binary, pa.types.is_binary_view, pa.types.is_fixed_size_binary)
_FORMATS = "a file *.geojson, *.json, *.parquet, *.geoparquet or *.csv"
_Reader = Callable[[str, bytes, str, str, Sequence[str]], TableColumns]
_READERS: dict[str, _Reader] = {
    ".geojson": _geojson,
    ".json": _geojson,
    ".parquet": _parquet,
    ".geoparquet": _parquet,
    ".csv": _csv,
}
