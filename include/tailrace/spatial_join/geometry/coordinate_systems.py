"""The coordinate systems of geometries: compares those that files and geometries declare with the query's.

If the query's coordinates are degrees, a table's geometries are transformed to longitude and latitude of WGS 84, and a
stream's must have these already. In a plane, which has no name, any projected system is accepted unchanged. Coordinates
are x and y in this order: longitude or easting first, as in GeoParquet and GeoJSON, even if the coordinate system
itself has another order.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterable, Mapping
from functools import lru_cache
from typing import Any

import numpy as np
import shapely
from pyproj import CRS, Transformer
from pyproj.exceptions import CRSError, ProjError

from tailrace.ground.errors import Refused, refuse
from tailrace.sources.formats.geo_metadata import CRS84, PLANAR_EDGES, GeometryMetadata, describe
from tailrace.spatial_join.geometry.geometries import Mask, Shapes
from tailrace.spatial_join.geometry.parsing import Parsed
from tailrace.spatial_join.geometry.validity import edges_of

_DEGREES = f"degrees, longitude and latitude of WGS 84 ({CRS84})"
_PLANE = "planar, coordinates in a plane"
_UNKNOWN, _WGS_84 = 0, 4326
_NAME = re.compile(r"[A-Za-z][\w-]*:[\w.]+|urn:(?:x-)?ogc:def:crs:[\w.:-]+|https?://www\.opengis\.net/def/crs/[\w./-]+")
"""Names that are looked up; PROJ would take other texts for definitions, some of which name files."""

_POINTS = (shapely.GeometryType.POINT, shapely.GeometryType.MULTIPOINT)
_HALF_CIRCLE = 180.0
_ROUNDING = 1e-7
"""Degrees (a centimetre) by which a vertex may lie beyond the meridian of 180 degrees, if metres have two decimals."""

BEYOND = "lies beyond the area of its coordinate system"
ACROSS = "crosses the meridian of 180 degrees, or a pole, once it is transformed to degrees"


def to_query_crs(where: str, parsed: Parsed, declared: GeometryMetadata | None, degrees: bool) -> Parsed:
    """Return a table's geometries in the query's coordinate system.

    Vertices are transformed, and edges are straight between them. A geometry that can't be transformed is faulty.

    Parameters
    ----------
    declared : GeometryMetadata or None
        The file's declaration; None without one.
    degrees : bool
        Whether the query's coordinates are longitude and latitude.

    Raises
    ------
    Refused
        When the coordinate system is unknown, does not fit the query, or differs from the geometries' SRIDs; or when
        edges are not straight in the coordinates.
    """
    shapes = parsed.shapes
    if declared is None:
        _require_srids(where, shapes, degrees)
        return parsed
    if not np.isin(shapely.get_type_id(shapes[~shapely.is_missing(shapes)]), _POINTS).all():
        _require_planar_edges(where, declared)
    _require_declared_srid(where, shapes, declared)
    transformer = _transformer(where, declared, degrees)
    if transformer is None:
        return parsed
    with np.errstate(all="ignore"):  # coordinates may be NaN or infinite, which is detected later
        moved = np.asarray(shapely.transform(shapes, lambda points: _transformed(transformer, points)), object)
    beyond = np.flatnonzero(~_are_finite(moved) & _are_finite(shapes))
    moved[beyond] = None
    if len(odd := np.flatnonzero(_cross_the_border(moved) | _are_beyond_the_border(moved))):
        crs = _crs(where, declared.crs)  # type: ignore[arg-type]
        moved[odd] = _at_the_border(_to_degrees(crs, is_unwrapped=True), shapes[odd], moved[odd])
    faults = dict.fromkeys(beyond.tolist(), BEYOND)
    faults |= dict.fromkeys(np.flatnonzero(_cross_the_border(moved)).tolist(), ACROSS)
    return Parsed(moved, faults | dict(parsed.faults))


def require_stream_crs(
    where: str, declared: Mapping[str, GeometryMetadata], names: Iterable[str], degrees: bool
) -> None:
    """Refuse a stream's file whose columns of geometries are not in the query's coordinate system.

    Raises
    ------
    Refused
    """
    for name in names:
        if (of_column := declared.get(name)) is None:
            continue
        where_column = f"{where}: column {name}"
        if not of_column.only_points:
            _require_planar_edges(where_column, of_column)
        if _transformer(where_column, of_column, degrees) is not None:
            raise _differs(where_column, of_column, degrees, "geometries of a stream are not transformed")


def wrong_srids(shapes: Shapes) -> Mask:
    """Test which geometries have an SRID of a system that is not longitude and latitude."""
    srids = np.where(shapely.is_missing(shapes), _UNKNOWN, shapely.get_srid(shapes))
    return np.asarray(~np.isin(srids, (_UNKNOWN, _WGS_84)))


def _require_srids(where: str, shapes: Shapes, degrees: bool) -> None:
    """Refuse geometries whose SRIDs do not fit; in a plane, they must only be the same."""
    present = _srids(shapes)
    if degrees and (wrong := [srid for srid in present if srid not in (_UNKNOWN, _WGS_84)]):
        fault = f"it has geometries of the SRID {wrong[0]}, and coordinates are longitude and latitude"
        remedy = f"SRID {_WGS_84}, as a view has it by ST_Transform(…, {_WGS_84}); or crs: planar"
        raise refuse(where, fault, remedy)
    if len(present) > 1 and not degrees:
        fault = f"it has geometries of the SRIDs {', '.join(map(str, present))}, whose planes differ"
        raise refuse(where, fault, "one SRID, as a view has it by ST_Transform")


def _require_declared_srid(where: str, shapes: Shapes, declared: GeometryMetadata) -> None:
    """Refuse geometries with an SRID that contradicts the file."""
    srids = [srid for srid in _srids(shapes) if srid != _UNKNOWN]
    if not srids:
        return
    crs = None if declared.crs is None else _crs(where, declared.crs)
    for srid in srids:
        is_same = crs is not None and crs.equals(_crs(where, f"EPSG:{srid}"), ignore_axis_order=True)
        if not is_same:
            fault = f"it has geometries of the SRID {srid}, and the file declares the crs {describe(declared)}"
            raise refuse(where, fault, "one coordinate system; or WKB without SRIDs")


def _srids(shapes: Shapes) -> list[int]:
    return np.unique(shapely.get_srid(shapes[~shapely.is_missing(shapes)])).tolist()  # type: ignore[no-any-return]


def _require_planar_edges(where: str, declared: GeometryMetadata) -> None:
    if declared.edges != PLANAR_EDGES:
        fault = f"its edges are {declared.edges}, and those of a spatial join are straight in the coordinates"
        remedy = f"edges: {PLANAR_EDGES}, with vertices so near each other that both are the same; or points alone"
        raise refuse(where, fault, remedy)


def _transformer(where: str, declared: GeometryMetadata, degrees: bool) -> Transformer | None:
    """Return the transformation to the query's coordinate system; None if coordinates are used unchanged."""
    if declared.crs is None:
        if degrees:
            raise _differs(where, declared, degrees, "what degrees they are, or none, can't be known")
        return None
    crs = _crs(where, declared.crs)
    if not degrees:
        if crs.is_geographic or crs.is_geocentric:
            raise _differs(where, declared, degrees, "degrees are no plane")
        return None
    if crs.equals(_crs(where, CRS84), ignore_axis_order=True):
        return None
    if not (crs.is_geographic or crs.is_projected):
        raise _differs(where, declared, degrees, f"a {crs.type_name} has no longitude and latitude")
    try:
        return _to_degrees(crs)
    except ProjError:
        raise _differs(where, declared, degrees, "PROJ knows no transformation with a stated accuracy") from None


