"""Finds and counts the answers that a correction changes: versions that differ from earlier ones."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tailrace.answers.identity import Identity
from tailrace.answers.versions import without_retracted
from tailrace.ground.arrow import matching
from tailrace.ground.arrow.matching import select

_TOLERANCE = 1e-9  # tolerance of doubles, as sums depend on the order of values
_NEAR_ZERO = 1e-12  # the same, if values cancel out


def count_changed(
    identity: Identity, row_identity: Sequence[str], content: pa.Schema, rows: pa.Table, versions: pa.Table
) -> int:
    """Count the answers that are new or differ from the versions in force; retractions are not counted.

    Parameters
    ----------
    identity, row_identity
        As in the kind's answer model.
    content : Schema
        The columns that are compared.
    rows : Table
        The next versions of some answers, with `retracted`.
    versions : Table
        All earlier versions of at least these answers.
    """
    now, before = without_retracted(rows), without_retracted(identity.latest(versions))
    is_changed = find_changed(identity, row_identity, content, now, before)
    return int(identity.first_rows(select(now, is_changed)).num_rows)


def find_changed(
    identity: Identity, row_identity: Sequence[str], content: pa.Schema, now: pa.Table, before: pa.Table
) -> NDArray[np.bool_]:
    """Test which rows of `now` are of answers that are new or differ from earlier ones; parameters as above."""
    number, others = identity.number(now, before)
    size = 1 + max(number.max(initial=-1), others.max(initial=-1))
    is_changed = np.bincount(number, minlength=size) != np.bincount(others, minlength=size)
    np.logical_or.at(is_changed, number, ~are_same(row_identity, content, now, before))
    return np.asarray(is_changed[number])


def are_same(row_identity: Sequence[str], content: pa.Schema, rows: pa.Table, others: pa.Table) -> NDArray[np.bool_]:
    """Test which rows occur among the others with the same content; doubles may differ by a part in 10⁹."""
    index = matching.find(*matching.number_rows([rows, others], row_identity))
    if not others.num_rows:
        return index >= 0
    known = others.take(pa.array(np.maximum(index, 0)))
    is_real = {field.name: pa.types.is_floating(field.type) for field in content}
    mine, theirs = matching.number_rows([rows, known], [name for name in is_real if not is_real[name]])
    same = (index >= 0) & (mine == theirs)
    for name in filter(is_real.get, is_real):
        value, known_value = (np.asarray(table[name], np.float64) for table in (rows, known))
        same &= np.isclose(value, known_value, rtol=_TOLERANCE, atol=_NEAR_ZERO, equal_nan=True)
        same &= np.asarray(rows[name].is_valid()) == np.asarray(known[name].is_valid())
    return np.asarray(same)
