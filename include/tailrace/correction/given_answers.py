"""Finds the answers that an interval of arrival affects.

These are answers that late tuples missed, and answers with repeats of ids. The stream counts a repeat that comes on
time, so a correction looks for repeats in the answers that the stream wrote in its interval. Each answer belongs to one
interval, by its `as_of`, so that corrections of all intervals check every answer.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import numpy as np
import pyarrow as pa

from tailrace.answers.affected_windows import WindowsOfAllKeys
from tailrace.answers.by_session import BySession
from tailrace.answers.by_window import ByWindow
from tailrace.answers.model import AffectedAnswers, AnswerModel
from tailrace.correction.history_scan import HistoryScan
from tailrace.ground.arrow.matching import select
from tailrace.ground.arrow.ranges import Ranges
from tailrace.storage.progress import quiet_closings
from tailrace.storage.tables import Tables, within, within_any


def affected_by_arrival(
    history: HistoryScan, late: pa.Table, given: Callable[[], pa.Table], late_in: Callable[[Ranges], pa.Table]
) -> tuple[AffectedAnswers, int]:
    """Return the answers that an interval of arrival affects.

    These are answers that its late tuples missed, and answers with repeats. For sessions, these are also answers that
    hold a late tuple of this interval or an earlier one: it touched a closed session, and its own session closed later.

    Parameters
    ----------
    history : HistoryScan
        History up to the end of the interval. If it repeats lookups, a window is affected with all its keys.
    late : Table
        The late tuples of the interval.
    given : callable
        Reads the identities of the answers that the stream wrote in the interval; called if repeats are possible.

    Returns
    -------
    affected : AffectedAnswers
    repeats : int
        The number of repeats found.
    """
    model = history.pipeline.kind.answers
    if isinstance(model, BySession):
        return _sessions(history, model, late, given(), late_in)
    repeats_lookups = any(reader.records is not None for reader in history.pipeline.readers)
    if not history.may_have_repeats:
        return _of_all_keys(model, [model.explode_late(late)]) if repeats_lookups else model.missed_by(late), 0
    answers = given()
    ranges = model.affected_from(answers).ranges()
    repeats = [history.repeats(side, ranges) for side in range(len(history.logs))]
    count = sum(repeated.num_rows for repeated in repeats)
    if not repeats_lookups:
        return model.missed_or_repeated(late, answers, repeats), count
    return _of_all_keys(model, [model.explode_late(late), _holding(model, answers, repeats)]), count


def _sessions(
    history: HistoryScan, model: BySession, late: pa.Table, given: pa.Table, late_in: Callable[[Ranges], pa.Table]
) -> tuple[AffectedAnswers, int]:
    """Return the runs of late tuples, and of streamed answers that hold a late tuple or a repeat; and the repeats."""
    ranges = model.affected_from(given).ranges()
    repeats = [history.repeats(side, ranges) for side in range(len(history.logs))]
    affected = model.missed_or_repeated(late, given, repeats)
    affected |= model.holding_answers(given, late_in(ranges), model.late_time)
    return affected, sum(repeated.num_rows for repeated in repeats)


def _holding(model: AnswerModel, given: pa.Table, repeats: Sequence[pa.Table]) -> pa.Table:
    """Return the streamed answers of windows that hold a repeat, with all keys, as a repeat's key may differ."""
    assert isinstance(model, ByWindow)
    held = np.concatenate([np.asarray(model.holding(repeated).column("window_end")) for repeated in repeats])
    return select(given, np.isin(given["window_end"].to_numpy(), held))


def _of_all_keys(model: AnswerModel, answers: Iterable[pa.Table]) -> WindowsOfAllKeys:
    """Return the windows of answers, each with all keys, as a newer lookup table may change a tuple's key."""
    assert isinstance(model, ByWindow)  # other kinds don't repeat lookups
    return WindowsOfAllKeys.from_rows(
        pa.concat_tables([each.select(["window_end"]) for each in answers]), model.windows
    )


def read_given(tables: Tables, model: AnswerModel, low: int, high: int) -> pa.Table:
    """Read the identities of the answers that the stream wrote in the interval of arrival [low, high), in ms.

    These have an `as_of` in (low, high]. Windows that closed because the stream was silent have the `as_of` of the last
    tick, though the stream may have committed more by then. They belong to the interval that it had committed.
    """
    names, condition = [*model.identity.columns], within("as_of", low, high)
    if ends := [each[1:] for each in quiet_closings(tables) if low <= each[0] < high]:
        for name in model.horizon_columns:
            condition |= within_any(name, *zip(*ends, strict=True))
    return model.identity.first_rows(tables.read("results", names, condition))
