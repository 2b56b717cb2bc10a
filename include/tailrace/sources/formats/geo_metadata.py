"""The coordinate systems and edges that Parquet files declare for their columns of geometries.

There are three ways to declare them: GeoParquet's metadata `geo`, Parquet's types GEOMETRY and GEOGRAPHY, and
GeoArrow's metadata of a field. If a file has several for a column, the first in this order holds.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from tailrace.ground.errors import refuse

GEO = b"geo"
"""The key of GeoParquet's metadata in a file."""

CRS84 = "OGC:CRS84"
"""Longitude and latitude of WGS 84, in this order: the coordinate system of files that name none."""

PLANAR_EDGES = "planar"

_POINTS = ("Point", "MultiPoint")
_REMEDY = 'GeoParquet\'s metadata {"columns": {"geometry": {"encoding": "WKB", "crs": …}}}, or none'


@dataclass(frozen=True)
class GeometryMetadata:
    """A file's declarations about a column of geometries.

    Attributes
    ----------
    crs : dict, str or None
        The coordinate system: PROJJSON, or a name such as EPSG:3857; None if the file declares it as unknown.
    edges : str
        `planar`, or the name of the edges on a sphere or an ellipsoid.
    only_points : bool
        Whether the file declares that it has points alone, which have no edges.
    """

    crs: Mapping[str, Any] | str | None = CRS84
    edges: str = PLANAR_EDGES
    only_points: bool = False

    def agrees(self, other: GeometryMetadata | None) -> bool:
        """Test whether another file declares the same coordinate system and edges."""
        return other is not None and (_identity(self.crs), self.edges) == (_identity(other.crs), other.edges)


def read_geometry_metadata(where: str, file: pq.ParquetFile) -> dict[str, GeometryMetadata]:
    """Read a file's declarations about its geometries, by column.

    Raises
    ------
    Refused
        When its metadata is not of GeoParquet's form.
    """
    declared: dict[str, GeometryMetadata] = {}
    metadata = file.metadata.metadata or {}
    for field in file.schema_arrow:
        if (of_field := _field_metadata(where, field)) is not None:
            declared[field.name] = of_field
    for index in range(len(file.schema.names)):
        column = file.schema.column(index)
        if (of_type := _type_metadata(json.loads(column.logical_type.to_json()), metadata)) is not None:
            declared[column.path] = of_type
    return declared | _file_metadata(where, metadata)


def with_geometry_metadata(rows: pa.Table, declared: Mapping[str, GeometryMetadata]) -> pa.Table:
    """Replace the metadata of rows by GeoParquet's metadata of their declared columns."""
    columns: dict[str, dict[str, Any]] = {
        name: {"encoding": "WKB", "geometry_types": [], "crs": each.crs, "edges": each.edges}
        for name, each in declared.items()
        if name in rows.column_names
    }
    if not columns:
        return rows.replace_schema_metadata(None)
    content = {"version": "1.1.0", "primary_column": min(columns), "columns": columns}
    return rows.replace_schema_metadata({GEO: json.dumps(content, sort_keys=True)})


def common_geometry_metadata(
    where: str, parts: Iterable[pa.Table], columns: Collection[str]
) -> dict[str, GeometryMetadata]:
    """Return the declarations that all parts of a table have in common, by column.

    Raises
    ------
    Refused
        When two parts differ in the coordinate system or the edges of a column.
    """
    declared = [_file_metadata(where, part.schema.metadata or {}) for part in parts]
    for name in columns:
        of_parts = [each.get(name) for each in declared]
        first = of_parts[0] if of_parts else None
        for other in of_parts[1:]:
            if first is not other and (first is None or not first.agrees(other)):
                fault = f"its files differ in their coordinate systems: {describe(first)}, and {describe(other)}"
                raise refuse(f"{where}: {name}", fault, "one crs, and the same edges, in all files")
    return declared[0] if declared else {}


def describe(declared: GeometryMetadata | None) -> str:
    """Describe a file's declaration in words."""
    if declared is None:
        return "none that is declared"
    name = "null, which means unknown" if declared.crs is None else crs_name(declared.crs)
    return name + ("" if declared.edges == PLANAR_EDGES else f" with {declared.edges} edges")


