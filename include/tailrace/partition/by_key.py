"""Tasks by key: a hash that is the same in every process and every version, so that state stays where it is."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

_BASE = np.uint64(0x100000001B3)


def task_of(keys: pa.Array, tasks: int) -> NDArray[np.int64]:
    """The task, in [0, tasks), of each key: strings, integers or nulls, shape (n,)."""
    return (hash_of(keys) % np.uint64(tasks)).astype(np.int64)


def hash_of(keys: pa.Array) -> NDArray[np.uint64]:
    """A number for each key that looks drawn at random, shape (n,)."""
    return _mix(_fold(keys))


def _fold(keys: pa.Array) -> NDArray[np.uint64]:
    """A number for each key: integers are their own, strings a polynomial over their bytes, null is 0."""
    if pa.types.is_integer(keys.type):
        return np.asarray(keys.cast(pa.int64()).fill_null(0)).view(np.uint64)
    binary = pc.fill_null(keys.cast(pa.large_string()), "").cast(pa.large_binary())
    if isinstance(binary, pa.ChunkedArray):
        binary = binary.combine_chunks()
    offsets = np.frombuffer(binary.buffers()[1], np.int64)[binary.offset : binary.offset + len(binary) + 1]
    if not len(binary) or offsets[0] == offsets[-1]:
        return np.zeros(len(binary), np.uint64)
    data = np.frombuffer(binary.buffers()[2], np.uint8)[offsets[0] : offsets[-1]].astype(np.uint64)
    length = np.diff(offsets)
    place = np.arange(len(data)) - np.repeat(offsets[:-1] - offsets[0], length)
    powers = np.cumprod(np.full(int(length.max()), _BASE, np.uint64))
    sums = np.concatenate([[np.uint64(0)], np.cumsum((data + np.uint64(1)) * powers[place])])
    return np.asarray(sums[offsets[1:] - offsets[0]] - sums[offsets[:-1] - offsets[0]])


def _mix(number: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """The finalizer of splitmix64: neighbouring numbers go to unlike tasks."""
    number = (number + np.uint64(0x9E3779B97F4A7C15)).astype(np.uint64)
    number = (number ^ (number >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    number = (number ^ (number >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return number ^ (number >> np.uint64(31))
