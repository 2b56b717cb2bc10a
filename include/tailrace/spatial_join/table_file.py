"""Reads the columns of a dimension table from a file: GeoJSON, (Geo)Parquet or CSV."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet

from tailrace.ground.errors import Problem, Refused, refuse
from tailrace.ground.near_names import nearest
from tailrace.ground.object_path import Location
from tailrace.ground.times import INT96_UNIT
from tailrace.sources.csv_types import read_narrowest
from tailrace.sources.utf_8 import not_utf_8
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
    texts : dict of str to Array
        Of CSV the texts of the other columns; of another format none.
    """

    ids: pa.Array
    parsed: Parsed
    is_given: Mask
    columns: Mapping[str, pa.Array]
    unit: str
    texts: Mapping[str, pa.Array] = field(default_factory=dict)


def read_columns(path: Location, content: bytes, id: str, geometry: str, columns: Sequence[str]) -> TableColumns:
    """Read the columns of a file's content; its suffix names the format.

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
        collection = json.loads(content, object_pairs_hook=_object)
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
        raise _wrong(where, missing[0], f"no feature has {missing[0]}", sorted(known))
    table = {name: _array(where, name, values) for name, values in named.items()}
    ids = _array(where, id, [feature.get("id") for feature in features]) if has_member else table[id]
    given = [feature.get("geometry") for feature in features]
    is_given = np.array([one is not None for one in given], bool)
    return TableColumns(ids, parse_geojson(given), is_given, {name: table[name] for name in columns}, "feature")


def _object(members: list[tuple[str, Any]]) -> dict[str, Any]:
    one = dict(members)
    if len(one) < len(members):
        repeated = Counter(name for name, _ in members).most_common(1)[0][0]
        raise ValueError(f"an object has the name {repeated!r} more than once")
    return one


def _array(where: str, name: str, values: list[Any]) -> pa.Array:
    try:
        return pa.array(values)
    except UnicodeError:
        remedy = "whole characters"
        raise refuse(where, f"a text of the property {name} is no UTF-8: half of a surrogate pair", remedy) from None
    except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError):
        raise refuse(where, f"the property {name} is not of one type", "one type in all features, or null") from None


def _parquet(where: str, content: bytes, id: str, geometry: str, columns: Sequence[str]) -> TableColumns:
    try:
        file = pa.parquet.ParquetFile(pa.BufferReader(content), coerce_int96_timestamp_unit=INT96_UNIT)
        _check_names(where, file.schema_arrow.names, (id, geometry, *columns))
        table = file.read(columns=[*dict.fromkeys((id, geometry, *columns))], use_threads=False)
    except UnicodeDecodeError as error:
        raise refuse(where, f"the name of a column is no UTF-8: {error.object!r}", "names in UTF-8") from None
    except (pa.ArrowInvalid, OSError) as error:
        raise refuse(where, f"it is no Parquet file: {error}", _FORMATS) from None
    for name, column in zip(table.column_names, table.columns, strict=True):
        if (faulty := not_utf_8(column)) is not None:
            row = int(np.flatnonzero(faulty)[0]) + 1
            raise refuse(f"{where}: {name}", f"the text of row {row} is no UTF-8", "texts in UTF-8")
    return _of_table(where, table, id, geometry, columns)


def _csv(where: str, content: bytes, id: str, geometry: str, columns: Sequence[str]) -> TableColumns:
    texts = dict.fromkeys((id, geometry, *columns), pa.string())
    try:
        table = pa.csv.read_csv(
            pa.BufferReader(content),
            pa.csv.ReadOptions(use_threads=False, block_size=min(max(len(content), 1) + 1, _WHOLE_FILE)),
            pa.csv.ParseOptions(newlines_in_values=True),
            pa.csv.ConvertOptions(column_types=texts),
        )
        _check_names(where, table.column_names, (id, geometry, *columns))
    except (pa.ArrowInvalid, pa.ArrowKeyError, UnicodeError) as error:
        remedy = "UTF-8, a header, and as many fields in each row"
        raise refuse(where, f"it is no CSV file: {error}", remedy) from None
    given = {name: pc.if_else(pc.equal(table[name], ""), pa.scalar(None, pa.string()), table[name]) for name in texts}
    for name, column in given.items():
        values = column if name in (id, geometry) else read_narrowest(column)
        table = table.set_column(table.column_names.index(name), name, values)
    if pc.all(pc.match_substring_regex(table[id], _INTEGER), min_count=1).as_py():  # not 007, which is text
        table = table.set_column(table.column_names.index(id), id, table[id].cast(pa.int64()))
    if not table.num_rows:  # nothing shows their type
        table = table.set_column(table.column_names.index(id), id, pa.chunked_array([pa.nulls(0)]))
    rows = _of_table(where, table, id, geometry, columns)
    return replace(rows, texts={name: given[name].combine_chunks() for name in columns})


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


class WrongColumn(Refused):
    """Raised for a column, by its name, that a file has not, or more than once."""

    def __init__(self, name: str, problem: Problem) -> None:
        super().__init__([problem])
        self.name = name


def is_text(type: pa.DataType) -> bool:
    """Whether a type of Arrow's is one of texts."""
    return bool(pa.types.is_string(type) or pa.types.is_large_string(type) or pa.types.is_string_view(type))


def _check_names(where: str, names: Sequence[str], wanted: Sequence[str]) -> None:
    for name in wanted:
        if names.count(name) != 1:
            fault = f"it has no column {name}" if name not in names else f"it has more than one column {name}"
            raise _wrong(where, name, fault, names)


def _wrong(where: str, name: str, fault: str, names: Sequence[str]) -> WrongColumn:
    near, among = nearest(name, names), f"one of {', '.join(names) or 'none: it has none'}"
    return WrongColumn(name, Problem(where, fault, among if near in (None, name) else f"{near}; {among}"))


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
