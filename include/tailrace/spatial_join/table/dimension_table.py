"""The dimension table of a stream–table join (paper 003, definition 3): rows with ids and checked geometries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tailrace.ground.arrow.columns import unify
from tailrace.ground.errors import Problem, Refused, refuse
from tailrace.ground.files.object_path import Location
from tailrace.kind.table_place import DatabaseTable
from tailrace.sources.column_rules import is_text
from tailrace.sources.lookup.valid_times import ValidTimes, valid_times
from tailrace.spatial_join.geometry.coordinate_systems import to_query_crs
from tailrace.spatial_join.geometry.geometries import Geometries, Shapes, geometries_of
from tailrace.spatial_join.geometry.validity import FAR, INFINITE, check
from tailrace.spatial_join.table.table_file import TableColumns, read_columns
from tailrace.spatial_join.table.table_section import OnInvalid

_MOST_PROBLEMS = 20
_REMEDY = "a valid geometry, or on_invalid: "
_FAULTS = {
    INFINITE: "a coordinate is NaN or infinite",
    FAR: "its coordinates are no degrees: longitudes lie between -180 and 180, latitudes between -90 and 90",
}


@dataclass(frozen=True, eq=False)
class DimensionTable:
    """A table of geometries.

    Attributes
    ----------
    ids : Array
        int64 or string, without nulls, and distinct among rows that are valid at the same time. Of type null if the
        table is empty.
    shapes : ndarray of shapely geometries, shape (n,)
        In the plane; valid or empty.
    columns : dict of str to Array
        The other requested columns.
    texts : dict of str to Array
        For CSV, these columns as texts; empty for other formats.
    skipped : tuple of Problem
        The rows that were left out, with reasons.
    validity : ValidTimes or None
        The event times in which each row is valid; None if all rows are always valid.
    """

    ids: pa.Array
    shapes: Shapes
    columns: Mapping[str, pa.Array]
    texts: Mapping[str, pa.Array]
    skipped: tuple[Problem, ...] = ()
    validity: ValidTimes | None = None

    def values(self, name: str, dtype: pa.DataType, rows: pa.Array) -> pa.Array:
        """Return the values of a column in some rows, in the type of the first version.

        This version may have a narrower type, or integers for doubles. CSV texts stay texts, even if all are numbers
        here.
        """
        column = self.texts.get(name, self.columns[name]) if pa.types.is_string(dtype) else self.columns[name]
        values = column.take(rows)
        try:
            return values.cast(dtype, safe=not pa.types.is_floating(dtype))
        except pa.ArrowInvalid as error:
            if pa.types.is_timestamp(dtype):  # a stream may have begun when CSV times were not yet texts
                return values.cast(pa.timestamp("us")).cast(dtype)
            fault = f"the column {name} of the table is of the type {column.type}, in its first version {dtype}"
            raise ValueError(f"{fault}: {error}; right is another name for the query, to begin again") from error

    @property
    def geometries(self) -> Geometries:
        """The geometries as columns."""
        return geometries_of(self.shapes)

    def __len__(self) -> int:
        return len(self.ids)


def parse(
    path: Location | DatabaseTable,
    content: bytes,
    id: str = "id",
    geometry: str = "geometry",
    columns: Sequence[str] = (),
    on_invalid: OnInvalid = "refuse",
    degrees: bool = True,
    valid: tuple[str | None, str | None] = (None, None),
    suffix: str | None = None,
) -> DimensionTable:
    """Parse the content of a table: GeoJSON, (Geo)Parquet or CSV.

    Parameters
    ----------
    path : Path, ObjectPath or DatabaseTable
        The file, whose suffix names the format, or the table.
    content : bytes
    id : str
        The column of the ids; for GeoJSON a feature's member `id`, if that is the name, or else a property.
    geometry : str
        The column of the geometries: WKB or WKT, for CSV also hexadecimal WKB. Unused for GeoJSON.
    columns : sequence of str
        Further columns or properties to read.
    on_invalid : str
        The treatment of a geometry that is missing, unreadable, out of range or invalid. `make_valid` repairs invalid
        ones with `shapely.make_valid`, keeping areas areas, and refuses the others; `skip` leaves out rows.
    degrees : bool
        Whether coordinates are longitude and latitude, which have a range.
    valid : pair of str or None
        The columns of the times between which a row is valid: [from, to).
    suffix : str, optional
        The suffix that names the format, if it differs from the path's.

    Raises
    ------
    Refused
        When the content is not a table, when a row lacks an id or shares it with a row valid at the same time, or for a
        geometry; and for a coordinate system, see `coordinate_systems.to_query_crs`.
    """
    others = [*dict.fromkeys([*columns, *(name for name in valid if name is not None)])]
    rows = read_columns(path, content, id, geometry, others, suffix)
    parsed = to_query_crs(f"{path}: {geometry}", rows.parsed, rows.declared, degrees)
    bounds = [rows.ids if name == id else rows.columns[name] if name else None for name in valid]
    validity = valid_times(str(path), bounds, valid)
    ids = _checked_ids(path, rows, id, validity)
    wheres = [f"{path}: {rows.unit} {number + 1} ({id} {value})" for number, value in enumerate(ids.to_pylist())]
    shapes, invalid = check(parsed, degrees, on_invalid == "make_valid")
    faults = _faults(rows, invalid)
    remedy = _REMEDY + ("skip" if on_invalid == "make_valid" else "make_valid or skip")
    problems = [Problem(wheres[row], fault, remedy) for row, fault in faults.items()]
    if problems and on_invalid != "skip":
        more = len(problems) - _MOST_PROBLEMS
        raise Refused(problems[:_MOST_PROBLEMS] + [Problem(str(path), f"{more:,} more", remedy)] * (more > 0))
    is_kept = np.ones(len(shapes), bool)
    is_kept[list(faults)] = False
    kept = pa.array(is_kept)
    columns_of, texts = ({name: each.filter(kept) for name, each in of.items()} for of in (rows.columns, rows.texts))
    valid_of = None if validity is None else validity.take(is_kept)
    return DimensionTable(ids.filter(kept), shapes[is_kept], columns_of, texts, tuple(problems), valid_of)


def _checked_ids(path: Location | DatabaseTable, rows: TableColumns, id: str, validity: ValidTimes | None) -> pa.Array:
    """Return the ids as int64 or string, without nulls, and distinct among rows that are valid at the same time."""
    where, ids = f"{path}: {id}", rows.ids
    if pa.types.is_dictionary(ids.type):
        ids = ids.dictionary_decode()
    if ids.null_count:
        first = pc.index(ids.is_null(), True).as_py() + 1
        raise refuse(
            where, f"{rows.unit} {first} has no id ({ids.null_count:,} of {len(ids):,} have none)", "an id each"
        )
    if not is_text(ids.type) and not pa.types.is_integer(ids.type) and not pa.types.is_null(ids.type):
        raise refuse(where, f"ids are of the type {ids.type}", "integers or texts")
    try:
        if not pa.types.is_null(ids.type):
            ids = ids.cast(pa.string() if is_text(ids.type) else pa.int64())
    except pa.ArrowInvalid:
        raise refuse(where, "an id is 2**63 or more", "integers below 2**63, or texts") from None
    if validity is not None:
        if (both := validity.overlap(unify([ids])[1][0])) is not None:
            first, second = (row + 1 for row in both)
            fault = f"{rows.unit}s {first} and {second} with the id {ids[both[0]]} are valid at the same time"
            raise refuse(where, fault, "validities of one id that do not overlap: [from, to)")
        return ids
    counts = ids.value_counts()
    repeated = counts.field("values").filter(pc.greater(counts.field("counts"), 1))
    if len(repeated):
        value = repeated[0]
        first, second = np.flatnonzero(pc.equal(ids, value).to_numpy(zero_copy_only=False))[:2] + 1
        raise refuse(where, f"{rows.unit}s {first} and {second} have the same id {value}", "an id for one row only")
    return ids


def _faults(rows: TableColumns, invalid: Mapping[int, str]) -> dict[int, str]:
    """Return the fault of each faulty row's geometry, in order."""
    faults = {row: _FAULTS.get(fault) or f"its geometry {fault}" for row, fault in invalid.items()}
    faults |= dict.fromkeys(np.flatnonzero(~rows.is_given).tolist(), "it has no geometry")
    return dict(sorted(faults.items()))
