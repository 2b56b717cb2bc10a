"""The accumulator of approximate distinct counts: theta sketches, whose bytes depend only on the set of values."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
from datasketches import compact_theta_sketch, theta_union, update_theta_sketch

from tailrace.ground.arrow.grouped_rows import GroupedRows
from tailrace.ground.arrow.value_column import Ints, ValueColumn
from tailrace.partition.by_key import hash_of
from tailrace.windows.panes import Arrays

_LG_K = 12
"""A sketch holds the 2¹² least hashes. Up to 2¹² values the count is exact; beyond, it is off by 1.6 % (1/√2¹²)."""


@dataclass(frozen=True)
class DistinctSketch:
    """A sketch of the distinct values: a theta sketch of Apache DataSketches, trimmed to its least hashes.

    The sketch of a union has the least hashes of both (Bar-Yossef et al., Counting Distinct Elements in a Data Stream,
    2002), so the order and grouping of values do not matter. A row is a single value's hash, or a sketch.
    """

    column: str

    @property
    def name(self) -> str:
        return f"{self.column}:sketch"

    @property
    def _names(self) -> tuple[str, str]:
        return f"{self.name}:is_one", f"{self.name}:hash"

    @property
    def types(self) -> dict[str, pa.DataType]:
        return dict.fromkeys(self._names, pa.int64()) | {self.name: pa.binary()}

    def lift(self, values: ValueColumn, tuples: pa.RecordBatch) -> Arrays:
        is_one, hash_ = self._names
        none = np.full(len(values.column), b"", object)
        return {is_one: values.is_value.astype(np.int64), hash_: _hashes(values), self.name: none}

    def merge(self, rows: GroupedRows, columns: Arrays) -> Arrays:
        is_one, hash_ = self._names
        ones = np.flatnonzero(columns[is_one])
        order = np.argsort(rows.group[ones], kind="stable")
        bounds = np.searchsorted(rows.group[ones][order], np.arange(len(rows) + 1))
        hashes = columns[hash_][ones][order]
        unions: dict[int, theta_union] = {}
        for group in np.flatnonzero(np.diff(bounds)).tolist():
            sketch = update_theta_sketch(_LG_K)
            for value in np.unique(hashes[bounds[group] : bounds[group + 1]]).tolist():
                sketch.update(value)
            sketch.trim()
            unions[group] = theta_union(_LG_K)
            unions[group].update(sketch)
        texts, merged = columns[self.name], np.full(len(rows), b"", object)
        sketches = np.flatnonzero(texts != b"")
        in_group = np.bincount(rows.group[sketches], minlength=len(rows))
        for row in sketches.tolist():
            group = int(rows.group[row])
            if in_group[group] == 1 and group not in unions:
                merged[group] = texts[row]
                continue
            union = unions.setdefault(group, theta_union(_LG_K))
            union.update(compact_theta_sketch.deserialize(texts[row]))
        for group, union in unions.items():
            merged[group] = union.get_result().serialize()
        nothing = np.zeros(len(rows), np.int64)
        return {is_one: nothing, hash_: nothing, self.name: merged}

    def counts(self, columns: Arrays) -> Ints:
        """Return the estimate of each sketch, rounded; shape (m,)."""
        sketches = (compact_theta_sketch.deserialize(text) if text else None for text in columns[self.name].tolist())
        return np.array([0 if each is None else round(each.get_estimate()) for each in sketches], np.int64)


def _hashes(values: ValueColumn) -> Ints:
    """Return 64-bit hashes, shape (n,); equal values, including −0.0 and 0.0, have equal hashes."""
    stored = values.objects
    if stored.dtype == np.float64:
        stored = (stored + 0.0).view(np.int64)
    if stored.dtype == np.int64:
        return hash_of(pa.array(stored)).view(np.int64)
    texts = [each.hex() if isinstance(each, bytes) else each for each in stored.tolist()]
    return hash_of(pa.array(texts, pa.string())).view(np.int64)
