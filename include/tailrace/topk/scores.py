"""The scores that rank tuples, each in its own type: how they are stored, compared and answered.

Rows inside store doubles as doubles; booleans, integers, dates, timestamps and decimals of up to 18 digits as 64-bit
integers in the same order; longer decimals as bytes in the same order; and texts as they are. So no score is rounded.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tailrace.ground.value_column import ValueColumn, restored, stored_type

Numbers = NDArray[np.int64] | NDArray[np.float64]


class Reversed:
    """A text or bytes in descending order."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value

    def __lt__(self, other: Reversed) -> bool:
        return bool(other.value < self.value)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Reversed) and bool(self.value == other.value)

    def __hash__(self) -> int:
        return hash(self.value)


@dataclass(frozen=True)
class Scores:
    """The scores of a query.

    Attributes
    ----------
    dtype : DataType
        Their type in answers.
    descending : bool
        Whether the largest come first.
    """

    dtype: pa.DataType = pa.float64()  # noqa: RUF009 (frozen)
    descending: bool = True

    @property
    def stored(self) -> pa.DataType:
        """The type in which rows store them."""
        return stored_type(self.dtype)

    def store(self, column: pa.Array) -> pa.Array:
        """Return scores as rows store them."""
        if column.type == self.stored:
            return column
        return pa.array(ValueColumn(column).objects, self.stored)

    def restore(self, rows: pa.Array) -> pa.Array:
        """Return scores of rows in their own type."""
        return restored(rows.cast(self.stored), np.zeros(len(rows), bool), self.dtype)

    def worse_of(self, column: pa.Array) -> Numbers:
        """Return numbers in the order of ranks, the best score first, for n scores in their own type."""
        return self._worse(ValueColumn(column).objects if self._are_numbers else _dense_ranks(column))

    def worse(self, stored: NDArray[Any]) -> Numbers:
        """Return numbers in the order of ranks, the best score first, for n stored scores."""
        return self._worse(stored if self._are_numbers else _dense_ranks(pa.array(stored, self.stored)))

    def sort_keys(self, stored: NDArray[Any]) -> list[Any]:
        """Return a sort key of each stored score, the best first, which does not depend on the other scores."""
        if self._are_numbers:
            stored = self._worse(stored)
        values: list[Any] = stored.tolist()
        return [Reversed(value) for value in values] if self.descending and not self._are_numbers else values

    def stored_key(self, key: Any) -> Any:
        """Return a sort key as a state stores it, in the type `stored`."""
        return key.value if isinstance(key, Reversed) else key

    def restored_key(self, value: Any) -> Any:
        """Return the sort key that a state stores as this value."""
        return Reversed(value) if self.descending and not self._are_numbers else value

    def score(self, key: Any) -> Any:
        """Return the stored score that has a sort key."""
        if not self.descending:
            return key
        if isinstance(key, Reversed):
            return key.value
        return ~key if isinstance(key, int) else -key

    @property
    def _are_numbers(self) -> bool:
        return bool(pa.types.is_floating(self.stored) or pa.types.is_integer(self.stored))

    def _worse(self, numbers: NDArray[Any]) -> Numbers:
        if not self.descending:
            return numbers
        return -numbers if numbers.dtype == np.float64 else ~numbers  # ~: the least integer has no negative


def _dense_ranks(column: pa.Array) -> NDArray[np.int64]:
    """Return the ranks of texts, bytes or decimals among their distinct values; text is ordered by code points."""
    return np.asarray(pc.rank(column, tiebreaker="dense")).astype(np.int64)