def crs_name(crs: Mapping[str, Any] | str) -> str:
    """Return the name of a coordinate system: the authority's code, and its description."""
    if isinstance(crs, str):
        return crs
    name, code = crs.get("name", "without a name"), _code(crs)
    return f"{code} ({name})" if code else str(name)


def _code(crs: Mapping[str, Any]) -> str | None:
    id_ = crs.get("id")
    if not isinstance(id_, Mapping) or not {"authority", "code"} <= id_.keys():
        return None
    return f"{id_['authority']}:{id_['code']}"


def _identity(crs: Mapping[str, Any] | str | None) -> str | None:
    """Return a key that is the same for equal coordinate systems: the authority's code, else the whole definition."""
    return crs if crs is None or isinstance(crs, str) else _code(crs) or json.dumps(crs, sort_keys=True)


def _file_metadata(where: str, metadata: Mapping[bytes, bytes]) -> dict[str, GeometryMetadata]:
    """Read GeoParquet's metadata of a file; a column without `crs` has OGC:CRS84."""
    if GEO not in metadata:
        return {}
    columns = _json(where, metadata[GEO]).get("columns")
    if not isinstance(columns, dict) or not all(isinstance(each, dict) for each in columns.values()):
        raise refuse(where, "its metadata geo has no columns", _REMEDY)
    return {name: _declared(where, name, each) for name, each in columns.items()}


def _declared(where: str, name: str, column: Mapping[str, Any], default: str | None = CRS84) -> GeometryMetadata:
    """Read the metadata of a column in GeoParquet or GeoArrow; a column without `crs` has the default."""
    crs, edges, types = column.get("crs", default), column.get("edges") or PLANAR_EDGES, column.get("geometry_types")
    if not isinstance(crs, dict | str | None):
        fault = f"its metadata of geometries has a crs that is neither an object nor null, but {json.dumps(crs)}"
        raise refuse(f"{where}: {name}", fault, "PROJJSON, or null for an unknown one")
    shapes = [str(each).removesuffix(" Z") for each in types] if isinstance(types, list) else []
    only_points = bool(shapes) and all(each in _POINTS for each in shapes)
    return GeometryMetadata(_parsed(crs) if isinstance(crs, str) else crs, str(edges), only_points)


def _type_metadata(logical: Mapping[str, Any], metadata: Mapping[bytes, bytes]) -> GeometryMetadata | None:
    """Read a column's logical type in Parquet; None if it is no type of geometries."""
    if logical.get("Type") not in ("Geometry", "Geography"):
        return None
    edges = PLANAR_EDGES if logical["Type"] == "Geometry" else logical.get("algorithm") or "spherical"
    return GeometryMetadata(_type_crs(logical.get("crs") or CRS84, metadata), edges)


def _type_crs(crs: str, metadata: Mapping[bytes, bytes]) -> Mapping[str, Any] | str | None:
    """Return the coordinate system of a logical type; it may be `srid:N`, or `projjson:K` for the file's metadata K."""
    form, _, name = crs.partition(":")
    if form == "srid":
        return None if name == "0" else f"EPSG:{name}"
    if form == "projjson" and name.encode() in metadata:
        return _parsed(metadata[name.encode()].decode(errors="replace"))
    return _parsed(crs)


def _field_metadata(where: str, field: pa.Field) -> GeometryMetadata | None:
    """Read GeoArrow's metadata of a field; a missing coordinate system means that it is unknown."""
    metadata = field.metadata or {}
    if not metadata.get(b"ARROW:extension:name", b"").startswith(b"geoarrow."):
        return None
    content = _json(f"{where}: {field.name}", metadata.get(b"ARROW:extension:metadata") or b"{}")
    return _declared(where, field.name, content, None)


def _parsed(crs: str) -> Mapping[str, Any] | str:
    """Parse a text with PROJJSON; return other texts as they are."""
    try:
        content = json.loads(crs)
    except ValueError:
        return crs
    return content if isinstance(content, dict) else crs


def _json(where: str, text: bytes) -> dict[str, Any]:
    try:
        content = json.loads(text)
    except (ValueError, RecursionError) as error:
        raise refuse(where, f"its metadata of geometries is no JSON: {error}", _REMEDY) from None
    if not isinstance(content, dict):
        raise refuse(where, "its metadata of geometries is no object", _REMEDY)
    return content
