"""Deduplication: selects which of the tuples with the same id counts, and evaluates answers over the selected ones.

The first to arrive counts. If tuples are versions of another query's answers, the newest counts, unless it is a
retraction.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tailrace.answers.model import AffectedAnswers, Content
from tailrace.ground.arrow.answer_columns import RETRACTED
from tailrace.ground.arrow.columns import unify
from tailrace.ground.arrow.times import ARRIVAL_US
from tailrace.kind.protocol import Kind

Mask = NDArray[np.bool_]


def first_arrivals(tuples: pa.RecordBatch, others: pa.RecordBatch) -> Mask:
    """Test which of n tuples are the first to arrive with their id, among these and the others.

    Arrival is ordered by tick, then arrival time, then position. Both tables have the columns `log.ORDER`.
    """
    return _chosen(tuples, others, newest_first=False)


def counted(tuples: pa.RecordBatch, others: pa.RecordBatch) -> Mask:
    """Test which of n tuples count: the first to arrive with their id or, for versions, the newest unless retracted."""
    if RETRACTED not in tuples.schema.names:
        return first_arrivals(tuples, others)
    return np.asarray(_chosen(tuples, others, newest_first=True) & ~np.asarray(tuples.column(RETRACTED)))


def _chosen(tuples: pa.RecordBatch, others: pa.RecordBatch, newest_first: bool) -> Mask:
    """Test which of n tuples are the first with their id, in the order of arrival or in reverse."""
    names = ("position", ARRIVAL_US, "arrival_time", "tick")
    columns = [np.r_[tuples.column(name), others.column(name)] for name in names]
    order, code = np.lexsort(columns), np.concatenate(_codes(tuples, others))
    order = order[::-1] if newest_first else order
    _, first = np.unique(code[order], return_index=True)
    mask = np.zeros(len(code), bool)
    mask[order[first]] = True
    return mask[: tuples.num_rows]


def evaluate(kind: Kind, content: Content, affected: AffectedAnswers) -> pa.RecordBatch:
    """Return the affected answers over the tuples of each input, which contain no repeats."""
    parts = [kind.evaluate(*part) for part in affected.parts(content)]
    answers = parts[0] if len(parts) == 1 else kind.answers.identity.first_rows(pa.concat_batches(parts))
    return answers.filter(pa.array(affected.contains(answers)))


def _codes(*parts: pa.RecordBatch) -> list[NDArray[np.int64]]:
    return unify([part.column("id") for part in parts])[1]
