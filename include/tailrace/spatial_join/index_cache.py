"""The local indexes of stored chunks: a process indexes a chunk once, and not anew in each batch."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field

import shapely

from tailrace.operators.chunk import Chunk
from tailrace.spatial_join.condition import Condition
from tailrace.spatial_join.geometries import Geometries, Points
from tailrace.spatial_join.geometry_input import GeometryInput
from tailrace.spatial_join.pair_search import LocalIndex

_OF_A_POINT = 128
_OF_A_SHAPE, _OF_A_VERTEX = 640, 16
"""Bytes of an indexed geometry: with its rows, its tree, and its objects in Python and GEOS."""


@dataclass(eq=False)
class IndexCache:
    """Indexes of chunks, by what identifies their rows. No answer depends on it: what it lacks is indexed anew.

    Attributes
    ----------
    most_bytes : int
        The memory that indexes take. Where one more would exceed it, all are dropped: most are of chunks that are gone.
    """

    most_bytes: int
    _indexes: dict[Hashable, LocalIndex] = field(default_factory=dict)
    _bytes: int = 0

    def index(self, chunk: Chunk, geometry: GeometryInput, condition: Condition) -> LocalIndex:
        """The index of a chunk's geometries for a condition; it is cached if the chunk belongs to a state."""
        key = (chunk.source, geometry, condition)
        known = None if chunk.source is None else self._indexes.get(key)
        if known is not None:
            return known
        index = LocalIndex.of(geometry.geometries(chunk.rows), condition)
        size = _bytes_of(index.geometries)
        if chunk.source is not None and size <= self.most_bytes:
            if self._bytes + size > self.most_bytes:
                self._indexes.clear()
                self._bytes = 0
            self._indexes[key] = index
            self._bytes += size
        return index


INDEXES = IndexCache(1 << 28)
"""Those of this process: Spark's workers live from batch to batch, and restore the state in each."""


def _bytes_of(geometries: Geometries) -> int:
    if isinstance(geometries, Points):
        return _OF_A_POINT * len(geometries)
    return _OF_A_SHAPE * len(geometries) + _OF_A_VERTEX * int(shapely.get_num_coordinates(geometries.shapes).sum())
