"""The local indexes of stored chunks: a process indexes a chunk once, not in each batch."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass, field
from threading import Lock

from tailrace.operators.chunk import Chunk
from tailrace.spatial_join.pair_search import LocalIndex


@dataclass(frozen=True, eq=False)
class IndexCache:
    """Indexes of the chunks of states. No answer depends on it: a missing index is built again.

    An index is dropped when its state no longer has its chunk, or when room is short. Then the most recently used
    states keep their indexes, and within a state its oldest chunks, which are large and stay longest.

    Attributes
    ----------
    most_bytes : int
        The memory that the indexes may take, as measured by `LocalIndex.nbytes`.
    """

    most_bytes: int
    _by_owner: dict[Hashable, dict[Hashable, LocalIndex]] = field(default_factory=dict)
    _lock: Lock = field(default_factory=Lock)  # the tasks of one process run in threads

    def indexes(
        self, owner: Hashable, chunks: Sequence[Chunk], near: Sequence[bool], make: Callable[[Chunk], LocalIndex]
    ) -> list[LocalIndex | None]:
        """Return the indexes of all chunks of a side of a state; a chunk that is not near has none unless it is cached.

        Parameters
        ----------
        owner : hashable
            A key that identifies the side and its state.
        make : callable
            A function that indexes a chunk.
        """
        with self._lock:
            cached = self._by_owner.pop(owner, {})
        indexes = [
            cached.get(chunk.source) or (make(chunk) if is_near else None)
            for chunk, is_near in zip(chunks, near, strict=True)
        ]
        held = {
            chunk.source: index
            for chunk, index in zip(chunks, indexes, strict=True)
            if chunk.source is not None and index is not None
        }
        with self._lock:
            self._by_owner[owner] = held
            self._make_room()
        return indexes

    def _make_room(self) -> None:
        room = self.most_bytes
        for owner, indexes in reversed(list(self._by_owner.items())):
            for source, index in list(indexes.items()):
                room -= index.nbytes
                if room < 0:
                    del indexes[source]
            if not indexes:
                del self._by_owner[owner]


INDEXES = IndexCache(1 << 28)
"""The cache of this process: a Spark worker lives across batches, and restores the state in each."""
