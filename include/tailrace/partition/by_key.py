"""Hash partitioning of keys to tasks.

The hash is the same in every process and version, so that states fit.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tailrace.ground.arrow.columns import unify
from tailrace.ground.arrow.value_column import ValueColumn, is_of_64_bits
from tailrace.ground.facts import Facts
from tailrace.partition.routes import Routes

_BASE = np.uint64(0x100000001B3)


class ByKey:
    """The partitioning by the hash of a row's key: all rows of a key go to one task. It needs no plan."""

    needs_earlier_plans = False

    def assign(self, side: int, rows: pa.RecordBatch, plans: Facts, tasks: int) -> Routes:
        key = rows.column("key")
        keys, code = (key.dictionary, np.asarray(key.indices)) if pa.types.is_dictionary(key.type) else _encode(key)
        task = task_of(keys, tasks)[code]
        return Routes(np.arange(rows.num_rows), task, np.ones(rows.num_rows, bool))


def _encode(key: pa.Array) -> tuple[pa.Array, NDArray[np.int64]]:
    keys, (code,) = unify([key])
    return keys, code


def task_of(keys: pa.Array, tasks: int) -> NDArray[np.int64]:
    """Assign a task to each key (a string, integer, boolean, date, timestamp or null); shape (n,)."""
    return (hash_of(keys) % np.uint64(tasks)).astype(np.int64)


def hash_of(keys: pa.Array) -> NDArray[np.uint64]:
    """Hash each key to a pseudo-random 64-bit integer, shape (n,)."""
    return _mix(_fold(keys))


def _fold(keys: pa.Array) -> NDArray[np.uint64]:
    """Map each key to an integer: a string to a polynomial of its bytes, null to 0, others to their stored integer."""
    if is_of_64_bits(keys.type):
        return ValueColumn(keys).integers.view(np.uint64)
    binary = pc.fill_null(keys.cast(pa.large_string()), "").cast(pa.large_binary())
    if isinstance(binary, pa.ChunkedArray):
        binary = binary.combine_chunks()
    offsets = np.frombuffer(binary.buffers()[1], np.int64)[binary.offset : binary.offset + len(binary) + 1]
    if not len(binary) or offsets[0] == offsets[-1]:
        return np.zeros(len(binary), np.uint64)
    data = np.frombuffer(binary.buffers()[2], np.uint8)[offsets[0] : offsets[-1]].astype(np.uint64)
    length = np.diff(offsets)
    index = np.arange(len(data)) - np.repeat(offsets[:-1] - offsets[0], length)
    powers = np.cumprod(np.full(int(length.max()), _BASE, np.uint64))
    sums = np.concatenate([[np.uint64(0)], np.cumsum((data + np.uint64(1)) * powers[index])])
    return np.asarray(sums[offsets[1:] - offsets[0]] - sums[offsets[:-1] - offsets[0]])


def _mix(number: NDArray[np.uint64]) -> NDArray[np.uint64]:
    """Apply the finalizer of splitmix64, which spreads neighbouring numbers over different tasks."""
    number = (number + np.uint64(0x9E3779B97F4A7C15)).astype(np.uint64)
    number = (number ^ (number >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    number = (number ^ (number >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return number ^ (number >> np.uint64(31))
