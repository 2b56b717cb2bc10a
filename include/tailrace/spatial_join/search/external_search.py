"""Search in a table by the spatial join of an external engine, for the paper's variant by GeoMesa (003)."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from threading import Lock
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
import shapely

from tailrace.spatial_join.geometry.geometries import Geometries, Points, Shapes, geometries_of
from tailrace.spatial_join.search.condition import Condition
from tailrace.spatial_join.search.external_engine import engine_of, extension_file
from tailrace.spatial_join.search.pairs import NO_PAIRS, Pairs

if TYPE_CHECKING:
    from duckdb import DuckDBPyConnection as Connection

BLOCK = 1 << 17
"""The number of a stream's geometries in one statement."""

TESTED = 1 << 16
"""The number of candidates that are tested at once."""

_SHAPES = "SELECT row, ST_GeomFromWKB(shape) AS place FROM given"
_POINTS = "SELECT row, ST_Point(x, y) AS place FROM given"
_BOXES = "SELECT row, ST_MakeEnvelope(west, south, east, north) AS place FROM given"

_JOIN = """
SELECT DISTINCT given.row, rows.row
FROM ({given}) AS given JOIN rows ON {function}(given.place, rows.place)
ORDER BY ALL
"""


@dataclass(frozen=True, eq=False)
class ExternalSearch:
    """Finds the rows of a table to which geometries are related; an empty geometry is related to none.

    It can be pickled. A process has one engine. The first search copies the table into it, where it stays as long as
    this object lives. Each statement builds the R-tree of the rows.

    Attributes
    ----------
    table : Geometries
    condition : Condition
    """

    table: Geometries
    condition: Condition
    _connections: dict[int, Connection] = field(default_factory=dict, init=False, repr=False)
    _lock: Lock = field(default_factory=Lock, init=False, repr=False)

    @staticmethod
    def from_shapes(shapes: Shapes, condition: Condition) -> ExternalSearch:
        """Prepare a search for the rows of a table that fulfil a condition with a stream's geometries.

        For a distance, the engine finds candidates by widened boxes, and the condition decides because it knows the
        metric.

        Parameters
        ----------
        shapes : ndarray of shapely geometries, shape (r,)
            The rows; valid or empty, never None.
        condition : Condition

        Raises
        ------
        Refused
            When the engine is not installed.
        """
        extension_file()
        return ExternalSearch(geometries_of(shapes), condition)

    def __reduce__(self) -> tuple[Any, ...]:
        return ExternalSearch, (self.table, self.condition)

    def matches(self, left: Geometries) -> Pairs:
        """Find the pairs of a geometry and a row, ascending by the geometry, then by the row."""
        parts = [NO_PAIRS]
        with self._lock:  # a connection has one result at a time
            connection = self._connection()
            for first in range(0, len(left), BLOCK):
                pairs = self._find(connection, left.take(slice(first, first + BLOCK)))
                parts.append(Pairs(pairs.left + first, pairs.right))
        return Pairs.joined(parts)

    def _find(self, connection: Connection, block: Geometries) -> Pairs:
        if self.condition.limit is None:
            function = f"ST_{self.condition.relation.replace('_', '')}"
            if isinstance(block, Points):
                columns = {"row": np.arange(len(block)), "x": block.x, "y": block.y}
                return _joined(connection, columns, _POINTS, function)
            return _joined(connection, _shape_columns(block.shapes), _SHAPES, function)
        bounds, row = self.condition.boxes(block.bounds)
        sides = dict(zip(("west", "south", "east", "north"), bounds.T, strict=True))
        candidates = _joined(connection, {"row": row, **sides}, _BOXES, "ST_Intersects_Extent")
        return self._tested(block, candidates)

    def _tested(self, block: Geometries, candidates: Pairs) -> Pairs:
        """Return the candidates that fulfil the condition, without holding all of them as geometries at once."""
        is_pair = np.zeros(len(candidates.left), bool)
        for first in range(0, len(is_pair), TESTED):
            left, row = (side[first : first + TESTED] for side in candidates)
            is_pair[first : first + TESTED] = self.condition.holds(block.take(left), self.table.take(row))
        return candidates.take(is_pair)

    def _connection(self) -> Connection:
        """Return this process's connection, with the rows that are not empty in the table `rows`."""
        process = os.getpid()
        if process not in self._connections:
            connection = engine_of(process).cursor()
            connection.register("given", pa.table(_shape_columns(self.table.shapes)))
            connection.execute(f"CREATE TEMPORARY TABLE rows AS {_SHAPES}")
            self._connections[process] = connection
        return self._connections[process]


def _joined(connection: Connection, columns: dict[str, Any], given: str, function: str) -> Pairs:
    """Return the distinct pairs of given geometries and rows that a function of the engine relates, in order."""
    connection.register("given", pa.table(columns))
    left, right = connection.execute(_JOIN.format(given=given, function=function)).to_arrow_table().columns
    connection.unregister("given")
    return Pairs(left.to_numpy(), right.to_numpy())


def _shape_columns(shapes: Shapes) -> dict[str, Any]:
    """Return the geometries that are not empty as WKB, and their rows."""
    row = np.flatnonzero(~shapely.is_empty(shapes))
    return {"row": row, "shape": pa.array(shapely.to_wkb(shapes[row]), pa.binary())}
