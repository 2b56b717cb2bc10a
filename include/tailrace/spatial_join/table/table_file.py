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
import pyarrow.parquet as pq

from tailrace.ground.errors import refuse
from tailrace.ground.files.object_path import Location
from tailrace.kind.table_place import DatabaseTable, wrong_column
from tailrace.sources.column_rules import is_text
from tailrace.sources.formats.csv_types import read_narrowest
from tailrace.sources.formats.geo_metadata import GeometryMetadata, read_geometry_metadata
from tailrace.sources.lookup.table_content import csv_texts, parquet_columns
from tailrace.spatial_join.geometry.geometries import Mask
from tailrace.spatial_join.geometry.parsing import Parsed, parse, parse_geojson

_GEOJSON = 'a FeatureCollection: {"type": "FeatureCollection", "features": […]}'
_INTEGER = r"^(0|-?[1-9]\d{0,17})$"
_HEX = r"^([0-9A-Fa-f]{2})+$"


@dataclass(frozen=True, eq=False)
class TableColumns:
    """The rows of a file.

    Attributes
    ----------
    ids : Array
        The ids; null where a row has none.
    parsed : Parsed
        The geometries of the rows.
    is_given : ndarray of bool, shape (n,)
        Whether a row has a value for its geometry.
    columns : dict of str to Array
        The other columns.
    unit : str
        The name of a row: feature or row.
    texts : dict of str to Array
        For CSV, the texts of the other columns; empty for other formats.
    declared : GeometryMetadata or None
        The file's declaration of coordinate system and edges; None without one.
    """

    ids: pa.Array
    parsed: Parsed
    is_given: Mask
    columns: Mapping[str, pa.Array]
    unit: str
    texts: Mapping[str, pa.Array] = field(default_factory=dict)
    declared: GeometryMetadata | None = None


def read_columns(
    path: Location | DatabaseTable,
    content: bytes,
    id: str,
    geometry: str,
    columns: Sequence[str],
    suffix: str | None = None,
) -> TableColumns:
    """Read the columns of a table's content; the suffix, by default the path's, names the format.

    Raises
    ------
    Refused
        When the format is unknown, the content does not have it, or a column is missing or of a wrong type.
    """
    read = _READERS.get(path.suffix.lower() if suffix is None else suffix)
    if read is None:
        raise refuse(str(path), f"a table can't be read from {path.suffix or 'a file without suffix'}", _FORMATS)
    return read(str(path), content, id, geometry, columns)


def _geojson(where: str, content: bytes, id: str, geometry: str, columns: Sequence[str]) -> TableColumns:
    try:
        collection = json.loads(content, object_pairs_hook=_object)
    except (ValueError, RecursionError) as error:  # also for bytes that are not UTF-8
        raise refuse(where, f"it is no JSON: {error}", _GEOJSON) from None
    features = collection.get("features") if isinstance(collection, dict) else None
    if not isinstance(features, list) or not all(isinstance(feature, dict) for feature in features):
        kind = collection.get("type") if isinstance(collection, dict) else type(collection).__name__
        raise refuse(where, f"it is no FeatureCollection, but {kind}", _GEOJSON)
    if geometry != "geometry":
        raise refuse(where, f"a feature's geometry is its member geometry, not {geometry}", "geometry: geometry")
    declared = _geojson_crs(where, collection, features)
    properties = [feature.get("properties") or {} for feature in features]
    if not all(isinstance(one, dict) for one in properties):
        raise refuse(where, "the properties of a feature are no object", '"properties": {"name": …}, or null')
    has_member = id == "id" and any("id" in feature for feature in features)
    named = {name: [one.get(name) for one in properties] for name in (id, *columns)}
    known = set[str]().union(*properties) | ({"id"} if has_member else set())
    missing = [name for name in named if name not in known and features]
    if missing:
        raise wrong_column(where, missing[0], f"no feature has {missing[0]}", sorted(known))
    table = {name: _array(where, name, values) for name, values in named.items()}
    ids = _array(where, id, [feature.get("id") for feature in features]) if has_member else table[id]
    given = [feature.get("geometry") for feature in features]
    is_given = np.array([one is not None for one in given], bool)
    others = {name: table[name] for name in columns}
    return TableColumns(ids, parse_geojson(given), is_given, others, "feature", declared=declared)


def _geojson_crs(
    where: str, collection: Mapping[str, Any], features: Sequence[Mapping[str, Any]]
) -> GeometryMetadata | None:
    """Return the coordinate system in the member `crs` of GeoJSON before RFC 7946; None without one."""
    inner = [one for feature in features for one in (feature, feature.get("geometry")) if isinstance(one, dict)]
    others = [one["crs"] for one in inner if "crs" in one and one["crs"] != collection.get("crs")]
    if others:
        raise refuse(where, "a feature has a crs of its own", "a member crs of the FeatureCollection alone, or none")
    if "crs" not in collection:
        return None
    crs = collection["crs"]
    if crs is None:
        return GeometryMetadata(None)
    properties = crs.get("properties") if isinstance(crs, dict) else None
    name = properties.get("name") if isinstance(properties, dict) else None
    if not isinstance(name, str):
        fault = f"its member crs has no name: {json.dumps(crs)}"
        raise refuse(where, fault, '"crs": {"type": "name", "properties": {"name": "urn:ogc:def:crs:EPSG::3857"}}')
    return GeometryMetadata(name)


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
    table = parquet_columns(where, content, (id, geometry, *columns), _FORMATS)
    declared = read_geometry_metadata(where, pq.ParquetFile(pa.BufferReader(content))).get(geometry)
    return replace(_of_table(where, table, id, geometry, columns), declared=declared)


def _csv(where: str, content: bytes, id: str, geometry: str, columns: Sequence[str]) -> TableColumns:
    given = csv_texts(where, content, (id, geometry, *columns))
    table = given
    for name in columns:
        if name not in (id, geometry):
            table = table.set_column(table.column_names.index(name), name, read_narrowest(given[name]))
    if pc.all(pc.match_substring_regex(table[id], _INTEGER), min_count=1).as_py():  # not 007, which is text
        table = table.set_column(table.column_names.index(id), id, table[id].cast(pa.int64()))
    if not table.num_rows:  # their type is unknown
        table = table.set_column(table.column_names.index(id), id, pa.chunked_array([pa.nulls(0)]))
    rows = _of_table(where, table, id, geometry, columns)
    return replace(rows, texts={name: given[name].combine_chunks() for name in columns})


def _of_table(where: str, table: pa.Table, id: str, geometry: str, columns: Sequence[str]) -> TableColumns:
    given = table[geometry].combine_chunks()
    if isinstance(given.type, pa.BaseExtensionType):  # such as Parquet's own geometries, stored as WKB
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
