"""Finds the answers that an interval of arrival affects: those that late tuples missed, and those with repeats of ids.

The stream counts a repeat that comes on time. So a correction looks for repeats in the answers that the stream gave in
its interval. Each answer belongs to one interval, by its `as_of`: corrections of all intervals look at every answer.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds

from tailrace.answers.model import AffectedAnswers, AnswerModel
from tailrace.correction.history_scan import HistoryScan
from tailrace.storage.tables import Tables, within, within_any


def affected_by_arrival(
    history: HistoryScan, late: pa.Table, given: Callable[[], pa.Table]
) -> tuple[AffectedAnswers, int]:
    """Return what an interval of arrival affects: the answers that its late tuples missed, and those with repeats.

    Parameters
    ----------
    history : HistoryScan
        Up to the end of the interval.
    late : Table
        The tuples registered late in it.
    given : callable
        Reads the identities of the answers that the stream gave in it. It is called where repeats are possible.

    Returns
    -------
    affected : AffectedAnswers
    repeats : int
        The number of repeats found.
    """
    model = history.pipeline.kind.answers
    if not history.may_have_repeats:
        return model.missed_by(late), 0
    answers = given()
    ranges = model.affected_from(answers).ranges()
    repeats = [history.repeats(side, ranges) for side in range(len(history.logs))]
    return model.missed_or_repeated(late, answers, repeats), sum(repeated.num_rows for repeated in repeats)


def read_given(tables: Tables, model: AnswerModel, low: int, high: int) -> pa.Table:
    """Read the identities of the answers that the stream gave in the interval of arrival [low, high), in ms.

    They are those with an `as_of` in (low, high]. Windows that closed since the stream was quiet carry the `as_of` of
    the last tick, though the stream may have committed more by then: they belong to the interval of what it had
    committed.
    """
    names, condition = [*model.identity.columns], within("as_of", low, high)
    if ends := _closed_by_quiet(tables, low, high):
        for name in model.horizon_columns:
            condition |= within_any(name, *zip(*ends, strict=True))
    return model.identity.first_rows(tables.read("results", names, condition))


def _closed_by_quiet(tables: Tables, low: int, high: int) -> list[tuple[int, int]]:
    """Find the ranges (F before, F after] of batches without ticks that answered, by what was committed before them."""
    answered = (ds.field("ticks") == 0) & (ds.field("answers") > 0)
    batches = np.unique(tables.read("metrics", ["batch"], answered)["batch"].to_numpy())
    if not len(batches):
        return []
    wanted = ds.field("batch").isin(pa.array(np.union1d(batches, batches - 1)))
    rows = tables.read("metrics", ["batch", "committed", "frontier"], wanted)
    rows = rows.group_by("batch").aggregate([("committed", "max"), ("frontier", "max")])
    progress = {row["batch"]: (row["committed_max"], row["frontier_max"]) for row in rows.to_pylist()}
    ranges = []
    for batch in batches.tolist():
        committed, before = progress.get(batch - 1, (None, None))
        if committed is not None and before is not None and low <= committed < high:
            ranges.append((before, progress[batch][1]))
    return ranges
