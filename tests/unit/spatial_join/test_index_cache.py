"""`IndexCache`: an index lives as long as its chunk is in the state, if there is room."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
import shapely

from tailrace.operators.chunk import Chunk
from tailrace.spatial_join.geometry.geometries import Geometries, Points, Shaped
from tailrace.spatial_join.geometry.metrics import Planar
from tailrace.spatial_join.search.condition import Condition
from tailrace.spatial_join.search.pair_search import LocalIndex
from tailrace.spatial_join.streams.stream_join import IndexCache

NEAR = Condition("dwithin", 1.0, Planar())
OF_TEN = LocalIndex.from_geometries(Points(np.zeros(10), np.zeros(10)), NEAR).nbytes


class Cache:
    """A cache, and the chunks that were indexed: each of ten points."""

    def __init__(self, most: float) -> None:
        self.cache, self.made = IndexCache(int(most * OF_TEN)), []

    def batch(self, owner: str, names: str, near: str | None = None) -> list[LocalIndex | None]:
        """The indexes of chunks of one letter each; `_` is one without a source, and only some are near."""
        self.made = []
        chunks = [Chunk(pa.record_batch({"name": [name]}), None, None if name == "_" else name) for name in names]
        return self.cache.indexes(owner, chunks, [near is None or name in near for name in names], self._make)

    def _make(self, chunk: Chunk) -> LocalIndex:
        self.made.append(chunk.rows.column("name")[0].as_py())
        return LocalIndex.from_geometries(Points(np.zeros(10), np.zeros(10)), NEAR)


def test_a_chunk_is_indexed_once_while_it_is_in_the_state():
    cache = Cache(100)
    first = cache.batch("left", "abc")
    assert cache.made == ["a", "b", "c"]
    assert cache.batch("left", "bcd")[:2] == first[1:]
    assert cache.made == ["d"]
    cache.batch("left", "abcd")
    assert cache.made == ["a"], "one that was gone is indexed again"


def test_each_side_of_each_state_has_its_own():
    cache = Cache(100)
    cache.batch("left", "ab")
    cache.batch("right", "ab")
    assert cache.made == ["a", "b"]
    cache.batch("left", "ab")
    assert cache.made == []


def test_what_is_not_near_is_not_indexed_and_not_dropped():
    cache = Cache(100)
    (index,) = cache.batch("left", "a")
    assert cache.batch("left", "ab", near="") == [index, None]
    assert cache.made == []
    assert cache.batch("left", "ab")[0] is index
    assert cache.made == ["b"]


def test_rows_of_no_state_are_not_cached():
    cache = Cache(100)
    for _ in range(2):
        cache.batch("left", "a_")
    assert cache.made == ["_"]


def test_the_oldest_chunks_stay_where_there_is_no_room_for_all():
    cache = Cache(2)
    for _ in range(3):
        assert all(cache.batch("left", "abcd"))
    assert cache.made == ["c", "d"]


def test_the_state_that_was_used_last_has_the_room():
    cache = Cache(3.5)
    cache.batch("left", "ab")
    cache.batch("right", "cd")
    cache.batch("right", "cd")
    assert cache.made == []
    cache.batch("left", "ab")
    assert cache.made == ["b"]
    cache.batch("right", "cd")
    assert cache.made == ["d"]


@pytest.mark.parametrize(
    ("geometries", "least"),
    [
        (Points(np.zeros(1000), np.zeros(1000)), 64_000),
        (Shaped(np.array([shapely.Point(0, 0).buffer(1, quad_segs=64)] * 10)), 16 * 10 * 256),
        (Shaped(np.array([shapely.Polygon()] * 10)), 5_000),
    ],
    ids=["points", "vertices", "empty"],
)
def test_the_memory_of_an_index_is_counted(geometries: Geometries, least: int):
    assert least <= LocalIndex.from_geometries(geometries, NEAR).nbytes <= 5 * least


def test_two_threads_do_not_change_it_at_once():
    """The cache asks for the size of an index only while it holds its lock."""
    cache, locked = IndexCache(1 << 20), []

    class Index:
        @property
        def nbytes(self) -> int:
            locked.append(cache._lock.locked())
            return 1

    chunk = Chunk(pa.record_batch({"name": ["a"]}), None, "a")
    cache.indexes("left", [chunk], [True], lambda chunk: Index())
    assert locked == [True]
