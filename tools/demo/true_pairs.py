"""The true pairs of the demonstration's join of histograms, by brute force over the sources' files.

It shares no code with the platform.
"""

from __future__ import annotations

import numpy as np
import pyarrow.parquet as pq

from tailrace.query.joins import EmdJoinQuery

Pairs = set[tuple[str, str]]


def true_pairs(query: EmdJoinQuery) -> Pairs:
    """Return the ids of all pairs, comparing every left frame with every right one.

    On a line the Earth Mover's Distance is the sum of the absolute differences of the cumulated shares.
    """
    left_ids, left_ms, left = _frames(query, "left")
    right_ids, right_ms, right = _frames(query, "right")
    pairs: Pairs = set()
    for name, time, cumulated in zip(left_ids, left_ms, left, strict=True):
        distances = np.abs(right - cumulated).sum(axis=1) / query.emd_join.scale
        is_pair = (np.abs(right_ms - time) <= query.window.size_ms) & (distances <= query.emd_join.threshold + 1e-9)
        pairs |= {(name, right_ids[index]) for index in np.flatnonzero(is_pair).tolist()}
    return pairs


def _frames(query: EmdJoinQuery, side: str) -> tuple[list[str], np.ndarray, np.ndarray]:
    """Return the ids, the event times in ms and the cumulated shares of a stream's frames."""
    stream = query.streams[side]
    rows = pq.read_table(stream.path).to_pylist()
    masses = np.array([row[query.emd_join.histogram] for row in rows])
    event_ms = np.array([round(row[stream.event_time].timestamp() * 1000) for row in rows])
    shares = masses / masses.sum(axis=1, keepdims=True)
    return [row[stream.id] for row in rows], event_ms, np.cumsum(shares, axis=1)