@lru_cache
def _to_degrees(crs: CRS, is_unwrapped: bool = False) -> Transformer:
    """Return the transformation from x and y to longitude and latitude of WGS 84, without guessed shifts of datums.

    `is_unwrapped`: longitudes beyond 180 degrees stay there, and are not moved to the other side of the world.
    """
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # warnings of more accurate grids that are not installed
        return Transformer.from_crs(crs, CRS84, always_xy=True, allow_ballpark=False, force_over=is_unwrapped)


def _differs(where: str, declared: GeometryMetadata, degrees: bool, why: str) -> Refused:
    """Build the refusal of a coordinate system that differs from the query's; it names both."""
    own, other = (_DEGREES, "crs: planar, if all coordinates are in one plane") if degrees else (_PLANE, "crs: degrees")
    fault = f"its crs is {describe(declared)}, and the query's is {own}: {why}"
    remedy = f"geometries in {CRS84}; or {other}" if degrees else f"geometries in one plane; or {other}"
    return refuse(where, fault, remedy)


def _crs(where: str, declared: Mapping[str, Any] | str) -> CRS:
    """Return a declared coordinate system, by its definition; if that is incomplete, by its authority's code."""
    try:
        if isinstance(declared, str):
            return _named(declared)
        try:
            return CRS.from_json_dict(dict(declared))
        except CRSError:
            id_ = declared.get("id")
            return CRS.from_authority(id_["authority"], id_["code"])  # type: ignore[index]
    except (CRSError, KeyError, TypeError, ValueError):
        fault = f"its crs is {describe(GeometryMetadata(declared))}, which PROJ does not know"
        raise refuse(where, fault, "PROJJSON, or the name of a coordinate system such as EPSG:3857") from None


