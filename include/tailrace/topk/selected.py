"""The columns that `select` adds to rankings: they are carried with a tuple, and do not affect its rank.

Windows are answered in numpy, which has no nulls. There a column consists of numbers with a mask, or of objects, so
that each type is restored unchanged.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import numpy as np
import pyarrow as pa

from tailrace.topk.section import PREFIX

_HAS = ":has"


class Payload(tuple[object, ...]):
    """The stored values of a candidate.

    They compare equal to any others, as scores and ids alone determine a ranking.
    """

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return True

    def __lt__(self, other: object) -> bool:
        return False

    __hash__ = tuple.__hash__


@dataclass(frozen=True)
class SelectedColumns:
    """Selected columns.

    Attributes
    ----------
    types : dict
        The types of carried columns, by name in answers.
    """

    types: Mapping[str, pa.DataType] = field(default_factory=dict)

    @property
    def stored(self) -> dict[str, pa.DataType]:
        """The columns of rows that store them, by name."""
        stored: dict[str, pa.DataType] = {}
        for name, dtype in self.types.items():
            stored[PREFIX + name] = _stored_type(dtype)
            if not _is_object(dtype):
                stored[PREFIX + name + _HAS] = pa.int64()
        return stored

    def store(self, tuples: pa.RecordBatch) -> dict[str, pa.Array]:
        """Return the stored columns of tuples, whose columns have prefixed names."""
        stored: dict[str, pa.Array] = {}
        for name, dtype in self.types.items():
            column = tuples.column(PREFIX + name)
            if _is_object(dtype):
                stored[PREFIX + name] = column
                continue
            narrow = column.cast(pa.int32()) if pa.types.is_date32(dtype) else column
            stored[PREFIX + name] = narrow.cast(_stored_type(dtype)).fill_null(0)
            stored[PREFIX + name + _HAS] = column.is_valid().cast(pa.int64())
        return stored

    def restore(self, rows: pa.RecordBatch, name: str) -> pa.Array:
        """Return a column of answers, by name, from the stored columns of rows."""
        dtype, values = self.types[name], rows.column(PREFIX + name)
        if _is_object(dtype):
            return values.cast(dtype)
        is_null = np.asarray(rows.column(PREFIX + name + _HAS)) == 0
        values = pa.array(np.asarray(values), mask=is_null)
        return (values.cast(pa.int32()) if pa.types.is_date32(dtype) else values).cast(dtype)


def _is_object(dtype: pa.DataType) -> bool:
    """Test whether numpy represents the values of a type as objects, with None for null."""
    return bool(pa.types.is_string(dtype) or pa.types.is_decimal(dtype))


def _stored_type(dtype: pa.DataType) -> pa.DataType:
    if _is_object(dtype):
        return dtype
    return pa.float64() if pa.types.is_floating(dtype) else pa.int64()
