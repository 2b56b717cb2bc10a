"""A part of a query's answers, by event time and key, and the conditions that select its rows in tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce
from operator import and_, or_
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.dataset as ds
from numpy.typing import NDArray

from tailrace.answers.by_pair import ByPair
from tailrace.answers.model import AnswerModel
from tailrace.ground.arrow.key_lists import canonical_key
from tailrace.ground.arrow.ranges import coarsen_ranges, merge_ranges
from tailrace.ground.duration import format_time
from tailrace.ground.errors import refuse
from tailrace.ground.time_limits import AFTER_ALL, BEFORE_ALL
from tailrace.query.query import Query
from tailrace.storage.tables import within, within_any

_WINDOW = ["window_start", "window_end"]
_MOST_RANGES = 16  # ranges in one condition on a table; the nearest are merged if there are more


@dataclass(frozen=True)
class AnswerRange:
    """The windows that overlap the event times [start, end), or the pairs with a tuple in them, for one key or all.

    Attributes
    ----------
    start, end : int
        In ms.
    key : str or None
        The key as text (a composite key as a JSON array); None for all keys.
    """

    start: int = BEFORE_ALL
    end: int = AFTER_ALL
    key: str | None = None

    def for_query(self, query: Query) -> AnswerRange:
        """Return the range with its key in the form of the query's tables.

        An empty range and an impossible key are refused.

        Raises
        ------
        Refused
            With the remedy.
        """
        if self.start >= self.end:
            fault = f"{format_time(self.end)} is not after {format_time(self.start)}"
            raise refuse("--from, --to", fault, "an end after the start")
        if self.key is not None and all(stream.key is None for stream in query.streams.values()):
            raise refuse(f"--key {self.key}", "the query's answers have no key", "none")
        if self.key is None or not query.key_names:
            return self
        key = canonical_key(self.key, len(query.key_names))
        if key is None:
            fault = f"the query's keys are lists of {', '.join(query.key_names)}"
            raise refuse(f"--key {self.key}", fault, "a JSON array of their values, as '[\"DE\", 5]'")
        return replace(self, key=key)

    def condition(self, model: AnswerModel, schema: pa.Schema) -> Any:
        """Return the condition on rows of `results` or `corrections`, which have this schema.

        None means that all rows are in the range. Every version of a window in the range meets it; for pairs, see
        `near_horizons`.
        """
        conditions = [] if self.key is None else [ds.field("key") == self._key_of(schema.field("key").type)]
        if self._has_times:
            if "window_end" in model.identity.columns:
                conditions += [
                    within("window_end", self.start, AFTER_ALL),
                    within("window_start", BEFORE_ALL, self.end - 1),
                ]
            else:
                conditions.append(near_horizons(model, self.start - 1, self.end - 1))
        return reduce(and_, conditions) if conditions else None

    def versions_elsewhere(self, model: AnswerModel, in_range: Sequence[pa.Table]) -> Any:
        """Return the condition on corrections that may be versions of these answers at other times.

        Return None for windows.
        """
        if not isinstance(model, ByPair):
            return None
        ids = pa.concat_tables([rows.select(["left_id"]) for rows in in_range])
        return ds.field("left_id").isin(ids["left_id"].unique())

    def late_condition(self, model: AnswerModel, answers: pa.Table, schema: pa.Schema) -> Any:
        """Return the condition on rows of `late`, with this schema, that these answers by window may have missed.

        There must be at least one answer. Late tuples far from all windows do not meet the condition.
        """
        windows = answers.select(_WINDOW).group_by(_WINDOW).aggregate([]).sort_by(_WINDOW[0])
        start, end = (windows[name].to_numpy() for name in _WINDOW)
        spans = merge_ranges(start - model.late_margin_ms, np.maximum.accumulate(end) + model.late_margin_ms)
        low, high = coarsen_ranges(spans, _MOST_RANGES)
        condition = within_any(model.late_time, (low - 1).tolist(), (high - 1).tolist())
        if self.key is None:
            return condition
        return condition & (ds.field("key") == self._key_of(schema.field("key").type))

    def contains(self, model: AnswerModel, answers: pa.Table) -> NDArray[np.bool_]:
        """Test which answers are in the range, given their times in ms; all must have its key."""
        if not self._has_times:
            return np.ones(answers.num_rows, bool)
        if "window_end" in model.identity.columns:
            start, end = (answers[name].to_numpy() for name in ("window_start", "window_end"))
            return np.asarray((end > self.start) & (start < self.end))
        times = [answers[name].to_numpy() for name in model.horizon_columns]
        return np.asarray(reduce(or_, ((time >= self.start) & (time < self.end) for time in times)))

    @property
    def _has_times(self) -> bool:
        return (self.start, self.end) != (BEFORE_ALL, AFTER_ALL)

    def _key_of(self, dtype: pa.DataType) -> pa.Scalar:
        """Return the key as a value of the tables' type.

        Raises
        ------
        Refused
            When it is not a valid key.
        """
        try:
            return pa.scalar(self.key).cast(dtype)
        except pa.ArrowInvalid:
            raise refuse(f"--key {self.key}", f"it is no {dtype}, as the query's keys are", f"a key, {dtype}") from None


def near_horizons(model: AnswerModel, low: int, high: int) -> Any:
    """Return a condition met by all versions of the answers with a horizon in (low, high] (ms), and by some others.

    If an id is repeated, its pair has other times, at most two reaches away. If both ids are repeated, it may lie
    farther away: see `AnswerRange.versions_elsewhere`.
    """
    around_ms = 2 * model.reach_ms if isinstance(model, ByPair) else 0
    return reduce(or_, (within(name, low - around_ms, high + around_ms) for name in model.horizon_columns))


ALL = AnswerRange()
"""All answers."""
