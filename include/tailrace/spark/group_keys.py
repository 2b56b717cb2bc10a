"""A group key for each task, so that Spark's hash partitioning puts no two tasks on the same partition."""

from __future__ import annotations

from itertools import count

_SEED = 42
_MASK = 0xFFFFFFFF


def group_keys(tasks: int) -> list[int]:
    """Return the smallest non-negative integer that Spark places on each of `tasks` partitions.

    Spark places a group by the hash of its key modulo the number of partitions, and the hashes of 0 and 1 may be the
    same modulo `tasks`. They are computed here, since a first SQL statement costs seconds.
    """
    keys: dict[int, int] = {}
    candidates = count()
    while len(keys) < tasks:
        key = next(candidates)
        keys.setdefault(spark_hash(key) % tasks, key)
    return [keys[task] for task in range(tasks)]


def spark_hash(value: int) -> int:
    """Return the hash of a 32-bit integer by Spark's SQL function `hash`: Murmur3 (x86, 32 bits), seed 42; signed."""
    k = value * 0xCC9E2D51 & _MASK
    k = _rotated(k, 15) * 0x1B873593 & _MASK
    h = (_rotated(_SEED ^ k, 13) * 5 + 0xE6546B64) & _MASK
    h ^= 4  # the length of the input in bytes
    h = (h ^ h >> 16) * 0x85EBCA6B & _MASK
    h = (h ^ h >> 13) * 0xC2B2AE35 & _MASK
    h ^= h >> 16
    return h - (1 << 32) if h >> 31 else h


def _rotated(word: int, bits: int) -> int:
    return (word << bits | word >> 32 - bits) & _MASK
