"""The share of answers that were right as streamed, and that are right now."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from tailrace.answers.versions import without_retracted
from tailrace.ground.arrow.answer_columns import RETRACTED
from tailrace.ground.arrow.matching import select
from tailrace.kind.column_errors import column_errors
from tailrace.panels.panel import Shown
from tailrace.panels.query_view import QueryView
from tailrace.panels.uncorrected_answers import UnknownError, read_uncorrected

MOST_ANSWERS = 200_000
"""Approximate number of answers whose versions are compared, from the newest buckets."""

_ROUNDING = 1e-9  # sums of doubles depend on the order of their parts


class Right(Shown):
    """The share of answers that were right as streamed, and that are right now.

    An answer was right as streamed if it equals its latest version and lacks no late tuple; it is right now if all its
    late tuples are corrected. None where it is not known which answers lack late tuples.

    Attributes
    ----------
    answers : int
        The number of answers compared, including missing ones.
    start, end : int
        Their horizons, a window's end or a pair's later time, lie in (start, end]; ms.
    """

    streamed: float | None
    corrected: float | None
    answers: int
    start: int
    end: int


def read_right(view: QueryView, buckets: pa.Table) -> tuple[Right, str | None]:
    """Compare the answers of the newest of some buckets, with a note where shares are not known.

    `buckets` are one or more rows of the table `quality`, which determine how many answers to read.
    """
    low, high = _newest(buckets)
    kind, model = view.kind, view.kind.answers
    versions = view.answers.versions((np.array([low]), np.array([high])))
    horizon = model.horizon(versions)
    versions = select(versions, (horizon > low) & (horizon <= high))
    streamed, latest = select(versions, ~versions["corrected"].to_numpy()), model.identity.latest(versions)
    errors = column_errors(kind, *(rows.select(kind.answer.names) for rows in (streamed, without_retracted(latest))))
    answers = model.identity.first_rows(latest)
    is_counted = (model.identity.find(answers, streamed) >= 0) | ~answers[RETRACTED].to_numpy()
    answers = select(answers, is_counted)  # others were added by one correction and retracted by another
    worst = np.max([np.append(error, 1.0) for error in errors.by_column.values()], axis=0)  # of a retracted one 1
    is_right = worst[model.identity.find(answers, errors.identity)] < _ROUNDING
    total = answers.num_rows
    try:
        uncorrected = read_uncorrected(view, low, high)
    except UnknownError as unknown:
        note = f"how many answers are right is not known: {unknown}"
        return Right(streamed=None, corrected=None, answers=total, start=low, end=high), note
    is_whole = np.ones(total, bool) if uncorrected is None else model.identity.find(answers, uncorrected) < 0
    lacking = 0 if uncorrected is None else _missing(view, answers, uncorrected, low, high)
    counted = total + lacking
    shares = (int((is_right & is_whole).sum()) / counted, int(is_whole.sum()) / counted) if counted else (None, None)
    return Right(streamed=shares[0], corrected=shares[1], answers=counted, start=low, end=high), None


def _newest(buckets: pa.Table) -> tuple[int, int]:
    """Return the range (low, high] of the newest buckets with `MOST_ANSWERS` answers, or of the newest one."""
    start, row = np.unique(buckets["bucket_start"].to_numpy(), return_index=True)  # counts are equal for all columns
    counts = pc.add(buckets["answers"], buckets["missing"]).to_numpy()[row][::-1]
    first = max(int(np.searchsorted(np.cumsum(counts), MOST_ANSWERS, side="right")), 1)
    return int(start[-first:][0]), buckets["bucket_end"][int(row[-1])].as_py()


def _missing(view: QueryView, answers: pa.Table, uncorrected: pa.Table, low: int, high: int) -> int:
    """Count the answers in a range that have no version yet but will have one after their late tuples are corrected."""
    horizon = view.kind.answers.horizon(uncorrected)
    is_new = view.kind.answers.identity.find(uncorrected, answers) < 0
    return int((is_new & (horizon > low) & (horizon <= high)).sum())
