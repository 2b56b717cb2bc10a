"""The dimension table of a stream–table join (paper 003, definition 3): rows with ids and checked geometries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tailrace.ground.errors import Problem, Refused, refuse
from tailrace.ground.object_path import Location
from tailrace.spatial_join.geometries import Geometries, Shapes, geometries_of
from tailrace.spatial_join.table_file import TableColumns, is_text, read_columns
from tailrace.spatial_join.table_section import OnInvalid
from tailrace.spatial_join.validity import FAR, INFINITE, check

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
        int64 or string; distinct, none is null. Of the type null where there is no row.
    shapes : ndarray of shapely geometries, shape (n,)
        In the plane; valid or empty.
    columns : dict of str to Array
        The other columns that were asked for.
    texts : dict of str to Array
        Of CSV these as texts; of another format none.
    skipped : tuple of Problem
        The rows that were left out, and why.
    """

    ids: pa.Array
    shapes: Shapes
    columns: Mapping[str, pa.Array]
    texts: Mapping[str, pa.Array]
    skipped: tuple[Problem, ...] = ()

    def values(self, name: str, dtype: pa.DataType, rows: pa.Array) -> pa.Array:
        """Return the values of a column in some rows, in the type of the first version.

        This one may have a narrower type, or integers for doubles. Texts of CSV stay as they are, also where each of
        them is a number here.
        """
        column = self.texts.get(name, self.columns[name]) if pa.types.is_string(dtype) else self.columns[name]
        values = column.take(rows)
        try:
            return values.cast(dtype, safe=not pa.types.is_floating(dtype))
        except pa.ArrowInvalid as error:
            if pa.types.is_timestamp(dtype):  # of a stream that began when times of CSV were no texts
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
    path: Location,
    content: bytes,
    id: str = "id",
    geometry: str = "geometry",
    columns: Sequence[str] = (),
    on_invalid: OnInvalid = "refuse",
    degrees: bool = True,
) -> DimensionTable:
    """Parse the content of a table's file: GeoJSON, (Geo)Parquet or CSV.

    Parameters
    ----------
    path : Path or ObjectPath
        The file, whose suffix names the format.
    content : bytes
    id : str
        The column of the ids; of GeoJSON the member `id` of a feature, if that is the name, or else a property.
    geometry : str
        The column of the geometries: WKB, or WKT, or of CSV also WKB in hexadecimal digits. Not of GeoJSON.
    columns : sequence of str
        Other columns, or properties, to take along.
    on_invalid : str
        What becomes of a geometry that is missing, unreadable, out of range or invalid. `make_valid` mends the invalid
        ones with `shapely.make_valid`, areas so that they stay areas, and refuses the others; `skip` leaves out rows.
    degrees : bool
        Whether coordinates are longitude and latitude, which have a range.

    Raises
    ------
    Refused
        For what is no table, for rows without an id or with one that another row has, and for geometries.
    """
    rows = read_columns(path, content, id, geometry, columns)
    ids = _checked_ids(path, rows, id)
    wheres = [f"{path}: {rows.unit} {number + 1} ({id} {value})" for number, value in enumerate(ids.to_pylist())]
    shapes, invalid = check(rows.parsed, degrees, on_invalid == "make_valid")
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
    return DimensionTable(ids.filter(kept), shapes[is_kept], columns_of, texts, tuple(problems))


def _checked_ids(path: Location, rows: TableColumns, id: str) -> pa.Array:
    """The ids as int64 or string, none null and none twice."""
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
    counts = ids.value_counts()
    repeated = counts.field("values").filter(pc.greater(counts.field("counts"), 1))
    if len(repeated):
        value = repeated[0]
        first, second = np.flatnonzero(pc.equal(ids, value).to_numpy(zero_copy_only=False))[:2] + 1
        raise refuse(where, f"{rows.unit}s {first} and {second} have the same id {value}", "an id for one row only")
    return ids


def _faults(rows: TableColumns, invalid: Mapping[int, str]) -> dict[int, str]:
    """By row, in order, what is wrong with its geometry."""
    faults = {row: _FAULTS.get(fault) or f"its geometry {fault}" for row, fault in invalid.items()}
    faults |= dict.fromkeys(np.flatnonzero(~rows.is_given).tolist(), "it has no geometry")
    return dict(sorted(faults.items()))
