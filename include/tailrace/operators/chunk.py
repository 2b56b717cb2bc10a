"""Chunks: the immutable parts of a large state. A batch writes those that are new, and names the others."""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass

import pyarrow as pa


@dataclass(frozen=True, eq=False)
class Chunk:
    """Rows of a state that never change.

    Attributes
    ----------
    name : str or None
        Its name in the task's store of chunks; None before it is stored.
    source : hashable or None
        What it has in common with no other chunk of this process, but with itself in another batch: so an index of its
        rows can be cached. None for rows that belong to no state.
    """

    rows: pa.RecordBatch
    name: str | None = None
    source: Hashable | None = None


Chunks = Mapping[str, tuple[Chunk, ...]]
"""The chunks of a state by the part of it that they hold."""


def chunks_of(state: object) -> Chunks:
    """Return the chunks of a state; none of one that has all its rows in the batches of its `to_arrow`."""
    chunks: Chunks = getattr(state, "chunks", {})
    return chunks