@lru_cache
def _named(name: str) -> CRS:
    if not _NAME.fullmatch(name) and "[" not in name:  # WKT has brackets
        raise CRSError(name)
    return CRS.from_user_input(name.replace("urn:x-ogc:", "urn:ogc:"))


def _transformed(transformer: Transformer, points: Any) -> Any:
    return np.column_stack(transformer.transform(points[:, 0], points[:, 1]))


def _at_the_border(unwrapped: Transformer, shapes: Shapes, moved: Shapes) -> Shapes:
    """Return transformed geometries; move vertices that only rounding has put beyond the border back onto it."""

    def transform(points: Any) -> Any:
        degrees = _transformed(unwrapped, points)
        longitudes = degrees[:, 0]
        is_rounded = np.abs(np.abs(longitudes) - _HALF_CIRCLE) <= _ROUNDING
        degrees[is_rounded, 0] = np.copysign(_HALF_CIRCLE, longitudes[is_rounded])
        return degrees

    with np.errstate(all="ignore"):
        within = np.asarray(shapely.transform(shapes, transform), object)
    fits = _are_finite(within) & ~_cross_the_border(within) & ~_are_beyond_the_border(within)
    return np.where(fits, within, moved)


def _are_beyond_the_border(shapes: Shapes) -> Mask:
    with np.errstate(invalid="ignore"):
        return np.asarray((np.abs(shapely.bounds(shapes)[:, [0, 2]]) > _HALF_CIRCLE).any(axis=1))


def _are_finite(shapes: Shapes) -> Mask:
    points, row = shapely.get_coordinates(shapes, return_index=True)
    finite = np.ones(len(shapes), bool)
    finite[row[~np.isfinite(points).all(axis=1)]] = False
    return finite


def _cross_the_border(shapes: Shapes) -> Mask:
    """Test which geometries have an edge from one side of the world to the other, which goes the wrong way round."""
    bounds = shapely.bounds(shapes)
    with np.errstate(invalid="ignore"):  # not if it was infinite before
        crosses = np.asarray(bounds[:, 2] - bounds[:, 0] > _HALF_CIRCLE)
    for row in np.flatnonzero(crosses).tolist():
        edges = shapely.bounds(edges_of(shapes[row]))
        crosses[row] = bool((edges[:, 2] - edges[:, 0] > _HALF_CIRCLE).any())
    return crosses
