"""Finds tuples that repeat an id, with the same content as the first tuple of the id, or with other content.

Only the first counts, so the content of the others appears in no corrected answer.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from tailrace.ground.arrow.columns import Ints, unify
from tailrace.ground.arrow.times import ARRIVAL_US
from tailrace.ground.words import counted

Content = Literal["equal", "other"]
EQUAL: Content = "equal"
OTHER: Content = "other"
NOT_CONTENT = frozenset({"id", "tick", "end", "arrival_time", ARRIVAL_US, "position", "row"})
"""The columns with a tuple's time, place in the log, and id, which are not its content."""


def find_repeats(tuples: pa.RecordBatch) -> dict[Content, Ints]:
    """Return the rows of the repeats, separately for equal and for other content than the first arrival of the id.

    Parameters
    ----------
    tuples : RecordBatch
        With `id`; with `tick`, `arrival_time`, `ARRIVAL_US` and `position`, which order the arrivals; and with the
        columns of the content.

    Returns
    -------
    dict
        Rows of repeats with equal and with other content, ordered by their positions.
    """
    (code,) = unify([tuples.column("id")])[1]
    position = np.asarray(tuples.column("position"))
    came = (np.asarray(tuples.column(name)) for name in (ARRIVAL_US, "arrival_time", "tick"))
    order = np.lexsort([position, *came, code])
    starts = np.flatnonzero(np.diff(code[order], prepend=-1))
    first = order[np.repeat(starts, np.diff(starts, append=len(order)))]
    is_repeat = order != first
    rows, first = order[is_repeat], first[is_repeat]
    differs = np.zeros(len(rows), bool)
    for name in tuples.schema.names:
        if name not in NOT_CONTENT and len(rows):
            column = tuples.column(name)
            differs |= _differ(column.take(pa.array(rows)), column.take(pa.array(first)))
    by_content: dict[Content, Ints] = {EQUAL: rows[~differs], OTHER: rows[differs]}
    return {content: found[np.argsort(position[found])] for content, found in by_content.items()}


@dataclass(frozen=True)
class RepeatedIds:
    """The number of records of a stream that repeat an id with equal or other content, and the place of the first."""

    content: Content
    number: int
    place: str

    def words(self, once: str = "") -> str:
        """Return a sentence about them; `once` adds from when on only the first counts."""
        repeat = f"{counted(self.number, 'record')} {'repeats' if self.number == 1 else 'repeat'}"
        example = f"it is {self.place}" if self.number == 1 else f"the first of them is {self.place}"
        return f"{repeat} an id with {self.content} content: the first counts{once}; {example}"


def _differ(values: pa.Array, others: pa.Array) -> NDArray[np.bool_]:
    """Test which values are not the same; null and NaN are values like any other."""
    if pa.types.is_null(values.type):
        return np.zeros(len(values), bool)
    if pa.types.is_nested(values.type):  # Arrow compares no lists; as texts, NaN is like NaN
        texts = (map(repr, each.to_pylist()) for each in (values, others))
        return np.array([one != other for one, other in zip(*texts, strict=True)], bool)
    differs = np.asarray(pc.fill_null(pc.not_equal(values, others), False))
    if pa.types.is_floating(values.type):
        differs &= ~np.asarray(pc.fill_null(pc.and_(pc.is_nan(values), pc.is_nan(others)), False))
    return np.asarray(differs | (np.asarray(values.is_valid()) != np.asarray(others.is_valid())))
