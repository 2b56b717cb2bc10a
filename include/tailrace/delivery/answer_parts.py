"""Reads the newest versions of answers in parts that fit into memory."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import pyarrow as pa

from tailrace.delivery.public_answers import PublicAnswers
from tailrace.ground.arrow.columns import Ints
from tailrace.ground.arrow.matching import select
from tailrace.ground.arrow.ranges import Ranges, merge_ranges
from tailrace.ground.time_limits import AFTER_ALL, BEFORE_ALL
from tailrace.storage.results import AnswerGroups, AnswerTables

PART_ROWS = 500_000
"""The rows of a part."""


def answer_parts(
    answers: AnswerTables, public: PublicAnswers, part_rows: int = PART_ROWS, horizons: Ints | None = None
) -> Iterator[Ranges | None]:
    """Split answers into parts by horizon; yield None (one part) if versions of an answer can differ in it.

    Parameters
    ----------
    horizons : ndarray, shape (n,), optional
        The horizons of the wanted answers, at least one; parts without any are left out.
    """
    if not public.horizon_is_fixed:
        yield None
        return
    wanted = None if horizons is None else np.unique(horizons)
    first, last = (BEFORE_ALL, AFTER_ALL) if wanted is None else (wanted[0] - 1, wanted[-1])
    ends: Ints = np.sort(answers.ends((np.array([first]), np.array([last]))))
    cuts = np.unique(ends[part_rows::part_rows])
    cuts = cuts[(cuts > first) & (cuts < last)]
    for low, high in zip(np.r_[first, cuts], np.r_[cuts, last], strict=True):
        if wanted is None or np.searchsorted(wanted, low, "right") < np.searchsorted(wanted, high, "right"):
            yield np.array([low]), np.array([high])


def newest_of(public: PublicAnswers, answers: AnswerTables, identities: pa.Table) -> pa.Table:
    """Return the newest version of some answers, including retracted ones; times in ms."""
    model = public.model
    part: Ranges | AnswerGroups
    if public.horizon_is_fixed:
        high = np.unique(model.horizon(identities))
        part = merge_ranges(high - 1, high)
    else:
        part = AnswerGroups("left_id", identities["left_id"].combine_chunks().unique())
    versions = answers.versions(part)
    return model.identity.latest(select(versions, model.identity.find(versions, identities) >= 0))
