"""The share of answers that were right at each time, which climbs as corrections come.

An answer is right at a time if its version in force then equals the latest one, and all late tuples that missed it are
corrected. So an answer with uncorrected late tuples is never right, as the right answer is not known. An answer counts
from when it was streamed; an answer that the stream missed, from when it was due.
"""

from __future__ import annotations

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from tailrace.answers.model import AnswerModel
from tailrace.answers.versions import without_retracted
from tailrace.ground.arrow import matching
from tailrace.ground.arrow.answer_columns import RETRACTED
from tailrace.ground.arrow.columns import Ints
from tailrace.ground.time_limits import AFTER_ALL, BEFORE_ALL
from tailrace.panels.answer_versions import differ
from tailrace.panels.panel import Shown
from tailrace.panels.thinning import extremes


class RightShare(Shown):
    """The share of the answers so far that were right, by arrival time (ms), with a point for each version."""

    at: list[int]
    share: list[float]


def right_share(model: AnswerModel, versions: pa.Table, missing: Ints, values: list[str]) -> RightShare:
    """Return the share over some answers.

    Parameters
    ----------
    versions : Table
        All versions of the answers; n rows.
    missing : ndarray, shape (n,)
        The number of late tuples that the latest version of each row's answer lacks.
    values : list of str
        The columns by which answers are compared.
    """
    if not versions.num_rows:
        return RightShare(at=[], share=[])
    latest = without_retracted(model.identity.latest(versions))
    answers = model.identity.first_rows(versions)
    answer = model.identity.find(versions, answers)
    rows_of_latest = np.bincount(model.identity.find(latest, answers), minlength=answers.num_rows)
    is_streamed = ~versions["corrected"].to_numpy()
    has_stream = np.bincount(answer[is_streamed], minlength=answers.num_rows) > 0
    counts = has_stream | (rows_of_latest > 0)  # others were added by a correction and retracted by another

    (version,) = matching.number_rows([versions], [*model.identity.determining, "as_of", "corrected", "interval"])
    position = matching.first_indices(version)
    index = matching.find(version, version[position])
    is_row = ~versions[RETRACTED].to_numpy()
    is_same = _is_latest(model, versions, latest, values)
    rows, same = (np.bincount(index, weights, len(position)) for weights in (is_row, is_same))
    owner, as_of = answer[position], versions["as_of"].to_numpy()[position]
    is_right = (same == rows) & (same == rows_of_latest[owner]) & (missing[position] == 0)

    order = np.lexsort((position, versions["corrected"].to_numpy()[position], as_of, owner))
    order = order[counts[owner[order]]]
    owner, as_of, is_right = owner[order], as_of[order], is_right[order].astype(np.int64)
    was_right = np.where(np.r_[-1, owner[:-1]] == owner, np.r_[0, is_right[:-1]], 0)
    given = _given_at(model, versions, answers.num_rows, answer, is_streamed)[counts]
    at, step = np.unique(np.r_[as_of, given], return_inverse=True)
    right = np.cumsum(np.bincount(step[: len(as_of)], is_right - was_right, len(at)))
    share = right / np.cumsum(np.bincount(step[len(as_of) :], minlength=len(at)))
    kept = extremes([share])
    return RightShare(at=at[kept].tolist(), share=share[kept].tolist())


def _is_latest(model: AnswerModel, versions: pa.Table, latest: pa.Table, values: list[str]) -> NDArray[np.bool_]:
    """Test which rows of versions are also rows of the latest one."""
    index = matching.find(*matching.number_rows([versions, latest], model.row_identity))
    is_there = (index >= 0) & ~versions[RETRACTED].to_numpy()
    there = matching.select(versions, is_there)
    is_latest = np.asarray(is_there).copy()
    is_latest[is_there] = ~differ(there, latest.take(pa.array(index[is_there])), values)
    return is_latest


def _given_at(
    model: AnswerModel, versions: pa.Table, answers: int, answer: Ints, is_streamed: NDArray[np.bool_]
) -> Ints:
    """Return the arrival time (ms) from which each answer counts.

    A streamed answer counts from its streaming; a missed one from the first streamed answer that was due no earlier.
    `answer` has the number of each version's answer.
    """
    as_of, horizon = versions["as_of"].to_numpy(), model.horizon(versions)
    first, streamed = (np.full(answers, AFTER_ALL) for _ in range(2))
    np.minimum.at(first, answer, as_of)
    np.minimum.at(streamed, answer[is_streamed], as_of[is_streamed])
    until = np.full(answers, BEFORE_ALL)
    np.maximum.at(until, answer, horizon)
    order = np.argsort(horizon[is_streamed], kind="stable")
    soonest = np.append(np.minimum.accumulate(as_of[is_streamed][order][::-1])[::-1], AFTER_ALL)
    due = soonest[np.searchsorted(horizon[is_streamed][order], until)]
    return np.where(streamed < AFTER_ALL, streamed, np.minimum(due, first))
