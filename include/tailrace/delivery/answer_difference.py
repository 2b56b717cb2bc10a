"""The difference between the newest versions of answers, and those that a log has of them."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from tailrace.answers.identity import Identity
from tailrace.ground import matching
from tailrace.ground.answer_columns import RETRACTED
from tailrace.ground.columns import Ints
from tailrace.sources.answers_source import AS_OF


def difference(identity: Identity, newest: pa.Table, known: pa.Table) -> pa.Table:
    """Return the versions that the log lacks: of answers that are new, have changed, or are gone.

    Each comes after the version that the log has of its answer: its `as_of` is greater, by 1 ms where it must be.

    Parameters
    ----------
    newest, known : Table
        The newest version of each answer, retracted ones too, and the log's; of the same columns and types, times in
        ms. An answer that has no version at all any more is gone: its row in the log is taken back.
    """
    known_retracted = known[RETRACTED].to_numpy()
    gone = known.filter(pa.array(~known_retracted & (identity.find(known, newest) < 0)))
    gone = _with(gone, RETRACTED, pa.repeat(pa.scalar(True), gone.num_rows))
    gone = _with(gone, AS_OF, pa.array(gone[AS_OF].to_numpy() + 1, pa.int64()))
    index = identity.find(newest, known)
    is_known, is_retracted = index >= 0, newest[RETRACTED].to_numpy()
    was_retracted = ~is_known | _taken(known_retracted, index, False)
    number, others = matching.number_rows([newest, known], [name for name in newest.column_names if name != AS_OF])
    is_same = is_known & (number == _taken(others, index, -1))
    is_new = ~is_same & ~(is_retracted & was_retracted)
    as_of = newest[AS_OF].to_numpy()
    earliest = np.where(is_known, _taken(known[AS_OF].to_numpy(), index, 0) + 1, as_of)
    newest = _with(newest, AS_OF, pa.array(np.maximum(as_of, earliest), pa.int64()))
    return pa.concat_tables([newest.filter(pa.array(is_new)), gone])


def _taken(values: np.ndarray, index: Ints, default: int | bool) -> np.ndarray:
    """Return the values at some places, and a default where the place is −1."""
    return np.asarray(np.r_[values, np.array([default], values.dtype)][index])


def _with(rows: pa.Table, name: str, column: pa.Array) -> pa.Table:
    return rows.set_column(rows.schema.get_field_index(name), name, column)
